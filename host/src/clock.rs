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
}

impl Clock {
    pub fn system() -> Self {
        Self(Arc::new(System(Mutex::new(ulid::Generator::new()))))
    }

    /// Starts at `start`, moves on by a millisecond with every id, and counts ids up: hermetic tests.
    pub fn fixed(start: Timestamp) -> Self {
        Self(Arc::new(Fixed(Mutex::new((start, 0)))))
    }

    pub fn now(&self) -> Timestamp {
        self.0.now()
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

struct System(Mutex<ulid::Generator>);

impl Source for System {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn ulid(&self) -> Ulid {
        // The generator refuses only when 2^80 ids of one millisecond are used up; a plain id is as unique.
        self.0.lock().expect("no panic under this lock").generate().unwrap_or_else(|_| Ulid::generate())
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
