//! The `#[tool]` attribute of pausegate-sdk, which documents it.

mod options;
mod tool;

use proc_macro::TokenStream;

/// Makes a function a tool.
///
/// - The doc comment is the description that the model reads; without one it does not compile.
/// - A first parameter that is a reference is the call, `&Call`. Every other is an argument, of any type that is
///   `Deserialize` and `JsonSchema`. Its doc comment is its description, `Option` makes it optional, and `#[serde(…)]`
///   and `#[schemars(…)]` work on it as on a field. Arguments that the function does not name are refused.
/// - It returns `pausegate_sdk::Result<T>`, `anyhow::Result<T>` or a result with an error of its own, where `T` is
///   text, `()`, `Json`, `Content`, `Vec<Content>` or `Success`.
/// - `effects` is `read-only`, `idempotent` or `once`; without it a tool is `once`, which is never run twice.
/// - `name` is the tool's name where the function's does not do, `title` one for people.
///
/// ```text
/// /// Looks up the weather.
/// #[tool(effects = "read-only", name = "weather-now", title = "Weather")]
/// fn weather(
///     /// The city, in English.
///     city: String,
///     /// How many days ahead.
///     #[schemars(range(max = 10))]
///     days: Option<u8>,
/// ) -> pausegate_sdk::Result<String> {
///     …
/// }
/// ```
///
/// The function stays as it is, so unit tests call it. Beside it there is a type of its name that implements `Tool`,
/// which is what `export!` takes.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    let expanded =
        syn::parse(options).and_then(|options| Ok((options, syn::parse(function)?))).and_then(|(options, function)| tool::expand(&options, function));
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}
