//! One chain: how it stands, what it waits for, and all it did.

use axum::extract::{Path, State as Of};
use axum::response::Html;
use maud::{Markup, html};

use super::frame::{Here, Live, page};
use super::timeline::timeline;
use super::words::{ago, block, code, counted, line, path, status};
use crate::chain::ChainStatus;
use crate::journal::PendingRow;
use crate::report;
use crate::server::State;
use crate::server::access::Identity;
use crate::server::problem::Problem;
use crate::state::ChainState;

pub async fn show(Of(state): Of<State>, who: Identity, Path(id): Path<String>) -> Result<Html<String>, Problem> {
    let chain = state.chain(&who, &id).await?;
    let held_by = state.held_by(&chain).await?;
    let mut below = if chain.children().next().is_some() { state.pauses(&who, super::LIST_MAX).await? } else { Vec::new() };
    below.retain(|row| row.pause.path.contains(&chain.id));
    let now = state.clock().now();
    let standing = if held_by.is_some() { ChainStatus::Running } else { chain.status };
    let title = if chain.title.is_empty() { chain.id.0.clone() } else { report::escape::line(&chain.title) };
    let body = html! {
        header.head {
            p.crumbs { a href="/chains" { "Chains" } }
            h1 { (line(&title)) }
            p.sub { (status(standing)) " started " (ago(chain.started_at, now)) " ago by " (super::words::actor(&chain.started_by)) }
        }
        @if let Some(why) = &chain.blocked {
            section.part.changed { h2 { "It waits for its operator" } (block(&report::rest::blocked(&chain.id, why))) }
        }
        (waiting(&chain))
        (children(&chain, &below))
        section.part { (facts(&chain, held_by.as_deref())) }
        section.part { h2 { "What it did" } (timeline(&chain, now)) }
    };
    Ok(page(&who, Here::Chains, &title, Some(&Live { mark: format!("{} {standing}", chain.seq) }), &body))
}

fn waiting(chain: &ChainState) -> Markup {
    let open: Vec<_> = chain.open_pauses().collect();
    html! {
        @if !open.is_empty() {
            section.part.waits {
                h2 { "Waits for a person" }
                ul.lines { @for pause in open { li { a href={ "/pauses/" (pause.id) } { (code(&pause.tool)) } " " (line(&pause.reason)) } } }
            }
        }
    }
}

fn children(chain: &ChainState, below: &[PendingRow]) -> Markup {
    html! {
        @if chain.children().next().is_some() {
            section.part.waits {
                h2 { "Waits for chains that it started" }
                ul.lines {
                    @for child in chain.children() { li { a href={ "/chains/" (child) } { (child) } } }
                    @for row in below { li { a href={ "/pauses/" (row.pause.id) } { (code(&row.pause.tool)) } " " (line(&row.pause.reason)) } }
                }
            }
        }
    }
}

fn facts(chain: &ChainState, held_by: Option<&str>) -> Markup {
    let (input, output) = chain
        .turns
        .iter()
        .filter_map(|turn| turn.usage)
        .fold((0_u64, 0_u64), |(input, output), usage| (input.saturating_add(usage.input_tokens), output.saturating_add(usage.output_tokens)));
    html! {
        dl.table {
            dt { "Chain" } dd { code { (chain.id) } }
            @if let Some(model) = &chain.settings.model { dt { "Model" } dd { (line(model)) ", " (chain.model_calls) " of " (chain.settings.max_turns) " calls" } }
            dt { "Calls" } dd { (counted(chain.calls.len(), "call", "calls")) " in " (counted(chain.turns.len(), "turn", "turns")) }
            @if input + output > 0 { dt { "Tokens" } dd { (input) " in, " (output) " out" } }
            @if !chain.settings.only.is_empty() { dt { "Only" } dd { (line(&chain.settings.only_in_words())) } }
            @if let Some(parent) = &chain.continues { dt { "Carries on" } dd { a href={ "/chains/" (parent) } { (parent) } } }
            @if let Some(parent) = &chain.parent { dt { "For" } dd { (path(&parent.path())) } }
            @if let Some(fork) = &chain.forked { dt { "Forked from" } dd { a href={ "/chains/" (fork.chain) } { (fork.chain) } " after its event " (fork.seq) } }
            @if let Some(holder) = held_by { dt { "Held by" } dd { (line(holder)) } }
        }
    }
}
