//! `wasi:keyvalue` and `wasi:config` without anything in them: no grant for them exists yet.

use wasmtime::component::{HasSelf, Linker, Resource};

use super::bindings::wasi::config::store as config;
use super::bindings::wasi::keyvalue::store::{self, Bucket, Error, KeyResponse};
use super::state::State;

pub fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    store::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    config::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

impl store::Host for State {
    fn open(&mut self, _identifier: String) -> wasmtime::Result<Result<Resource<Bucket>, Error>> {
        Ok(Err(Error::AccessDenied))
    }
}

/// No bucket is ever opened, so none of these is reached; they refuse all the same.
impl store::HostBucket for State {
    fn get(&mut self, _: Resource<Bucket>, _: String) -> wasmtime::Result<Result<Option<Vec<u8>>, Error>> {
        Ok(Err(Error::AccessDenied))
    }

    fn set(&mut self, _: Resource<Bucket>, _: String, _: Vec<u8>) -> wasmtime::Result<Result<(), Error>> {
        Ok(Err(Error::AccessDenied))
    }

    fn delete(&mut self, _: Resource<Bucket>, _: String) -> wasmtime::Result<Result<(), Error>> {
        Ok(Err(Error::AccessDenied))
    }

    fn exists(&mut self, _: Resource<Bucket>, _: String) -> wasmtime::Result<Result<bool, Error>> {
        Ok(Err(Error::AccessDenied))
    }

    fn list_keys(&mut self, _: Resource<Bucket>, _: Option<u64>) -> wasmtime::Result<Result<KeyResponse, Error>> {
        Ok(Err(Error::AccessDenied))
    }

    fn drop(&mut self, _: Resource<Bucket>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl config::Host for State {
    fn get(&mut self, _key: String) -> wasmtime::Result<Result<Option<String>, config::Error>> {
        Ok(Ok(None))
    }

    fn get_all(&mut self) -> wasmtime::Result<Result<Vec<(String, String)>, config::Error>> {
        Ok(Ok(Vec::new()))
    }
}
