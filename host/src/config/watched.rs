//! The grants file while a process runs: read again once it changed, and followed only as a whole.
//!
//! A change is noticed by the file's identity, size and times. Times have a grain, so a file that changed just now is
//! read again at each look until that moment is past. What cannot be read or followed changes nothing: the grants stay
//! as they were, and that is told once. A default file that is taken away is an empty one, as at the start.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{ConfigError, Places, grants};
use crate::capability::Grants;
use crate::clock::Clock;
use crate::file::Mark;
use crate::runner::InForce;

/// A file that changed within this time may be in the middle of being written. Longer than the grain of file times.
const SETTLING: Duration = Duration::from_millis(50);
/// Times that a call which is about to start waits for that; after them it is judged by the grants from before.
const SETTLINGS_MAX: u32 = 10;

/// Where a grants file is read from, as [`grants::load`] wants it.
pub struct Source {
    /// `None` for the default file, which may be missing.
    pub named: Option<PathBuf>,
    pub places: Places,
    /// This machine's name.
    pub host: String,
}

/// What became of a change.
pub enum News<'a> {
    InForce,
    /// The file cannot be followed, so the grants from before stay.
    Kept(&'a ConfigError),
}

pub type Tell = dyn Fn(News<'_>) + Send + Sync;

pub struct WatchedGrants {
    source: Source,
    clock: Clock,
    tell: Box<Tell>,
    seen: Mutex<Seen>,
}

struct Seen {
    mark: Option<Mark>,
    /// The file changed so lately that it may have changed again since, or be half written.
    settling: bool,
    latest: Arc<Grants>,
    settled: Arc<Grants>,
    /// Not told yet.
    trouble: Option<ConfigError>,
}

impl WatchedGrants {
    /// Reads the file; from then on it is looked at when somebody asks for the grants.
    pub fn open(source: Source, clock: Clock, tell: Box<Tell>) -> Result<Self, ConfigError> {
        let mark = source.mark();
        let grants = Arc::new(source.read()?);
        // As if it were settling: it may have changed between the two.
        let seen = Seen { mark, settling: true, latest: Arc::clone(&grants), settled: grants, trouble: None };
        Ok(Self { source, clock, tell, seen: Mutex::new(seen) })
    }

    fn look(&self) -> MutexGuard<'_, Seen> {
        let mut seen = self.seen.lock().expect("no panic under this lock");
        let mark = self.source.mark();
        if mark != seen.mark || seen.settling {
            seen.settling = mark.is_some_and(|mark| self.is_settling(mark));
            match self.source.read() {
                Ok(grants) => {
                    seen.trouble = None;
                    if grants != *seen.latest {
                        seen.latest = Arc::new(grants);
                    }
                }
                Err(error) => seen.trouble = Some(error),
            }
            seen.mark = mark;
            if !seen.settling {
                self.settle(&mut seen);
            }
        }
        seen
    }

    fn settle(&self, seen: &mut Seen) {
        if let Some(error) = seen.trouble.take() {
            (self.tell)(News::Kept(&error));
        }
        if !Arc::ptr_eq(&seen.settled, &seen.latest) {
            seen.settled = Arc::clone(&seen.latest);
            (self.tell)(News::InForce);
        }
    }

    fn is_settling(&self, mark: Mark) -> bool {
        let changed = jiff::Timestamp::new(mark.changed.0, i32::try_from(mark.changed.1).unwrap_or_default()).unwrap_or_default();
        let age = self.clock.machine().duration_since(changed);
        // A time to come is another machine's clock, and nothing to wait for.
        !age.is_negative() && age.unsigned_abs() < SETTLING
    }
}

impl Source {
    fn read(&self) -> Result<Grants, ConfigError> {
        grants::load(self.named.as_deref(), &self.places, &self.host)
    }

    fn mark(&self) -> Option<Mark> {
        Mark::of(self.named.as_ref().unwrap_or(&self.places.grants))
    }
}

impl InForce for WatchedGrants {
    fn settled(&self) -> BoxFuture<'_, Arc<Grants>> {
        Box::pin(async {
            for _ in 0..SETTLINGS_MAX {
                {
                    let seen = self.look();
                    let is_new = seen.trouble.is_some() || !Arc::ptr_eq(&seen.latest, &seen.settled);
                    if !(seen.settling && is_new) {
                        return Arc::clone(&seen.settled);
                    }
                }
                tokio::time::sleep(SETTLING).await;
            }
            Arc::clone(&self.look().settled)
        })
    }

    fn latest(&self) -> Arc<Grants> {
        Arc::clone(&self.look().latest)
    }
}

#[cfg(test)]
mod tests;
