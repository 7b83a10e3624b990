//! Rust types of the plugin contract, made from `wit/plugin.wit`; none of them leaves this folder.

wasmtime::component::bindgen!({
    path: "../wit",
    // The widest world without standard WASI: those interfaces have bindings in the crates that implement them.
    world: "pausegate:plugin/plugin-keyvalue",
    imports: {
        // Values are in the journal, which a call waits for.
        "wasi:keyvalue/store": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    with: { "wasi:keyvalue/store.bucket": super::keyvalue::Handle },
});

pub use self::pausegate::plugin::{log, progress, types};

/// The export that a plugin may have beside its tools.
pub mod reconciling {
    wasmtime::component::bindgen!({
        path: "../wit",
        inline: "
            package pausegate:asking;
            world reconciling {
                export pausegate:plugin/reconcile@0.1.0;
            }
        ",
        world: "pausegate:asking/reconciling",
        exports: { default: async },
        with: { "pausegate:plugin/types": super::pausegate::plugin::types },
    });

    pub use exports::pausegate::plugin::reconcile::Verdict;
}

/// The rest of `wasi:keyvalue`, for plugins whose own toolchain imports it.
pub mod more {
    wasmtime::component::bindgen!({
        path: "../wit",
        inline: "
            package pausegate:more;
            world more {
                import wasi:keyvalue/atomics@0.2.0-draft;
                import wasi:keyvalue/batch@0.2.0-draft;
            }
        ",
        world: "pausegate:more/more",
        imports: { default: async | trappable },
        with: { "wasi:keyvalue/store": super::wasi::keyvalue::store },
    });
}
