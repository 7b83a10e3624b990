//! One pause in full: what is asked, what it is about, what approving would open, and the forms that decide it.

use axum::extract::{Path, State as Of};
use axum::response::Html;
use maud::{Markup, html};

use super::forms::{self, Slip};
use super::frame::{Here, Live, page};
use super::seen::Seen;
use super::words::{self, actor, ago, block, chip, code, json, line, quote};
use super::{dress, timeline};
use crate::capability::FrozenUse;
use crate::pause::{Ask, Choice, Pause, PauseKind, PauseStatus};
use crate::report;
use crate::server::State;
use crate::server::access::Identity;
use crate::server::problem::Problem;

pub async fn show(Of(state): Of<State>, who: Identity, Path(id): Path<String>) -> Result<Html<String>, Problem> {
    let seen = Seen::read(&state, &who, &id).await?;
    Ok(whole(&who, &seen, None))
}

/// `slip` is what was tried and not taken, with what was typed.
pub fn whole(who: &Identity, seen: &Seen, slip: Option<&Slip>) -> Html<String> {
    let pause = &seen.pause;
    let title = format!("{} {}", report::escape::line(&pause.tool), pause.status.as_str());
    let body = html! {
        @if let Some(slip) = slip { (told(slip)) }
        header.head {
            p.crumbs { a href="/" { "Waiting" } " / " @if !pause.path.is_empty() { (words::path(&pause.path)) " › " } a href={ "/chains/" (seen.chain.id) } { (line(&seen.chain.title)) } }
            h1 { (code(&pause.tool)) " " span.asks { (report::pause::asks(&pause.ask)) } }
            p.sub { (chip(pause.kind.as_str())) " " (kind(pause.kind)) " · " (ago(pause.opened_at, seen.now)) " ago" }
            p.jump { a href="#decide" { @if pause.is_open() { "To your decision" } @else { "To what was decided" } } }
        }
        div.two {
            div.about { (about(seen)) }
            section.decide #decide aria-label="Decision" {
                @if pause.is_open() { (open(who, seen, slip)) } @else { (closed(seen)) }
            }
        }
    };
    page(who, Here::Waiting, &title, Some(&Live { mark: seen.mark() }), &body)
}

/// What stands beside its name.
fn kind(kind: PauseKind) -> &'static str {
    let told = report::pause::kind(kind);
    told.split_once(": ").map_or(told, |(_, told)| told)
}

fn told(slip: &Slip) -> Markup {
    html! {
        div.told role="alert" {
            p { b { (slip.title) } }
            p { (dress::said(&dress::sentence(&slip.message))) }
        }
    }
}

/// What a person decides on.
fn about(seen: &Seen) -> Markup {
    let pause = &seen.pause;
    html! {
        @if let Some(difference) = &pause.difference {
            section.part.changed { h2 { "Changed since it was last asked" } (block(difference)) }
        }
        section.part { (reason(pause)) }
        section.part {
            h2 { "Arguments" }
            (json(&pause.arguments))
            p.sub { "of " (code(&pause.tool)) ", plugin " (line(&pause.plugin)) ", " (pause.effects) }
        }
        (context(pause))
        @if let Some(written) = report::pause::written_before(pause.uses).filter(|_| pause.kind == PauseKind::Tool) { section.part.changed { h2 { "Worth a look" } p { (written) } } }
        // Where it can be answered, the form shows them.
        @if let Ask::Choice { options } = &pause.ask { @if !pause.is_open() || seen.why_not.is_some() { (choices(options)) } }
        @if pause.kind != PauseKind::InDoubt { section.part { (openings(pause)) } }
        @if let Some(line) = &seen.standing { (standing(pause, line)) }
        section.part {
            h2 { "Who asks, who decides" }
            dl.table {
                dt { "Chain started by" } dd { (actor(&seen.chain.started_by)) }
                dt { "Decided by" } dd { (report::escape::line(&pause.requirements.in_words_where("anybody whose token may approve"))) }
                @if pause.requirements.quorum.get() > 1 { dt { "Votes" } dd { (report::pause::votes(pause)) } }
                @if let Some(at) = pause.expires_at() { dt { "Expires" } dd { (report::pause::expires(at, seen.now)) } }
                dt { "Digest" } dd { code.digest { (pause.digest) } }
                dt { "Pause" } dd { code { (pause.id) } " · " a href={ "/api/v1/pauses/" (pause.id) } { "all of it as JSON" } }
            }
            @if !pause.because.is_empty() { h3 { "Lines behind it" } (words::lines(&pause.because)) }
        }
        section.part {
            details #so-far {
                summary { "The chain so far" }
                (timeline::timeline(&seen.chain, seen.now))
            }
        }
    }
}

fn reason(pause: &Pause) -> Markup {
    html! {
        h2 {
            @match pause.kind {
                PauseKind::Tool => { "In the words of plugin " (line(&pause.plugin)) }
                PauseKind::Gate => { "Asked because" }
                PauseKind::Capability => { "Held back by the host" }
                PauseKind::InDoubt => { "In doubt, since" }
                PauseKind::PluginChanged => { "Asked by the host, since" }
            }
        }
        (quote(&pause.reason))
    }
}

