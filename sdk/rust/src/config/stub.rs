//! Outside the sandbox a unit test makes the settings.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::failure::Failure;

thread_local! {
    static SETTINGS: RefCell<BTreeMap<String, String>> = const { RefCell::new(BTreeMap::new()) };
}

/// Makes this thread's settings, in a unit test of a plugin; there are none before.
pub fn stub<K: Into<String>, V: Into<String>>(settings: impl IntoIterator<Item = (K, V)>) {
    let settings = settings.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    SETTINGS.set(settings);
}

pub(super) fn get(name: &str) -> Result<Option<String>, Failure> {
    Ok(SETTINGS.with_borrow(|settings| settings.get(name).cloned()))
}

pub(super) fn all() -> Result<BTreeMap<String, String>, Failure> {
    Ok(SETTINGS.with_borrow(Clone::clone))
}
