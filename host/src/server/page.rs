//! The page for people: what waits for them, each pause in full, the chains, and what plugins hold.
//!
//! Plain HTML that works without scripts; a small script keeps it up to date. It shows what the API shows to the same
//! token, changes nothing by GET, and decides through the API's own door. Whatever a plugin, a model or a person wrote
//! goes through `report::escape` first and through maud's escaping after.

use axum::Router;
use axum::routing::get;

use super::State;

mod assets;
mod chain;
mod chains;
mod decide;
mod dress;
mod fields;
mod forms;
pub mod frame;
mod given;
mod pause;
mod plugins;
mod queue;
mod seen;
mod timeline;
mod words;

pub use dress::dress;

/// Rows of a list; more are not looked through by a person.
const LIST_MAX: u32 = 500;

pub fn routes() -> Router<State> {
    Router::new()
        .route("/", get(queue::show))
        .route("/pauses/{id}", get(pause::show).post(decide::decide))
        .route("/chains", get(chains::show))
        .route("/chains/{id}", get(chain::show))
        .route("/plugins", get(plugins::show))
        .route("/assets/{name}", get(assets::serve))
}
