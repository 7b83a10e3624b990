//! Tools and plugins, to look at: nothing here grants or trusts anything.

use axum::extract::State as Of;
use serde_json::{Value, json};

use super::body::Json;
use crate::server::State;
use crate::server::access::{Identity, Scope};
use crate::server::problem::Problem;

/// For those who start chains too: they narrow them to tools.
pub async fn tools(Of(state): Of<State>, identity: Identity) -> Result<Json<Vec<Value>>, Problem> {
    if !identity.may(Scope::Run) {
        identity.needs(Scope::Read)?;
    }
    let grants = state.host.grants.latest();
    let tool = |tool: &crate::call::ToolSpec| {
        json!({
            "name": tool.name, "plugin": tool.plugin, "title": tool.title, "description": tool.description,
            "effects": grants.effects(tool), "declared_effects": tool.effects,
            "input_schema": tool.input_schema, "output_schema": tool.output_schema, "plugin_digest": tool.plugin_digest,
        })
    };
    Ok(Json(state.host.catalog().iter().map(tool).collect()))
}

pub async fn plugins(Of(state): Of<State>, identity: Identity) -> Result<Json<Vec<Value>>, Problem> {
    identity.needs(Scope::Read)?;
    let (grants, catalog, failures) = (state.host.grants.latest(), state.host.plugins.catalog(), state.host.plugins.failures());
    let loaded = state.host.plugins.loaded();
    let mut rows: Vec<_> = loaded
        .iter()
        .map(|(name, digest)| {
            let tools: Vec<_> = catalog.iter().filter(|tool| tool.plugin == *name).map(|tool| &tool.name).collect();
            let prefix = format!("{name}__");
            let broken = failures.iter().filter(|failure| failure.name.starts_with(&prefix));
            let broken: Vec<_> = broken.map(|failure| json!({"tool": failure.name, "reason": failure.reason})).collect();
            json!({"name": name, "loaded": true, "digest": digest, "trust": grants.trust(name, digest), "tools": tools, "failures": broken})
        })
        .collect();
    rows.extend(failures.iter().filter(|failure| !failure.name.contains("__")).map(|failure| {
        let why = json!([{"tool": null, "reason": failure.reason}]);
        json!({"name": failure.name, "loaded": false, "digest": null, "trust": "no", "tools": [], "failures": why})
    }));
    Ok(Json(rows))
}
