//! Rust types of the plugin contract, made from `wit/plugin.wit`; none of them leaves this folder.

wasmtime::component::bindgen!({
    path: "../wit",
    // The widest world without standard WASI: those interfaces have bindings in the crates that implement them.
    world: "pausegate:plugin/plugin-keyvalue",
    imports: { default: trappable },
    exports: { default: async },
});

pub use self::pausegate::plugin::{log, progress, types};
