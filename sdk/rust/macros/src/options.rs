//! `#[tool(effects = "…", name = "…", title = "…")]`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitStr, Result, Token};

/// The most characters of a tool's name that the host can show (`wit/plugin.wit`, `tool.name`).
const NAME_CHARACTERS_MAX: usize = 64;

/// What stands in the attribute.
#[derive(Default)]
pub(crate) struct Options {
    effects: Effects,
    name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
}

#[derive(Clone, Copy, Default)]
enum Effects {
    ReadOnly,
    Idempotent,
    #[default]
    Once,
}

impl Options {
    /// The variant of `pausegate_sdk::Effects`.
    pub(crate) fn effects(&self) -> TokenStream {
        match self.effects {
            Effects::ReadOnly => quote!(ReadOnly),
            Effects::Idempotent => quote!(Idempotent),
            Effects::Once => quote!(Once),
        }
    }

    /// The name of the tool: the function's, unless another is given.
    pub(crate) fn name(&self, function: &Ident) -> Result<LitStr> {
        let unraw = function.to_string().trim_start_matches("r#").to_owned();
        let name = self.name.clone().unwrap_or_else(|| LitStr::new(&unraw, function.span()));
        let text = name.value();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if text.is_empty() || text.len() > NAME_CHARACTERS_MAX || !text.chars().all(fits) {
            return Err(Error::new(name.span(), "a tool's name is 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`"));
        }
        Ok(name)
    }
}

impl Parse for Options {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let value: LitStr = input.parse()?;
            match key.to_string().as_str() {
                "effects" => options.effects = effects(&value)?,
                "name" => options.name = Some(value),
                "title" => options.title = Some(value),
                _ => return Err(unknown(key.span())),
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

fn effects(value: &LitStr) -> Result<Effects> {
    match value.value().as_str() {
        "read-only" => Ok(Effects::ReadOnly),
        "idempotent" => Ok(Effects::Idempotent),
        "once" => Ok(Effects::Once),
        _ => Err(Error::new(value.span(), "effects are `read-only`, `idempotent` or `once`")),
    }
}

fn unknown(at: Span) -> Error {
    Error::new(at, "a tool takes `effects`, `name` and `title`")
}
