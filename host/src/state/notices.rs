//! What is told to whom of events that are being written: the outbox follows from them as every other row does.

use super::ChainState;
use crate::chain::Blocked;
use crate::counted::counted;
use crate::digest::canonical;
use crate::event::{Event, Stamped};
use crate::notice::{Asked, Audience, Facts, Happening, Notice, Said, WORDS_BYTES_MAX, cut};
use crate::pause::{Ask, Pause, PauseStatus};

/// Openings named in one message; the pause itself shows all.
const OPENINGS_MAX: usize = 10;

/// `state` is the one after `events`.
pub fn notices(audience: &Audience, events: &[Stamped], state: &ChainState) -> Vec<Notice> {
    if audience.is_empty() {
        return Vec::new();
    }
    events.iter().flat_map(|stamped| of_event(audience, stamped, state)).collect()
}

fn of_event(audience: &Audience, stamped: &Stamped, state: &ChainState) -> Vec<Notice> {
    let facts = |what| Facts {
        what,
        at: stamped.at,
        chain: state.id.clone(),
        seq: stamped.seq,
        title: cut(&state.title),
        started_by: state.started_by.clone(),
        pause: None,
        decided: None,
        why: None,
    };
    let told = match &stamped.event {
        // One that is over in the same moment asks nobody.
        Event::PauseOpened { pause } if state.pause(&pause.id).is_some_and(Pause::is_open) => {
            return of_pause(audience, pause, |what| Facts { pause: Some(asked(pause)), ..facts(what) });
        }
        Event::PauseDecided { pause, by, decision, .. } => Facts {
            pause: state.pause(pause).map(asked),
            decided: Some(Said { by: by.clone(), decision: decision.name().to_owned(), note: decision.note().map(cut) }),
            ..facts(Happening::PauseDecided)
        },
        Event::PauseClosed { pause, status, why, .. } => {
            Facts { pause: state.pause(pause).map(asked), why: Some(cut(&over(*status, why))), ..facts(Happening::PauseClosed) }
        }
        Event::ChainBlocked { blocked } => Facts { why: Some(cut(&because(blocked))), ..facts(Happening::ChainBlocked) },
        Event::ChainCompleted => facts(Happening::ChainCompleted),
        Event::ChainRejected => facts(Happening::ChainRejected),
        Event::ChainCancelled => facts(Happening::ChainCancelled),
        Event::ChainFailed { error } => Facts { why: Some(cut(error)), ..facts(Happening::ChainFailed) },
        _ => return Vec::new(),
    };
    audience.of(told.what.topic()).map(|channel| Notice::new(channel, told.clone())).collect()
}

/// That it opened, and what is said later if nobody decides it: reminders, and who may decide too by then.
fn of_pause(audience: &Audience, pause: &Pause, facts: impl Fn(Happening) -> Facts) -> Vec<Notice> {
    let mut notices = Vec::new();
    for channel in audience.of(Happening::PauseOpened.topic()) {
        notices.push(Notice::new(channel, facts(Happening::PauseOpened)));
        if let Some(every) = pause.requirements.remind_seconds {
            let first = Notice::later(channel, facts(Happening::PauseReminder), every, &pause.id);
            notices.push(Notice { every_seconds: Some(every), ..first });
        }
        for widened in &pause.requirements.escalations {
            let mut facts = facts(Happening::PauseEscalated);
            if let Some(asked) = &mut facts.pause {
                asked.escalated_to.clone_from(&widened.to);
            }
            let notice = Notice::later(channel, facts, widened.after_seconds, &pause.id);
            // Of two rules that widen at the same time, one message tells.
            if !notices.iter().any(|other: &Notice| other.id == notice.id) {
                notices.push(notice);
            }
        }
    }
    notices
}

fn asked(pause: &Pause) -> Asked {
    let asks = match &pause.ask {
        Ask::Approval => "approval",
        Ask::Choice { .. } => "choice",
        Ask::Text => "text",
        Ask::Form { .. } => "form",
        Ask::Other { .. } => "other",
        Ask::Outcome => "outcome",
    };
    Asked {
        id: pause.id.clone(),
        kind: pause.kind,
        tool: pause.tool.clone(),
        plugin: pause.plugin.clone(),
        arguments: cut(&canonical(&pause.arguments)),
        reason: cut(&pause.reason),
        asks: asks.to_owned(),
        whole: is_whole(pause),
        opens: pause.opens.iter().take(OPENINGS_MAX).map(|opening| cut(&opening.to_string())).collect(),
        approvers: cut(&pause.requirements.in_words()),
        digest: pause.digest.clone(),
        opened_at: pause.opened_at,
        expires_at: pause.expires_at(),
        escalated_to: Vec::new(),
    }
}

