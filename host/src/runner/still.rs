//! What a running attempt would hold if it started now: asked once the grants are others than those it started under.

use std::sync::{Arc, Mutex};

use jiff::civil::Date;
use serde_json::Value;

use super::InForce;
use crate::call::Effects;
use crate::capability::judge::CallFacts;
use crate::capability::{FrozenUse, Grants, Held, Verdict};
use crate::digest::Digest;
use crate::plugin::StillHeld;

/// The call of one attempt, as it was judged when it started.
pub struct Call {
    pub plugin: String,
    pub plugin_digest: Digest,
    pub tool: String,
    /// As the plugin declares them.
    pub effects: Effects,
    pub arguments: Arc<Value>,
    pub today: Date,
    /// A person approved it: what that opens stays open as far as the grants still have it.
    pub approved: bool,
    /// That a person approved one by one.
    pub uses: Vec<FrozenUse>,
}

pub struct Still {
    grants: Arc<dyn InForce>,
    /// Those that it started under.
    since: Arc<Grants>,
    call: Call,
    /// What the last change of the grants came to.
    known: Mutex<Option<(Arc<Grants>, Arc<Held>)>>,
}

impl Still {
    pub fn new(grants: Arc<dyn InForce>, since: Arc<Grants>, call: Call) -> Self {
        Self { grants, since, call, known: Mutex::default() }
    }
}

impl StillHeld for Still {
    fn now(&self) -> Option<Arc<Held>> {
        let latest = self.grants.latest();
        if Arc::ptr_eq(&latest, &self.since) {
            return None;
        }
        let mut known = self.known.lock().expect("no panic under this lock");
        let held = match known.take() {
            Some((grants, held)) if Arc::ptr_eq(&grants, &latest) => held,
            _ => Arc::new(self.call.held(&latest)),
        };
        *known = Some((latest, Arc::clone(&held)));
        Some(held)
    }
}

impl Call {
    /// A rule that asks is for calls that start; one that denies takes everything from those that run too.
    fn held(&self, grants: &Grants) -> Held {
        let judgement = grants.judge(CallFacts {
            plugin: &self.plugin,
            plugin_digest: &self.plugin_digest,
            tool: &self.tool,
            effects: self.effects,
            arguments: &self.arguments,
            today: self.today,
        });
        if judgement.verdict == Verdict::Deny {
            return Held::default();
        }
        let opens = if self.approved { judgement.opens.as_slice() } else { &[] };
        let mut held = judgement.held.with(opens);
        // An approved use stands on a line that could open it.
        let widest = held.clone().with(&held.reach);
        held.uses = self.uses.iter().filter(|frozen| frozen.is_held(&widest)).cloned().collect();
        held
    }
}
