//! The macro that makes a component of tools.

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
#[macro_export]
macro_rules! export {
    (tools: [$($tool:ty),* $(,)?] $(, wants: [$($want:expr),* $(,)?])? $(,)?) => {
        /// What this crate exports to the host.
        struct Exported;

        impl $crate::Plugin for Exported {
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

        #[cfg(target_family = "wasm")]
        $crate::bindings::export!(Exported with_types_in $crate::bindings);
    };
}
