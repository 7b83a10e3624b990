//! The table that is printed: what, its figures, what stands beside it, and the aim.

use std::fmt;
use std::time::Duration;

use crate::measure::Spent;

#[derive(Default)]
pub struct Table(Vec<Row>);

struct Row {
    what: String,
    figures: String,
    beside: String,
    /// What was measured, in the aim's unit, and at most what it should be.
    aim: Option<Aim>,
}

struct Aim {
    measured: f64,
    at_most: f64,
    unit: &'static str,
}

impl Table {
    /// A figure beside what it cannot be cheaper than.
    pub fn ratio(&mut self, what: impl Into<String>, figures: String, beside: String, ratio: f64, at_most: f64) {
        self.push(what, figures, beside, Some(Aim { measured: ratio, at_most, unit: "×" }));
    }

    /// A figure with an aim of its own.
    pub fn aim(&mut self, what: impl Into<String>, figures: String, measured: f64, at_most: f64, unit: &'static str) {
        self.push(what, figures, String::new(), Some(Aim { measured, at_most, unit }));
    }

    pub fn note(&mut self, what: impl Into<String>, figures: String) {
        self.push(what, figures, String::new(), None);
    }

    pub fn all_met(&self) -> bool {
        self.0.iter().filter_map(|row| row.aim.as_ref()).all(Aim::is_met)
    }

    fn push(&mut self, what: impl Into<String>, figures: String, beside: String, aim: Option<Aim>) {
        self.0.push(Row { what: what.into(), figures, beside, aim });
    }
}

impl Aim {
    fn is_met(&self) -> bool {
        self.measured <= self.at_most
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |cell: fn(&Row) -> &str| self.0.iter().map(|row| cell(row).chars().count()).max().unwrap_or_default();
        let (what, figures, beside) = (width(|row| &row.what), width(|row| &row.figures), width(|row| &row.beside));
        for row in &self.0 {
            let cells = format!("{:what$}  {:figures$}  {:beside$}  ", row.what, row.figures, row.beside);
            match &row.aim {
                None => writeln!(f, "{}", cells.trim_end())?,
                Some(aim) => {
                    let verdict = if aim.is_met() { "met" } else { "missed" };
                    writeln!(f, "{cells}{:.2} {unit}, at most {} {unit}: {verdict}", aim.measured, aim.at_most, unit = aim.unit)?;
                }
            }
        }
        Ok(())
    }
}

/// `23.1 µs cpu, 24.0 µs wall`
pub fn figures(spent: Spent) -> String {
    format!("{} cpu, {} wall", short(spent.cpu), short(spent.wall))
}

/// Three digits that mean something.
pub fn short(duration: Duration) -> String {
    let (value, unit) = match micros(duration) {
        micros if micros < 1e3 => (micros, "µs"),
        micros => (micros / 1e3, "ms"),
    };
    format!("{value:.*} {unit}", if value < 100.0 { 1 } else { 0 })
}

pub fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
