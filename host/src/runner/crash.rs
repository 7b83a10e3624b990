//! A door for the tests of crashes: this process ends as by `kill -9`, or stops as by `kill -STOP`, at its n-th append to a
//! journal.
//!
//! `PAUSEGATE_CRASH_AT=before:3` or `after:3` in the environment, or `before:3:stop`, read once. It takes nothing but the
//! process that has it, and no flag, setting, file, model or plugin reaches it: whoever sets variables of a process can as
//! well kill it.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

const VARIABLE: &str = "PAUSEGATE_CRASH_AT";
/// A signal to the process reaches its other threads a little later.
const ON_ITS_WAY: Duration = Duration::from_millis(50);

static POINT: LazyLock<Option<Point>> = LazyLock::new(|| Point::read(&std::env::var(VARIABLE).ok()?));
static APPENDS: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    side: Side,
    /// From 1.
    append: u64,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Ends,
    /// Until somebody sends `SIGCONT`.
    Stops,
}

impl Point {
    fn read(text: &str) -> Option<Self> {
        let (text, fate) = match text.strip_suffix(":stop") {
            Some(text) => (text, Fate::Stops),
            None => (text, Fate::Ends),
        };
        let (side, append) = text.split_once(':')?;
        let side = match side {
            "before" => Side::Before,
            "after" => Side::After,
            _ => return None,
        };
        Some(Self { side, append: append.parse().ok()?, fate })
    }
}

/// Called on both sides of every append; does not return where the process is to end.
pub fn at(side: Side) {
    let Some(point) = *POINT else { return };
    let begun = match side {
        Side::Before => APPENDS.fetch_add(1, Ordering::SeqCst) + 1,
        Side::After => APPENDS.load(Ordering::SeqCst),
    };
    if (side, begun) != (point.side, point.append) {
        return;
    }
    match point.fate {
        Fate::Ends => end(),
        Fate::Stops => stop(),
    }
}

fn stop() {
    kill_process(getpid(), Signal::STOP).ok();
    std::thread::sleep(ON_ITS_WAY);
}

fn end() {
    kill_process(getpid(), Signal::KILL).ok();
    // The signal is on its way.
    loop {
        std::thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_a_side_and_a_count_and_nothing_else_is() {
        assert_eq!(Point::read("before:3"), Some(Point { side: Side::Before, append: 3, fate: Fate::Ends }));
        assert_eq!(Point::read("after:1"), Some(Point { side: Side::After, append: 1, fate: Fate::Ends }));
        assert_eq!(Point::read("after:1:stop"), Some(Point { side: Side::After, append: 1, fate: Fate::Stops }));
        for text in ["", "3", "before", "before:", "before:x", "during:1", "before:3:4", "before:stop", "before:3:stop:stop"] {
            assert_eq!(Point::read(text), None, "{text}");
        }
    }
}
