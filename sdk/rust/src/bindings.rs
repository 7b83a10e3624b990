//! The types and functions of `wit/`, as wit-bindgen makes them.
//!
//! The world has all that the SDK offers, so that one set of bindings does; an import that a plugin does not reach is
//! dropped from its component.

wit_bindgen::generate!({
    path: "wit",
    world: "plugin-sdk",
    generate_all,
    pub_export_macro: true,
    default_bindings_module: "pausegate_sdk::bindings",
    additional_derives: [PartialEq],
    // Holds a resource handle, which cannot be compared.
    additional_derives_ignore: ["stream-error"],
});
