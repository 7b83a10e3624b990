//! Outside the sandbox there is no host that keeps values: each thread of a test has its own.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::failure::Failure;

thread_local! {
    static VALUES: RefCell<BTreeMap<String, Vec<u8>>> = const { RefCell::new(BTreeMap::new()) };
}

pub(super) fn get(key: &str) -> Result<Option<Vec<u8>>, Failure> {
    Ok(VALUES.with_borrow(|values| values.get(key).cloned()))
}

pub(super) fn set(key: &str, value: &[u8]) -> Result<(), Failure> {
    VALUES.with_borrow_mut(|values| values.insert(key.to_owned(), value.to_vec()));
    Ok(())
}

pub(super) fn delete(key: &str) -> Result<(), Failure> {
    VALUES.with_borrow_mut(|values| values.remove(key));
    Ok(())
}

pub(super) fn exists(key: &str) -> Result<bool, Failure> {
    Ok(VALUES.with_borrow(|values| values.contains_key(key)))
}

/// All of them on one page.
pub(super) fn page(_cursor: Option<u64>) -> Result<(Vec<String>, Option<u64>), Failure> {
    Ok((VALUES.with_borrow(|values| values.keys().cloned().collect()), None))
}