fn context(pause: &Pause) -> Markup {
    html! {
        @if let Some(FrozenUse::Http(http)) = pause.frozen() {
            section.part { h2 { "The request, whole" } (block(&report::pause::request(http))) }
        } @else if let Some(context) = pause.context.as_ref().filter(|_| pause.kind == PauseKind::Tool) {
            section.part { h2 { "Context, from the plugin, as it was then" } (json(context)) }
        }
        @if let Some(replaced) = pause.replaced() {
            section.part { h2 { "The bytes" } (words::lines(&report::pause::replaced::bytes(&replaced))) }
            section.part { h2 { "What changed" } (quote(&replaced.changes.join("\n"))) @if replaced.changes.is_empty() { p { "Only its code." } } }
        }
        @if pause.kind == PauseKind::InDoubt {
            section.part { h2 { "Known of it" } (words::lines(&report::pause::known(pause))) }
            @if let Some(told) = report::pause::plugin_says(pause) {
                section.part { h2 { "Plugin " (line(&pause.plugin)) " was asked, and says" } (quote(&told)) }
            }
        }
    }
}

fn choices(options: &[Choice]) -> Markup {
    html! {
        section.part {
            h2 { "To choose from" }
            ul.lines { @for option in options { li { (code(&option.value)) @if let Some(label) = &option.label { " " (line(label)) } } } }
        }
    }
}

fn openings(pause: &Pause) -> Markup {
    let opens: Vec<_> = pause.opens.iter().map(ToString::to_string).collect();
    html! {
        h2 { @if pause.asks_approval() { "What approving opens" } @else { "What answering opens" } }
        @if !pause.asks_approval() {
            p { "Answering opens nothing." }
        } @else if opens.is_empty() {
            p { "Nothing beyond running the call." }
        } @else {
            (words::lines(&opens))
            p.sub { "For this call alone." }
        }
        @if !pause.holds.is_empty() { h3 { "It holds, whatever is decided here" } (words::lines(&pause.holds)) }
        @if !pause.shut.is_empty() { h3 { "Stays shut" } (words::lines(&pause.shut)) }
    }
}

fn standing(pause: &Pause, line: &str) -> Markup {
    html! {
        section.part {
            details #standing {
                summary { "Never ask about exactly this call again" }
                p { "Only the operator can say so. This command writes the line below into the grants file:" }
                pre data-copy { "pausegate trust --always " (pause.id) }
                pre data-copy { (line.trim_end()) }
            }
        }
    }
}

fn open(who: &Identity, seen: &Seen, slip: Option<&Slip>) -> Markup {
    let voted = seen.pause.vote_of(&who.actor);
    html! {
        h2 { "Your decision" }
        @if let Some(vote) = voted {
            p.note { "You voted " b { (vote.decision.name()) } " " (ago(vote.at, seen.now)) " ago; " (report::pause::votes(&seen.pause)) ". It waits for others." }
        }
        @match &seen.why_not {
            Some(why) => p.note { (why) }
            None => (forms::forms(seen, slip))
        }
    }
}

/// Who decided what, and where it leads.
fn closed(seen: &Seen) -> Markup {
    let pause = &seen.pause;
    html! {
        h2 { "Decided" }
        div.decided {
            @match &pause.decided {
                Some(decided) => {
                    p.verdict { (chip(pause.status.as_str())) " by " b { (actor(&decided.by)) } ", " (ago(decided.at, seen.now)) " ago" }
                    @if let Some(note) = decided.decision.note() { (quote(note)) }
                    (given(&decided.decision))
                }
                None => {
                    p.verdict { (chip(pause.status.as_str())) }
                    p { (gone(pause.status)) }
                }
            }
        }
        @if let Some(anew) = &seen.anew { p { a.go href={ "/pauses/" (anew) } { "It was asked anew" } } }
        p { "The chain is " (words::status(seen.chain.status)) " " a href={ "/chains/" (seen.chain.id) } { "See how it goes on" } }
        @match &seen.next {
            Some(next) => p { a.go href={ "/pauses/" (next) } { "The next question" } " · " a href="/" { (words::counted(seen.others, "waits", "wait")) } }
            None => p { a href="/" { "Nothing else waits" } }
        }
    }
}

fn given(decision: &crate::pause::Decision) -> Markup {
    use crate::pause::{Decision, Settled};
    html! {
        @match decision {
            Decision::Edit { arguments, .. } => { p { "with these arguments" } (json(arguments)) }
            Decision::Respond { value, .. } => { p { "with" } (json(value)) }
            Decision::Settle(settle) => @match &settle.outcome {
                Settled::Happened(result) => { p { "It happened, with this result" } (json(result)) }
                Settled::RunAgain => p { "It may be made again." }
                Settled::GiveUp => p { "Nobody can tell what became of it; the model is told so." }
            }
            Decision::Approve { .. } | Decision::Deny { .. } => {}
        }
    }
}

fn gone(status: PauseStatus) -> &'static str {
    match status {
        PauseStatus::Expired => "Its time ran out before somebody decided.",
        PauseStatus::Superseded => "Something else came in its place, so it is not asked any more.",
        PauseStatus::Cancelled => "The chain was ended, so it is not asked any more.",
        _ => "It is not asked any more.",
    }
}
