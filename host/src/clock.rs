//! The one place that asks for time or randomness.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use ulid::Ulid;

use crate::digest::Hasher;

mod lease;

pub use lease::{Lease, since_boot};

/// The wall clock as guests read it.
pub fn since_1970() -> Duration {
    Duration::try_from(Timestamp::now().duration_since(Timestamp::UNIX_EPOCH)).unwrap_or_default()
}

/// 256 bits that nobody can guess: of four ids the 80 that are random, hashed together.
pub fn secret() -> [u8; 32] {
    let mut hasher = Hasher::new("pausegate-secret/1");
    (0..4).for_each(|_| hasher.part(&Ulid::generate().to_bytes()));
    *hasher.digest().as_bytes()
}

/// Time and fresh ids; tests have a fixed one.
#[derive(Clone)]
pub struct Clock(Arc<dyn Source>);

trait Source: Send + Sync {
    fn now(&self) -> Timestamp;
    fn ulid(&self) -> Ulid;
    fn machine(&self) -> Timestamp {
        self.now()
    }
    fn follow(&self, _theirs: Timestamp, _heard: Duration) {}
}

impl Clock {
    pub fn system() -> Self {
        Self(Arc::new(System { ids: Mutex::new(ulid::Generator::new()), followed: Mutex::default() }))
    }

    /// Starts at `start`, moves on by a millisecond with every id, and counts ids up: hermetic tests.
    pub fn fixed(start: Timestamp) -> Self {
        Self(Arc::new(Fixed(Mutex::new((start, 0)))))
    }

    pub fn now(&self) -> Timestamp {
        self.0.now()
    }

    /// The machine's own, whatever is followed.
    pub fn machine(&self) -> Timestamp {
        self.0.machine()
    }

    /// From now on it is what another clock has just said, and what passes from here: many hosts then agree on what is due,
    /// whoever sets their clocks meanwhile. It is never ahead of the other by the way of the answer. A fixed clock follows nobody.
    pub fn follow(&self, theirs: Timestamp) {
        self.0.follow(theirs, since_boot());
    }

    /// Tells one asking from every other, in tests too.
    pub fn nonce() -> String {
        Ulid::generate().to_string()
    }

    /// A fresh id: `prefix` and a lower-case ULID, rising within one process.
    pub fn id(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.0.ulid().to_string().to_lowercase())
    }
}

struct System {
    ids: Mutex<ulid::Generator>,
    /// What another clock said, and when.
    followed: Mutex<Option<(Timestamp, Duration)>>,
}

impl Source for System {
    fn now(&self) -> Timestamp {
        let followed = *self.followed.lock().expect("no panic under this lock");
        followed.and_then(|(theirs, heard)| theirs.checked_add(since_boot().saturating_sub(heard)).ok()).unwrap_or_else(Timestamp::now)
    }

    fn machine(&self) -> Timestamp {
        Timestamp::now()
    }

    fn follow(&self, theirs: Timestamp, heard: Duration) {
        *self.followed.lock().expect("no panic under this lock") = Some((theirs, heard));
    }

    fn ulid(&self) -> Ulid {
        // The generator refuses only when 2^80 ids of one millisecond are used up; a plain id is as unique.
        self.ids.lock().expect("no panic under this lock").generate().unwrap_or_else(|_| Ulid::generate())
    }
}

struct Fixed(Mutex<(Timestamp, u128)>);

impl Source for Fixed {
    fn now(&self) -> Timestamp {
        self.0.lock().expect("no panic under this lock").0
    }

    fn ulid(&self) -> Ulid {
        let mut state = self.0.lock().expect("no panic under this lock");
        state.0 += jiff::SignedDuration::from_millis(1);
        state.1 += 1;
        Ulid::from_parts(state.0.as_millisecond().unsigned_abs(), state.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_follows_another_goes_on_from_what_that_said() {
        let clock = Clock::system();
        let theirs: Timestamp = "2001-02-03T04:05:06Z".parse().unwrap();
        clock.0.follow(theirs, since_boot().saturating_sub(Duration::from_secs(10)));
        let ahead = clock.now().duration_since(theirs).as_secs();
        assert!((10..60).contains(&ahead), "{ahead}");
        clock.follow(theirs);
        assert!(clock.now().duration_since(theirs).as_secs() < 10);
        assert!(clock.machine() > clock.now(), "the machine's own stays what it is");
    }
}
