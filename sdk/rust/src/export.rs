//! The macros that make a component of tools.

/// Makes this crate a plugin of these tools. Once per crate, which is a `cdylib`.
///
/// ```
/// use pausegate_sdk::{Plugin, Result, Want, tool};
///
/// /// Says hello.
/// #[tool(effects = "read-only")]
/// fn hello(name: String) -> Result<String> {
///     Ok(format!("hello {name}"))
/// }
///
/// pausegate_sdk::export! {
///     tools: [hello],
///     wants: [Want::fs("/notes", "read", "reads your notes")],
/// }
/// # fn main() {
/// assert_eq!(Exported::catalog().unwrap().tools[0].name, "hello");
/// # }
/// ```
///
/// `reconcile: found` adds a function `fn(&Call) -> Result<Verdict>` that the host calls after a crash, to learn whether
/// a `once` call took effect.
///
/// `export! { plugin: Mine }` exports a type that implements [`Plugin`](crate::Plugin) in another way: one that
/// makes its tools at run time, or answers some calls by itself and leaves the rest to a [`plugin!`](crate::plugin).
#[macro_export]
macro_rules! export {
    (plugin: $plugin:ident $(,)?) => {
        #[cfg(target_family = "wasm")]
        $crate::bindings::export!($plugin with_types_in $crate::bindings);
        // Built for the author's own machine, to be tested, nothing is exported, and nothing is unused.
        #[cfg(not(target_family = "wasm"))]
        const _: fn($crate::Call) -> $crate::Outcome = <$plugin as $crate::Plugin>::attempt;
    };
    (plugin: $plugin:ident, reconcile: $reconcile:path $(,)?) => {
        $crate::export! { plugin: $plugin }

        impl $crate::Reconcile for $plugin {
            fn reconcile(call: &$crate::Call) -> $crate::Result<$crate::Verdict> {
                $reconcile(call)
            }
        }
        #[cfg(target_family = "wasm")]
        $crate::reconcile_bindings::export!($plugin with_types_in $crate::reconcile_bindings);
        #[cfg(not(target_family = "wasm"))]
        const _: fn(&$crate::Call) -> $crate::Result<$crate::Verdict> = <$plugin as $crate::Reconcile>::reconcile;
    };
    (tools: $tools:tt $(, wants: $wants:tt)? $(,)?) => {
        $crate::plugin! {
            /// What this crate exports to the host.
            struct Exported { tools: $tools $(, wants: $wants)? }
        }
        $crate::export! { plugin: Exported }
    };
    (tools: $tools:tt $(, wants: $wants:tt)?, reconcile: $reconcile:path $(,)?) => {
        $crate::plugin! {
            /// What this crate exports to the host.
            struct Exported { tools: $tools $(, wants: $wants)? }
        }
        $crate::export! { plugin: Exported, reconcile: $reconcile }
    };
}

/// Makes a type a [`Plugin`](crate::Plugin) of these tools, without exporting it; see [`export!`](crate::export).
#[macro_export]
macro_rules! plugin {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            tools: [$($tool:ty),* $(,)?] $(, wants: [$($want:expr),* $(,)?])? $(,)?
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $name;

        impl $crate::Plugin for $name {
            fn catalog() -> ::std::result::Result<$crate::Catalog, $crate::Failure> {
                $crate::__private::catalog(
                    ::std::vec![$(<$tool as $crate::Tool>::spec()),*],
                    ::std::vec![$($($want),*)?],
                )
            }

            fn attempt(call: $crate::Call) -> $crate::Outcome {
                $(
                    if call.tool() == <$tool as $crate::Tool>::NAME {
                        return $crate::attempt::<$tool>(call);
                    }
                )*
                $crate::__private::no_such_tool(call)
            }
        }
    };
}
