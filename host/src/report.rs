//! Everything that is printed: data to standard output, all else to standard error.
//!
//! Text from plugins, models and providers goes through [`escape`] before it gets here. A reader that closes the pipe
//! ends the printing quietly and nothing else: a chain under way goes on to its rest.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use indicatif::MultiProgress;
use serde::Serialize;

pub mod age;
pub mod chain;
pub mod decision;
pub mod escape;
pub mod live;
pub mod load;
pub mod pause;
pub mod rest;
pub mod table;
pub mod trust;
pub mod work;

/// Nobody reads standard output any more.
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Standard output ends in the middle of a line of the model's.
static MID_LINE: AtomicBool = AtomicBool::new(false);
/// The first write that failed for another reason than a closed pipe.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    Always,
    Never,
}

pub fn color(choice: Color) {
    match choice {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

/// A line of data.
pub fn data(text: &str) {
    to_stdout(&format!("{text}\n"));
}

/// A piece of a line of data, as it streams.
pub fn piece(text: &str) {
    to_stdout(text);
    if let Some(last) = text.chars().last() {
        MID_LINE.store(last != '\n', Ordering::Relaxed);
    }
}

/// Ends a line that streaming left open.
pub fn end_line() {
    if MID_LINE.swap(false, Ordering::Relaxed) {
        to_stdout("\n");
    }
}

/// One value on many lines: what a read command answers.
pub fn json(value: &impl Serialize) {
    let text = serde_json::to_string_pretty(value).expect("our own values serialize");
    data(&escape::json(&text));
}

/// One value on one line: NDJSON.
pub fn json_line(value: &impl Serialize) {
    let text = serde_json::to_string(value).expect("our own values serialize");
    data(&escape::json(&text));
}

/// Lines for a person, on standard error.
pub fn note(text: &str) {
    if MID_LINE.load(Ordering::Relaxed) && io::stdout().is_terminal() {
        end_line();
    }
    // Nobody is left to tell when standard error is gone.
    progress().suspend(|| writeln!(anstream::stderr().lock(), "{text}").ok());
}

/// All that a terminal shows from now on.
pub fn screen(text: &str) {
    to_stdout(&format!("\x1b[H\x1b[2J{text}\n"));
}

/// Nobody reads standard output any more.
pub fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Whether standard output is a terminal, where a screen can be drawn anew.
pub fn can_draw() -> bool {
    io::stdout().is_terminal()
}

/// A question to a person, with the cursor behind it.
pub fn ask(text: &str) {
    end_line();
    let mut stderr = anstream::stderr().lock();
    write!(stderr, "{text} ").and_then(|()| stderr.flush()).ok();
}

/// What went wrong, why, and what helps. The texts may hold foreign words.
pub fn error(message: &str, causes: &[String], hints: &[String]) {
    note(&format!("{} {}", red("error:"), escape::message(message)));
    for cause in causes {
        note(&format!("{} {}", bold("caused by:"), escape::message(cause)));
    }
    for hint in hints {
        note(&format!("{} {}", bold("hint:"), escape::message(hint)));
    }
}

/// The first write to standard output that failed while somebody was still reading.
pub fn lost() -> Option<io::Error> {
    LOST.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
}

/// Bars and spinners; hidden unless standard error is a terminal.
pub fn progress() -> &'static MultiProgress {
    static PROGRESS: OnceLock<MultiProgress> = OnceLock::new();
    PROGRESS.get_or_init(MultiProgress::new)
}

pub fn on_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Whether a person can be asked.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

pub fn bold(text: &str) -> String {
    format!("\x1b[1m{text}\x1b[0m")
}

fn red(text: &str) -> String {
    format!("\x1b[1;31m{text}\x1b[0m")
}

fn to_stdout(text: &str) {
    if CLOSED.load(Ordering::Relaxed) {
        return;
    }
    let written = progress().suspend(|| {
        let mut stdout = anstream::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
    });
    if let Err(error) = written {
        CLOSED.store(true, Ordering::Relaxed);
        if error.kind() != io::ErrorKind::BrokenPipe {
            *LOST.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
        }
    }
}
