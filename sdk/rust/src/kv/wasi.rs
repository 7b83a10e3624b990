//! Values by `wasi:keyvalue`. The host knows which bucket is meant.

use crate::bindings::wasi::keyvalue::store::{Bucket, Error, open};
use crate::failure::{Failure, Kind};

pub(super) fn get(key: &str) -> Result<Option<Vec<u8>>, Failure> {
    with(|bucket| bucket.get(key))
}

pub(super) fn set(key: &str, value: &[u8]) -> Result<(), Failure> {
    with(|bucket| bucket.set(key, value))
}

pub(super) fn delete(key: &str) -> Result<(), Failure> {
    with(|bucket| bucket.delete(key))
}

pub(super) fn exists(key: &str) -> Result<bool, Failure> {
    with(|bucket| bucket.exists(key))
}

pub(super) fn page(cursor: Option<u64>) -> Result<(Vec<String>, Option<u64>), Failure> {
    with(|bucket| bucket.list_keys(cursor)).map(|page| (page.keys, page.cursor))
}

fn with<T>(use_it: impl FnOnce(&Bucket) -> Result<T, Error>) -> Result<T, Failure> {
    open("").and_then(|bucket| use_it(&bucket)).map_err(failure)
}

fn failure(error: Error) -> Failure {
    match error {
        Error::AccessDenied | Error::NoSuchStore => Failure::new(Kind::Denied, "no grant allows this use of kept values"),
        // The host's words: over the quota, a key or value that does not fit, or a store that is away.
        Error::Other(why) => Failure::new(Kind::Failed, why),
    }
}
