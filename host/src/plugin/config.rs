//! `wasi:config/store`: what the operator set for this plugin. It reads its own section's settings and no other.

use wasmtime::component::{HasSelf, Linker};

use super::bindings::wasi::config::store;
use super::state::State;

pub fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    store::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

impl store::Host for State {
    fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<String>, store::Error>> {
        Ok(Ok(self.config.get(&key).cloned()))
    }

    fn get_all(&mut self) -> wasmtime::Result<Result<Vec<(String, String)>, store::Error>> {
        Ok(Ok(self.config.clone().into_iter().collect()))
    }
}
