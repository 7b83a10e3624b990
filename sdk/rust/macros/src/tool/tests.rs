use proc_macro2::TokenStream;
use quote::quote;
use syn::Result;

use super::expand;

fn tool(options: TokenStream, function: TokenStream) -> Result<TokenStream> {
    expand(&syn::parse2(options)?, syn::parse2(function)?)
}

/// The compiler's message for a tool with these options.
fn refused(options: TokenStream, function: TokenStream) -> String {
    tool(options, function).expect_err("compiles").to_string()
}

#[test]
fn a_plain_function_is_a_tool() {
    let function = quote!(
        /// Says hello.
        fn hello(
            call: &Call,
            /** Whom. */
            name: String,
        ) -> Result<String> {
            Ok(name)
        }
    );
    tool(quote!(), function.clone()).unwrap();
    tool(quote!(effects = "read-only", name = "say-hello", title = "Hello",), function).unwrap();
}

#[test]
fn a_tool_without_description_is_refused() {
    let message = "a tool needs a doc comment: it is the description that the model reads";
    assert_eq!(
        refused(
            quote!(),
            quote!(
                fn f() -> Result<()> {
                    Ok(())
                }
            )
        ),
        message
    );
}

#[test]
fn options_that_do_not_exist_are_refused() {
    let function = || {
        quote!(
            #[doc = "F."]
            fn f() -> Result<()> {
                Ok(())
            }
        )
    };
    let check = |options, message: &str| assert_eq!(refused(options, function()), message);
    check(quote!(effects = "none"), "effects are `read-only`, `idempotent` or `once`");
    check(quote!(safe = "yes"), "a tool takes `effects`, `name` and `title`");
    check(quote!(name = "a b"), "a tool's name is 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`");
    check(quote!(name = ""), "a tool's name is 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`");
}

#[test]
fn functions_that_cannot_be_tools_are_refused() {
    let check = |function, message: &str| assert_eq!(refused(quote!(), function), message);
    check(
        quote!(
            #[doc = "F."]
            async fn f() -> Result<()> {
                Ok(())
            }
        ),
        "a tool is a plain function: the host runs it beside others",
    );
    check(
        quote!(
            #[doc = "F."]
            fn f<T>(t: T) -> Result<()> {
                Ok(())
            }
        ),
        "a tool's argument types are known: no generics",
    );
    check(
        quote!(
            #[doc = "F."]
            fn f(call: &Call, name: &str) -> Result<()> {
                Ok(())
            }
        ),
        "an argument is read from JSON: take an owned type",
    );
    check(
        quote!(
            #[doc = "F."]
            fn f((a, b): (u8, u8)) -> Result<()> {
                Ok(())
            }
        ),
        "an argument needs a name",
    );
    check(
        quote!(
            #[doc = "F."]
            fn f() {}
        ),
        "a tool returns a `pausegate_sdk::Result` or `anyhow::Result`",
    );
    check(
        quote!(
            #[doc = "F."]
            fn f(&self) -> Result<()> {
                Ok(())
            }
        ),
        "a tool is a plain function: no `self`",
    );
}
