//! The `#[tool]` attribute of pausegate-sdk, which documents it.

mod options;
mod tool;

use proc_macro::TokenStream;

/// Makes a function a tool. See the crate's documentation.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    let expanded = syn::parse(options)
        .and_then(|options| Ok((options, syn::parse(function)?)))
        .and_then(|(options, function)| tool::expand(options, function));
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}
