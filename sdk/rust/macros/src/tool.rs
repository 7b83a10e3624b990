//! From a function to the function, a struct of its arguments, and a type of its name that implements `Tool`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Error, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, Meta, Pat, PatType, Result, ReturnType, Type};

use crate::options::Options;

/// One argument of the tool: a field of the arguments struct.
struct Argument {
    attributes: Vec<Attribute>,
    name: Ident,
    ty: Type,
}

pub(crate) fn expand(options: &Options, mut function: ItemFn) -> Result<TokenStream> {
    refuse_unfit(&function)?;
    let name = options.name(&function.sig.ident)?;
    let title =
        options.title.as_ref().map_or_else(|| quote!(::std::option::Option::None), |title| quote!(::std::option::Option::Some(#title.into())));
    let effects = options.effects();
    let description = description(&function)?;
    let (takes_call, arguments) = arguments(&mut function)?;
    let call = takes_call.then(|| quote!(call,));
    let ReturnType::Type(_, returns) = &function.sig.output else {
        return Err(Error::new_spanned(&function.sig, "a tool returns a `pausegate_sdk::Result` or `anyhow::Result`"));
    };
    let (visibility, ident) = (&function.vis, &function.sig.ident);
    let arguments_type = format_ident!("Arguments");
    let fields = arguments.iter().map(|Argument { attributes, name, ty }| quote!(#(#attributes)* #name: #ty));
    let names: Vec<_> = arguments.iter().map(|argument| &argument.name).collect();
    let sdk = quote!(::pausegate_sdk);
    let (serde, schemars) = ("::pausegate_sdk::__private::serde", "::pausegate_sdk::__private::schemars");

    Ok(quote! {
        #[allow(
            clippy::needless_pass_by_value, clippy::unnecessary_wraps,
            reason = "a tool takes what was read from JSON and returns a result, needed or not"
        )]
        #function

        // Braces, not a semicolon: such a struct is a type only, so the function may have the same name.
        #[doc(hidden)]
        #[allow(non_camel_case_types, reason = "named after the function")]
        #visibility struct #ident {}

        const _: () = {
            #[derive(#sdk::__private::serde::Deserialize, #sdk::__private::schemars::JsonSchema)]
            #[serde(crate = #serde, deny_unknown_fields)]
            #[schemars(crate = #schemars)]
            struct #arguments_type { #(#fields),* }

            impl #sdk::Tool for #ident {
                const NAME: &'static str = #name;

                fn spec() -> #sdk::ToolSpec {
                    #[allow(unused_imports, reason = "one of the two is used")]
                    use #sdk::__private::output_schema::{Returns, Structured as _, Unstructured as _};
                    #sdk::ToolSpec {
                        name: #name.into(),
                        title: #title,
                        description: #description.into(),
                        input_schema: #sdk::__private::input_schema::<#arguments_type>(),
                        output_schema: (&Returns::<#returns>(::std::marker::PhantomData)).output_schema(),
                        effects: #sdk::Effects::#effects,
                        meta: ::std::vec::Vec::new(),
                    }
                }

                fn run(call: &#sdk::Call) -> #sdk::Result<#sdk::Success> {
                    let #arguments_type { #(#names),* } = #sdk::__private::arguments(call)?;
                    #sdk::IntoReturned::into_returned(#ident(#call #(#names),*))
                }
            }
        };
    })
}

fn refuse_unfit(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    if let Some(asyncness) = &signature.asyncness {
        return Err(Error::new_spanned(asyncness, "a tool is a plain function: the host runs it beside others"));
    }
    if !signature.generics.params.is_empty() {
        return Err(Error::new_spanned(&signature.generics, "a tool's argument types are known: no generics"));
    }
    Ok(())
}

/// The doc comment, which the model reads.
fn description(function: &ItemFn) -> Result<String> {
    let lines: Vec<String> = function.attrs.iter().filter_map(doc_line).collect();
    let text = lines.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n");
    if text.trim().is_empty() {
        let message = "a tool needs a doc comment: it is the description that the model reads";
        return Err(Error::new_spanned(&function.sig.ident, message));
    }
    Ok(text.trim().to_owned())
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the function takes the call first, and its other parameters, whose attributes move to the struct.
fn arguments(function: &mut ItemFn) -> Result<(bool, Vec<Argument>)> {
    let mut takes_call = false;
    let mut arguments = Vec::new();
    for (at, input) in function.sig.inputs.iter_mut().enumerate() {
        let FnArg::Typed(parameter) = input else {
            return Err(Error::new_spanned(input, "a tool is a plain function: no `self`"));
        };
        if at == 0 && matches!(*parameter.ty, Type::Reference(_)) {
            takes_call = true;
        } else {
            arguments.push(argument(parameter)?);
        }
    }
    Ok((takes_call, arguments))
}

fn argument(parameter: &mut PatType) -> Result<Argument> {
    if let Type::Reference(_) = *parameter.ty {
        return Err(Error::new_spanned(&parameter.ty, "an argument is read from JSON: take an owned type"));
    }
    let Pat::Ident(pattern) = &*parameter.pat else {
        return Err(Error::new_spanned(&parameter.pat, "an argument needs a name"));
    };
    let moves = |attribute: &Attribute| ["doc", "serde", "schemars"].iter().any(|name| attribute.path().is_ident(name));
    let attributes = parameter.attrs.extract_if(.., |attribute| moves(attribute)).collect();
    Ok(Argument { attributes, name: pattern.ident.clone(), ty: (*parameter.ty).clone() })
}

#[cfg(test)]
mod tests;
