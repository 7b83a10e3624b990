//! Settings by `wasi:config`.

use std::collections::BTreeMap;

use crate::bindings::wasi::config::store::{self, Error};
use crate::failure::{Failure, Kind};

pub(super) fn get(name: &str) -> Result<Option<String>, Failure> {
    store::get(name).map_err(failure)
}

pub(super) fn all() -> Result<BTreeMap<String, String>, Failure> {
    store::get_all().map(|pairs| pairs.into_iter().collect()).map_err(failure)
}

fn failure(error: Error) -> Failure {
    let (Error::Upstream(why) | Error::Io(why)) = error;
    Failure::new(Kind::Unavailable, why)
}
