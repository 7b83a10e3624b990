//! `[people]`: identities that are one person. Approvers, quorums and requesters count people, not identities.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::chain::Actor;

/// Identities by the person's name. An identity belongs to one person at most; who stands here not is a person of
/// their own, named by the identity (which a name never is: it holds no `:`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct People(pub BTreeMap<String, Vec<Actor>>);

impl People {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn identities(&self, name: &str) -> Option<&[Actor]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// The person behind an identity.
    pub fn person<'a>(&'a self, actor: &'a Actor) -> &'a str {
        let known = self.0.iter().find(|(_, identities)| identities.contains(actor));
        known.map_or(&actor.0, |(name, _)| name)
    }

    /// The people behind identities, each once, in their order.
    pub fn persons<'a>(&'a self, actors: impl IntoIterator<Item = &'a Actor>) -> Vec<&'a str> {
        let mut persons = Vec::new();
        for person in actors.into_iter().map(|actor| self.person(actor)) {
            if !persons.contains(&person) {
                persons.push(person);
            }
        }
        persons
    }

    /// `alice (os:alice@host, token:alice)`, or the identity of who has no line.
    pub fn in_words(&self, person: &str) -> String {
        match self.identities(person) {
            Some(identities) => format!("{person} ({})", identities.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
            None => person.to_owned(),
        }
    }
}
