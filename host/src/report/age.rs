//! How long ago, for people.

use jiff::Timestamp;

pub fn seconds(since: Timestamp, now: Timestamp) -> i64 {
    now.duration_since(since).as_secs().max(0)
}

/// `12 s`, `5 min`, `3 h`, `2 d`.
pub fn age(since: Timestamp, now: Timestamp) -> String {
    match seconds(since, now) {
        seconds @ ..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds @ 3600..86_400 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}
