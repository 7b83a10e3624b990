//! From tools to a plugin: what `#[tool]` and `export!` lead to.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::bindings::exports::pausegate::plugin::tools::Guest;
use crate::bindings::pausegate::plugin::types;
use crate::call::Call;
use crate::content::Success;
use crate::failure::{Failure, Kind};
use crate::schema;
use crate::stop::Result;

pub use types::{Catalog, Effects, Outcome, Pause, Tool as ToolSpec, Want};

/// A tool; `#[tool]` implements it on a type of the function's name.
pub trait Tool {
    /// Its name, without the plugin's.
    const NAME: &'static str;
    /// What the host is told about it.
    fn spec() -> ToolSpec;
    /// Reads the arguments and calls the function.
    ///
    /// # Errors
    /// The function's own, and `invalid-input` for arguments that do not fit.
    fn run(call: &Call) -> Result<Success>;
}

/// Runs one attempt of `T` from JSON arguments to outcome, as the host would.
pub fn attempt<T: Tool>(call: Call) -> Outcome {
    let returned = T::run(&call);
    call.end(returned)
}

/// A plugin; [`export!`](crate::export) implements it on `Exported`.
pub trait Plugin {
    /// All that it offers.
    ///
    /// # Errors
    /// When two tools have one name.
    fn catalog() -> Result<Catalog, Failure>;
    /// Runs one attempt of the tool that the call names.
    fn attempt(call: Call) -> Outcome;
}

impl<P: Plugin> Guest for P {
    fn list_tools() -> Result<Catalog, types::Failure> {
        P::catalog().map_err(Into::into)
    }

    fn call_tool(call: types::Call) -> Outcome {
        P::attempt(Call::new(call))
    }
}

/// A catalog of these tools, for `export!`.
#[doc(hidden)]
pub fn catalog(tools: Vec<ToolSpec>, wants: Vec<Want>) -> Result<Catalog, Failure> {
    for (at, tool) in tools.iter().enumerate() {
        if tools[..at].iter().any(|earlier| earlier.name == tool.name) {
            return Err(Failure::new(Kind::Failed, format!("two tools are named `{}`", tool.name)));
        }
    }
    Ok(Catalog { tools, wants, meta: Vec::new() })
}

/// The outcome of a call to a tool that is not there, for `export!`.
#[doc(hidden)]
pub fn no_such_tool(call: Call) -> Outcome {
    let failure = Failure::new(Kind::NotFound, format!("no tool named `{}`", call.tool()));
    call.end(Err(failure.into()))
}

/// Reads a call's arguments, for `#[tool]`.
#[doc(hidden)]
pub fn arguments<A: DeserializeOwned>(call: &Call) -> Result<A> {
    // By way of a value, whose errors have no line and column: a model wrote it on no line.
    let value: serde_json::Value = serde_json::from_str(call.arguments())?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (path, message) = (format!("`{}`", error.path()), error.inner().to_string());
        // An unknown field's message names it already; a missing one's stands at the object.
        let message = if path == "`.`" || message.contains(&path) { message } else { format!("{path}: {message}") };
        Failure::new(Kind::InvalidInput, message).into()
    })
}

/// The input schema of an arguments type, for `#[tool]`.
#[doc(hidden)]
pub fn input_schema<A: JsonSchema>() -> String {
    schema::of::<A>().to_string()
}
