//! The optional export, apart from the tools': a plugin has it or leaves it out.

wit_bindgen::generate!({
    path: "wit",
    inline: "
        package pausegate:reconciling;
        world reconciling {
            export pausegate:plugin/reconcile@0.1.0;
        }
    ",
    world: "pausegate:reconciling/reconciling",
    with: { "pausegate:plugin/types@0.1.0": crate::bindings::pausegate::plugin::types },
    pub_export_macro: true,
    default_bindings_module: "pausegate_sdk::reconcile_bindings",
});
