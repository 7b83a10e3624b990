//! What waits, oldest first.

use axum::extract::State as Of;
use axum::response::Html;
use jiff::Timestamp;
use maud::{Markup, html};

use super::frame::{Here, Live, page};
use super::words::{actor, ago, chip, code, counted, line, path};
use crate::digest::canonical;
use crate::journal::PendingRow;
use crate::pause::PauseKind;
use crate::report;
use crate::server::State;
use crate::server::access::{Identity, Scope};
use crate::server::problem::Problem;

pub async fn show(Of(state): Of<State>, who: Identity) -> Result<Html<String>, Problem> {
    let rows = state.pauses(&who, super::LIST_MAX).await?;
    let live = Live { mark: rows.iter().map(|row| format!("{} {}", row.pause.id, row.pause.votes.len())).collect::<Vec<_>>().join(" ") };
    let title = if rows.is_empty() { "Nothing waits".to_owned() } else { format!("{} waiting", rows.len()) };
    Ok(page(&who, Here::Waiting, &title, Some(&live), &body(&who, &rows, state.clock().now())))
}

fn body(who: &Identity, rows: &[PendingRow], now: Timestamp) -> Markup {
    html! {
        header.head {
            h1 { "Waiting for a person" }
            p.sub { @if rows.is_empty() { "Nothing just now" } @else { (counted(rows.len(), "question", "questions")) ", oldest first" } }
        }
        @if !who.may(Scope::Approve) {
            p.note { "Your token may look but not decide. The operator makes one that may: " code { "pausegate token create NAME --can approve" } }
        }
        @if rows.is_empty() {
            (empty())
        } @else {
            ol.rows { @for row in rows { (self::row(row, now)) } }
        }
        @if rows.len() == super::LIST_MAX as usize { p.note { "There may be more: these are the oldest " (rows.len()) "." } }
    }
}

fn empty() -> Markup {
    html! {
        div.empty {
            p { b { "Nothing waits for a person." } }
            p { "What a chain asks shows up here as it is asked. Start one with " code { "pausegate run 'what to do'" } ", or look at the " a href="/chains" { "chains" } " there are." }
        }
    }
}

fn row(row: &PendingRow, now: Timestamp) -> Markup {
    let pause = &row.pause;
    html! {
        li.row {
            div.what {
                a.open href={ "/pauses/" (pause.id) } { (code(&pause.tool)) }
                " " span.arguments { (code(&canonical(&pause.arguments))) }
                p.reason { (says(pause.kind)) (line(&pause.reason)) }
            }
            dl.facts {
                div { dt { "Kind" } dd { (chip(pause.kind.as_str())) " " (asks(pause)) } }
                div { dt { "Plugin" } dd { (line(&pause.plugin)) } }
                div { dt { "Asked by" } dd { (actor(&row.started_by)) } }
                div.chain { dt { "Chain" } dd { a href={ "/chains/" (row.chain) } { (line(if row.title.is_empty() { &row.chain.0 } else { &row.title })) } } }
                @if !pause.path.is_empty() { div.chain { dt { "For" } dd { (path(&pause.path)) } } }
            }
            p.age { (ago(pause.opened_at, now)) @if let Some(at) = pause.expires_at() { span.sub { "expires " (report::pause::expires(at, now)) } } }
        }
    }
}

fn asks(pause: &crate::pause::Pause) -> Markup {
    let asks = report::pause::asks(&pause.ask);
    html! {
        (asks)
        @if pause.requirements.quorum.get() > 1 { ", " (pause.votes_most()) " of " (pause.requirements.quorum) }
    }
}

/// Whose words the reason is.
fn says(kind: PauseKind) -> &'static str {
    match kind {
        PauseKind::Tool => "It says: ",
        PauseKind::Gate | PauseKind::Capability | PauseKind::InDoubt | PauseKind::PluginChanged => "",
    }
}