fn is_whole(pause: &Pause) -> bool {
    let uncut = |text: &str| text.len() <= WORDS_BYTES_MAX;
    uncut(&canonical(&pause.arguments))
        && uncut(&pause.reason)
        && pause.context.is_none()
        && pause.difference.is_none()
        && pause.frozen().is_none()
        && pause.opens.len() <= OPENINGS_MAX
        && pause.opens.iter().all(|opening| uncut(&opening.to_string()))
}

fn over(status: PauseStatus, why: &str) -> String {
    format!("{}: {why}", status.as_str())
}

fn because(blocked: &Blocked) -> String {
    match blocked {
        Blocked::MaxTurns { limit } => format!("max_turns: the model has been called {}", counted(limit, "time", "times")),
        Blocked::MissingPlugin { plugin, why } => {
            format!("missing_plugin: {plugin} is not loaded{}", why.as_ref().map_or(String::new(), |why| format!(" ({why})")))
        }
        Blocked::PluginChanged { plugin, .. } => format!("plugin_changed: {plugin} has other bytes than the chain started with"),
        Blocked::UnknownOutcome { calls } => format!("unknown_outcome: of {}", counted(calls.len(), "call", "calls")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::{Access, HeldFs, Opening};
    use crate::chain::Actor;
    use crate::journal::tests::sample::{Chain, approved, key, pause, turn};
    use crate::notice::{Listener, Topic};

    fn audience(hears: &[Topic]) -> Audience {
        Audience(vec![Listener { channel: "ops".into(), hears: hears.to_vec() }])
    }

    fn told(hears: &[Topic], events: Vec<Event>) -> Vec<(Happening, u64, Option<u64>)> {
        let mut chain = Chain::new("ch_1");
        let events = chain.stamp(events);
        events.iter().for_each(|event| chain.state.apply(event));
        notices(&audience(hears), &events, &chain.state)
            .iter()
            .map(|notice| (notice.facts.what, notice.after_seconds, notice.every_seconds))
            .collect()
    }

    fn opened() -> Vec<Event> {
        let mut pause = pause("pa_1", key(1, 0));
        pause.requirements.remind_seconds = Some(60);
        let widened = crate::capability::requirements::Widened { approvers: Vec::new(), after_seconds: 300, to: vec![Actor("os:boss@host".into())] };
        pause.requirements.escalations = vec![widened.clone(), widened];
        vec![crate::journal::tests::sample::started("hi"), turn(1, 1), Event::pause_opened(pause)]
    }

    #[test]
    fn a_channel_hears_of_what_it_asked_for_and_of_nothing_else() {
        let later = [(Happening::PauseOpened, 0, None), (Happening::PauseReminder, 60, Some(60)), (Happening::PauseEscalated, 300, None)];
        assert_eq!(told(&[Topic::Pause], opened()), later);
        assert_eq!(told(&[Topic::Decided, Topic::Blocked, Topic::Ended], opened()), []);
        assert_eq!(told(&[], opened()), []);
    }

    #[test]
    fn a_pause_that_is_over_in_the_same_moment_asks_nobody() {
        let mut events = opened();
        events.push(approved("pa_1", key(1, 0), "os:bob@host"));
        assert_eq!(told(&[Topic::Pause, Topic::Decided], events), [(Happening::PauseDecided, 0, None)]);
    }

    /// limit: state/notices::OPENINGS_MAX
    #[test]
    fn a_message_says_whether_it_names_all_that_an_approval_opens() {
        let opening = Opening::Fs(HeldFs { mount: "/build".into(), host: "/srv/build".into(), access: Access::Write, only: None, quota: None });
        for (count, named, whole) in [(OPENINGS_MAX, OPENINGS_MAX, true), (OPENINGS_MAX + 1, OPENINGS_MAX, false)] {
            let mut pause = pause("pa_1", key(1, 0));
            pause.opens = vec![opening.clone(); count];
            let asked = asked(&pause);
            assert_eq!((asked.opens.len(), asked.whole), (named, whole));
        }
        let long = Pause { reason: "é".repeat(WORDS_BYTES_MAX), ..pause("pa_1", key(1, 0)) };
        let asked = asked(&long);
        assert!(!asked.whole && asked.reason.ends_with(&format!("… ({WORDS_BYTES_MAX} more bytes)")), "{}", asked.reason);
    }

    #[test]
    fn a_notice_has_one_id_however_often_it_is_made_and_another_for_each_channel() {
        let mut chain = Chain::new("ch_1");
        let events = chain.stamp(opened());
        events.iter().for_each(|event| chain.state.apply(event));
        let ids = |channel: &str| {
            let audience = Audience(vec![Listener { channel: channel.into(), hears: vec![Topic::Pause] }]);
            notices(&audience, &events, &chain.state).into_iter().map(|notice| notice.id).collect::<Vec<_>>()
        };
        let (ops, again, other) = (ids("ops"), ids("ops"), ids("other"));
        assert_eq!(ops, again);
        let mut all: Vec<_> = ops.iter().chain(&other).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6);
    }
}
