//! Who may decide a pause, and how many of them it takes; frozen in the pause.

use std::borrow::Cow;
use std::num::NonZeroU32;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::people::People;
use super::{Rule, Then};
use crate::chain::Actor;

/// Of all rules that match a call: the strictest of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirements {
    /// One list per matching rule that names approvers; a decider must stand in each.
    pub approvers: Vec<Vec<Actor>>,
    /// People who must say the same before it counts.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub quorum: NonZeroU32,
    /// Who started the chain does not decide.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclude_requester: bool,
    /// Whose identities are one person's.
    #[serde(default, skip_serializing_if = "People::is_empty")]
    pub people: People,
    pub on_deny: Then,
    /// A pause is open for so long and no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalations: Vec<Widened>,
    /// People are told of the pause again after so long, and again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remind_seconds: Option<u64>,
}

/// A list of approvers that grows once the pause has been open for long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Widened {
    pub approvers: Vec<Actor>,
    pub after_seconds: u64,
    pub to: Vec<Actor>,
}

impl Default for Requirements {
    /// Anyone the edge authenticated, alone.
    fn default() -> Self {
        Self {
            approvers: Vec::new(),
            quorum: one(),
            exclude_requester: false,
            people: People::default(),
            on_deny: Then::default(),
            expires_seconds: None,
            escalations: Vec::new(),
            remind_seconds: None,
        }
    }
}

fn in_words(seconds: u64) -> String {
    match seconds {
        seconds if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

fn is_one(quorum: &NonZeroU32) -> bool {
    *quorum == one()
}

impl Requirements {
    pub(super) fn of<'r>(rules: impl Iterator<Item = &'r Rule>, people: &People) -> Self {
        let mut all = Self::default();
        for rule in rules {
            all.on_deny = all.on_deny.max(rule.on_deny);
            all.quorum = all.quorum.max(rule.quorum);
            all.exclude_requester |= rule.exclude_requester;
            all.expires_seconds = all.expires_seconds.into_iter().chain(rule.expires.map(|expires| expires.as_secs())).min();
            all.remind_seconds = all.remind_seconds.into_iter().chain(rule.remind.map(|remind| remind.as_secs())).min();
            if let Some(escalation) = &rule.escalation {
                let (after_seconds, to) = (escalation.after.as_secs(), escalation.to.clone());
                all.escalations.push(Widened { approvers: rule.approvers.clone(), after_seconds, to });
            }
            if !rule.approvers.is_empty() && !all.approvers.contains(&rule.approvers) {
                all.approvers.push(rule.approvers.clone());
            }
        }
        if !all.approvers.is_empty() || all.counts_people() {
            all.people = people.clone();
        }
        all
    }

    /// It matters which identities are one person's.
    pub fn counts_people(&self) -> bool {
        self.quorum > one() || self.exclude_requester
    }

    /// What it takes once the pause has been open for so long.
    pub fn after(&self, open: SignedDuration) -> Cow<'_, Self> {
        let due = |widened: &&Widened| i64::try_from(widened.after_seconds).is_ok_and(|seconds| open.as_secs() >= seconds);
        let due: Vec<_> = self.escalations.iter().filter(due).collect();
        if due.is_empty() {
            return Cow::Borrowed(self);
        }
        let widen = |list: &Vec<Actor>| {
            let more = due.iter().filter(|widened| widened.approvers == *list).flat_map(|widened| &widened.to);
            let mut wide = list.clone();
            for actor in more {
                if !wide.contains(actor) {
                    wide.push(actor.clone());
                }
            }
            wide
        };
        Cow::Owned(Self { approvers: self.approvers.iter().map(widen).collect(), ..self.clone() })
    }

    /// Whether `by` may decide the pause of a chain that `requester` started.
    pub fn admit(&self, by: &Actor, requester: &Actor) -> bool {
        self.approvers.iter().all(|list| list.contains(by)) && !self.excludes(by, requester)
    }

    /// Whether `by` started the chain and may not decide for that.
    pub fn excludes(&self, by: &Actor, requester: &Actor) -> bool {
        self.exclude_requester && self.people.person(by) == self.people.person(requester)
    }

    /// Whether `by` is enough.
    pub fn admit_alone(&self, by: &Actor, requester: &Actor) -> bool {
        self.quorum == one() && self.admit(by, requester)
    }

    /// `alice (os:alice@host, token:alice) or os:bob@host, 2 of them, not who started the chain`
    pub fn in_words(&self) -> String {
        self.in_words_where("any user of this machine")
    }

    /// The same; `anybody` is who decides where no rule names somebody.
    pub fn in_words_where(&self, anybody: &str) -> String {
        let list = |list: &Vec<Actor>| {
            let persons = self.people.persons(list);
            // A person is shown with the identities that the list has: all of them, unless it names one alone.
            let shown = persons.iter().map(|person| {
                let all = self.people.identities(person).is_some_and(|identities| identities.iter().all(|identity| list.contains(identity)));
                let named = || list.iter().filter(|actor| self.people.person(actor) == *person).map(ToString::to_string).collect::<Vec<_>>();
                if all { self.people.in_words(person) } else { named().join(" or ") }
            });
            shown.collect::<Vec<_>>().join(" or ")
        };
        let mut words = match self.approvers.is_empty() {
            true => anybody.to_owned(),
            false => self.approvers.iter().map(list).collect::<Vec<_>>().join(", and "),
        };
        if self.quorum > one() {
            words += &format!("; {} people must say the same", self.quorum);
        }
        if self.exclude_requester {
            words += "; not who started the chain";
        }
        for widened in &self.escalations {
            words += &format!("; after {} also {}", in_words(widened.after_seconds), list(&widened.to));
        }
        words
    }
}
