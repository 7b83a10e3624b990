//! All chains that somebody may know of, newest first.

use axum::extract::State as Of;
use axum::response::Html;
use jiff::Timestamp;
use maud::{Markup, html};

use super::frame::{Here, Live, page};
use super::words::{actor, ago, counted, line, status};
use crate::journal::ChainRow;
use crate::server::State;
use crate::server::access::Identity;
use crate::server::problem::Problem;

pub async fn show(Of(state): Of<State>, who: Identity) -> Result<Html<String>, Problem> {
    let rows = state.chains(&who, super::LIST_MAX).await?;
    let now = state.clock().now();
    let mark = rows.iter().map(|row| format!("{} {} {}", row.id, row.status, row.open_pauses)).collect::<Vec<_>>().join(" ");
    let body = html! {
        header.head { h1 { "Chains" } p.sub { (counted(rows.len(), "chain", "chains")) ", newest first" } }
        @if rows.is_empty() {
            div.empty {
                p { b { "No chain was started yet." } }
                p { "Start one with " code { "pausegate run 'what to do'" } ", or through the API: " code { "POST /api/v1/chains" } "." }
            }
        } @else {
            ol.rows { @for row in &rows { (self::row(row, now)) } }
        }
        @if rows.len() == super::LIST_MAX as usize { p.note { "There may be more: these are the newest " (rows.len()) "." } }
    };
    Ok(page(&who, Here::Chains, "Chains", Some(&Live { mark }), &body))
}

fn row(row: &ChainRow, now: Timestamp) -> Markup {
    html! {
        li.row {
            div.what {
                a.open href={ "/chains/" (row.id) } { (line(if row.title.is_empty() { &row.id.0 } else { &row.title })) }
                p.reason { (status(row.status)) " " (line(&row.detail)) }
            }
            dl.facts {
                div { dt { "Calls" } dd { (row.calls) } }
                div { dt { "Waiting" } dd { (row.open_pauses) } }
                div { dt { "Started by" } dd { (actor(&row.started_by)) } }
            }
            p.age { (ago(row.updated_at, now)) }
        }
    }
}
