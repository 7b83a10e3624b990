//! What an attempt used, what it was refused, and the one use that was held back for a person: counted at the host call.

use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

use super::recorder::Recorder;
use super::text::cut;
use super::vault::Vault;
use crate::capability::{FrozenUse, Held, Refusal, Uses, is_safe};
use crate::clock::Lease;
use crate::plugin::StillHeld;

/// Refusals kept of one attempt; the first ones tell the most.
pub const REFUSALS_MAX: usize = 16;
/// Bytes of what was attempted; more is cut.
pub const ATTEMPTED_BYTES_MAX: usize = 1 << 10;
/// Bytes of the line that would allow it; no longer one could be read.
pub const LINE_BYTES_MAX: usize = 4 << 10;

pub struct Ledger {
    pub plugin: String,
    pub vault: Arc<Vault>,
    still: Option<Arc<dyn StillHeld>>,
    lease: Option<Lease>,
    pub recorder: Arc<Recorder>,
    entries: Mutex<Entries>,
    holding: Notify,
}

/// Under one lock: a use is held back only while every effect is recorded, and nothing has an effect once one is.
#[derive(Debug, Default)]
struct Entries {
    uses: Uses,
    refusals: Vec<Refusal>,
    held_back: Option<FrozenUse>,
    /// What it asked for that was not asked for before.
    diverged: Option<String>,
    /// Nothing is used any more: the attempt was let go of.
    closed: bool,
}

/// The attempt is about to end, since a use of it waits for a person, or the chain is another host's by now.
#[derive(Debug)]
pub struct Ending;

/// The attempt had an effect that is not recorded, so it cannot be made again after a person answered.
#[derive(Debug)]
pub struct HadEffect;

impl Ledger {
    pub fn new(plugin: &str, vault: Arc<Vault>, still: Option<Arc<dyn StillHeld>>) -> Self {
        Self { plugin: plugin.to_owned(), vault, still, lease: None, recorder: Arc::default(), entries: Mutex::default(), holding: Notify::default() }
    }

    /// Not after the end of `lease`, if there is one.
    pub fn under(self, lease: Option<Lease>) -> Self {
        Self { lease, ..self }
    }

    /// Given what earlier attempts recorded.
    pub fn recalling(self, recorder: Recorder) -> Self {
        Self { recorder: Arc::new(recorder), ..self }
    }

    /// What the operator gives by now, if that is no longer what he gave when the attempt started.
    pub fn now(&self) -> Option<Arc<Held>> {
        self.still.as_ref()?.now()
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().expect("no panic under this lock")
    }

    fn count(&self, uses: Uses) -> Result<(), Ending> {
        let mut entries = self.entries();
        if entries.held_back.is_some() || entries.diverged.is_some() || entries.closed || self.lease.as_ref().is_some_and(Lease::is_over) {
            return Err(Ending);
        }
        entries.uses.add(uses);
        Ok(())
    }

    pub fn fs_write(&self) -> Result<(), Ending> {
        self.count(Uses { fs_writes: 1, ..Uses::default() })
    }

    /// The write counted last did not happen.
    pub fn fs_write_failed(&self) {
        self.entries().uses.fs_writes -= 1;
    }

    pub fn kv_write(&self) -> Result<(), Ending> {
        self.count(Uses { kv_writes: 1, ..Uses::default() })
    }

    /// The change counted last was refused.
    pub fn kv_write_failed(&self) {
        self.entries().uses.kv_writes -= 1;
    }

    pub fn http_request(&self, method: &str) -> Result<(), Ending> {
        self.count(Uses { http_requests: 1, http_effects: u64::from(!is_safe(method)), ..Uses::default() })
    }

    /// Ends the attempt with this use, for a person to approve. The first one stands.
    pub fn hold_back(&self, frozen: FrozenUse) -> Result<(), HadEffect> {
        let mut entries = self.entries();
        if entries.uses.fs_writes > 0 || !self.recorder.holds_all() {
            return Err(HadEffect);
        }
        entries.held_back.get_or_insert(frozen);
        drop(entries);
        self.holding.notify_one();
        Ok(())
    }

    /// Ends the attempt, since it asks for something else than those before it.
    pub fn diverge(&self, why: String) {
        self.entries().diverged.get_or_insert(self.vault.text(why));
        self.holding.notify_one();
    }

    pub fn diverged(&self) -> Option<String> {
        self.entries().diverged.clone()
    }

    /// Ends all use, unless there was an effect already; true where it did.
    pub fn close(&self) -> bool {
        let mut entries = self.entries();
        entries.closed = !entries.uses.effectful();
        entries.closed
    }

    /// Returns once a use is held back, or what is asked for diverged.
    pub async fn holding(&self) {
        self.holding.notified().await;
    }

    pub fn held_back(&self) -> Option<FrozenUse> {
        self.entries().held_back.clone()
    }

    /// The same refusal is kept once, without the value of any secret.
    pub fn refuse(&self, refusal: Refusal) {
        let allow_with = match refusal.allow_with.len() {
            0..=LINE_BYTES_MAX => self.vault.text(refusal.allow_with),
            _ => format!("# the line that allows it has more than {LINE_BYTES_MAX} bytes"),
        };
        let attempted = cut(&self.vault.text(refusal.attempted), ATTEMPTED_BYTES_MAX).into_owned();
        let refusal = Refusal { attempted, allow_with };
        let refusals = &mut self.entries().refusals;
        if refusals.len() < REFUSALS_MAX && !refusals.contains(&refusal) {
            refusals.push(refusal);
        }
    }

    pub fn uses(&self) -> Uses {
        self.entries().uses
    }

    pub fn refusals(&self) -> Vec<Refusal> {
        self.entries().refusals.clone()
    }
}

/// The refusal of a use that nobody can be asked about any more; `line` would allow it without asking.
pub fn too_late(frozen: &FrozenUse, line: &str) -> Refusal {
    let why = "only an approval opens it so far, and nobody can be asked once an attempt had an effect that is not recorded";
    Refusal { attempted: frozen.to_string(), allow_with: format!("{line}\n# {why}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::Held;
    use crate::clock::since_boot;
    use crate::plugin::SystemSecrets;

    #[test]
    fn h40_no_effect_is_had_after_the_end_of_the_lease() {
        let lease = Lease::until(since_boot() + std::time::Duration::from_secs(60));
        let vault = Arc::new(Vault::new(&Held::default(), Arc::new(SystemSecrets)));
        let ledger = Ledger::new("p", vault, None).under(Some(lease.clone()));
        assert!(ledger.fs_write().is_ok() && ledger.kv_write().is_ok() && ledger.http_request("POST").is_ok());
        let uses = ledger.uses();
        // As it runs out by itself, whether or not anybody has noticed.
        lease.renew(since_boot());
        assert!(ledger.fs_write().is_err() && ledger.kv_write().is_err() && ledger.http_request("POST").is_err());
        assert!(ledger.http_request("GET").is_err(), "a request is seen outside, whatever its method");
        assert_eq!(ledger.uses(), uses);
    }
}
