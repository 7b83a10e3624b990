//! The values of all secrets that the grants name, taken out of what a model or a person writes.
//!
//! What a guest says goes through the vault of its attempt. This stands before the journal for all else: whoever has a
//! value all the same, from a file or by being told, leaves its name there.

use std::sync::Arc;

use serde_json::Value;

use super::vault::{ReadSecret, Vault};
use crate::capability::Grants;

/// Of the grants of one moment; values are read when first needed.
#[derive(Debug)]
pub struct Redactor(Vault);

impl Redactor {
    /// A secret that cannot be read now is not found either.
    pub fn of(grants: &Grants, reader: Arc<dyn ReadSecret>) -> Self {
        let lines = grants.plugins.values().flat_map(|section| &section.http);
        Self(Vault::of(lines.filter_map(|line| line.secret.as_ref()), reader))
    }

    pub fn text(&self, text: String) -> String {
        self.0.text(text)
    }

    /// Every string, key and number.
    pub fn json(&self, value: Value) -> Value {
        self.0.json(value)
    }
}
