//! Events into state. Events are facts: folding never fails and never decides.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Answered, Call, ChainState, Stop, Turn};
use crate::call::{CallStatus, Recording};
use crate::capability::{Opening, Uses};
use crate::chain::message::{Message, Role};
use crate::chain::{Actor, ChainId, ChainStatus, Settings};
use crate::event::{Event, Requested, Stamped, Started};
use crate::pause::{Ask, Decision, Pause, PauseKind, PauseStatus};

impl ChainState {
    /// The state before the first event.
    pub fn new(id: ChainId) -> Self {
        Self {
            id,
            seq: 0,
            status: ChainStatus::Runnable,
            blocked: None,
            error: None,
            stop: None,
            started_by: Actor(String::new()),
            started_at: jiff::Timestamp::UNIX_EPOCH,
            updated_at: jiff::Timestamp::UNIX_EPOCH,
            settings: Settings::default(),
            tools: Arc::default(),
            continues: None,
            forked: None,
            parent: None,
            messages: Vec::new(),
            turns: Vec::new(),
            calls: BTreeMap::new(),
            pauses: Vec::new(),
            model_calls: 0,
            title: String::new(),
        }
    }

    pub fn fold<'a>(id: ChainId, events: impl IntoIterator<Item = &'a Stamped>) -> Self {
        let mut state = Self::new(id);
        for event in events {
            state.apply(event);
        }
        state
    }

    pub fn apply(&mut self, stamped: &Stamped) {
        // Terminal states absorb: whatever a later event says, it changes nothing but the position.
        if !self.status.is_terminal() {
            self.apply_event(stamped);
            self.updated_at = stamped.at;
        }
        self.seq = stamped.seq;
    }

    fn apply_event(&mut self, stamped: &Stamped) {
        let at = stamped.at;
        match &stamped.event {
            Event::ChainStarted { started_by, settings, tools, messages, continues, forked, parent } => {
                self.started_by = started_by.clone();
                self.started_at = at;
                self.settings = settings.clone();
                self.tools = Arc::new(tools.iter().filter(|tool| settings.admit(&tool.name)).cloned().collect());
                self.messages = messages.clone();
                self.continues = continues.clone();
                self.forked = forked.clone();
                self.parent = parent.clone();
                messages.iter().for_each(|message| self.entitle(message));
            }
            Event::MessageAdded { message, .. } => {
                self.entitle(message);
                match self.turns.last_mut() {
                    Some(turn) => Arc::make_mut(turn).added.push(message.clone()),
                    None => self.messages.push(message.clone()),
                }
            }
            Event::TurnReceived { turn, origin, parts, verbatim, usage, calls } => {
                self.turns.push(Arc::new(Turn {
                    number: *turn,
                    origin: *origin,
                    at,
                    parts: parts.clone(),
                    verbatim: verbatim.clone(),
                    usage: *usage,
                    calls: calls.iter().map(|call| call.call).collect(),
                    added: Vec::new(),
                }));
                self.model_calls += u32::from(*origin == crate::event::Origin::Model);
                self.calls.extend(calls.iter().map(|call| (call.call, Arc::new(Call::requested(call, at)))));
                if let (true, Some(first)) = (self.title.is_empty(), calls.first()) {
                    self.title = first_line(&format!("{} {}", first.tool, first.text));
                }
            }
            Event::CallsReadied { calls } => {
                for readied in calls {
                    self.with_call(readied.call, |call| call.status = CallStatus::Ready);
                }
            }
            Event::PauseOpened { pause } => self.open(pause),
            Event::VoteCounted { pause, by, decision, .. } => {
                if let Some(pause) = self.pauses.iter_mut().rfind(|open| &open.id == pause && open.is_open()) {
                    Arc::make_mut(pause).votes.push(crate::pause::Decided { by: by.clone(), at, decision: decision.clone() });
                }
            }
            Event::PauseDecided { pause, by, decision, status, .. } => {
                let decided = crate::pause::Decided { by: by.clone(), at, decision: decision.clone() };
                if let Some(pause) = self.close(pause, *status) {
                    Arc::make_mut(pause).decided = Some(decided);
                    let pause = Arc::clone(pause);
                    self.with_call(pause.call, |call| call.take_decision(&pause, decision));
                }
            }
            Event::PauseClosed { pause, status, .. } => {
                self.close(pause, *status);
            }
            Event::CallEdited { call, by, arguments, approved } => self.with_call(*call, |call| {
                call.arguments = Some(arguments.clone());
                call.edited_by = Some(by.clone());
                call.forget();
                call.approved = approved.clone();
                call.gate_passed = approved.clone();
            }),
            Event::ApprovalLapsed { call, .. } => self.with_call(*call, |call| {
                call.approved = None;
                call.gate_passed = None;
                call.opened.clear();
                call.answers.retain(|answer| answer.asked != Ask::Approval);
            }),
            Event::CallsStarted { calls } => {
                for started in calls {
                    self.with_call(started.call, |call| {
                        call.status = CallStatus::Started;
                        call.attempts = started.attempt;
                        call.started = Some(started.clone());
                        call.started_at = call.started_at.or(Some(at));
                        call.attempted_at = Some(at);
                    });
                }
            }
            Event::ChildStarted { call, child, .. } => self.with_call(*call, |call| {
                call.status = CallStatus::Waiting;
                call.attempts += 1;
                call.child = Some(child.clone());
                call.started_at = call.started_at.or(Some(at));
            }),
            Event::AttemptPaused { call, uses, refusals, recorded, diverged } => self.with_call(*call, |call| {
                call.end_attempt(*uses, refusals);
                match diverged {
                    true => call.recording = Recording::default(),
                    false => call.recording.extend(recorded),
                }
            }),
            Event::CallRecovered { call, uses, .. } => self.with_call(*call, |call| {
                let unknown = uses.is_none() && call.started.as_ref().is_some_and(Started::may_have_effect);
                call.lost |= unknown;
                call.end_attempt(uses.unwrap_or_default(), &[]);
                call.status = CallStatus::Ready;
            }),
            Event::CallFinished { call, status, result, word_of, uses, refusals } => self.with_call(*call, |call| {
                call.end_attempt(*uses, refusals);
                call.recording = Recording::default();
                call.word_of.clone_from(word_of);
                call.status = *status;
                call.result = Some(result.clone());
                call.finished_at = Some(at);
            }),
            Event::PluginAccepted { plugin, tools, .. } => self.accept(plugin, tools),
            Event::TurnLimitRaised { max_turns, .. } => self.settings.max_turns = *max_turns,
            Event::ModelChanged { model, .. } => self.settings.model = Some(model.clone()),
            Event::StopRequested { by, end, note } => self.stop = Some(Stop { by: by.clone(), end: *end, note: note.clone() }),
            Event::ChainBlocked { blocked } => self.blocked = Some(blocked.clone()),
            Event::ChainUnblocked { .. } => self.blocked = None,
            Event::ChainCompleted => return self.end(ChainStatus::Completed),
            Event::ChainRejected => return self.end(ChainStatus::Rejected),
            Event::ChainCancelled => return self.end(ChainStatus::Cancelled),
            Event::ChainFailed { error } => {
                self.error = Some(error.clone());
                return self.end(ChainStatus::Failed);
            }
        }
        self.status = self.derived_status();
    }

    fn entitle(&mut self, message: &Message) {
        if message.role == Role::User {
            self.title = first_line(&message.joined_text());
        }
    }

    /// Paused means at least one open pause and nothing that could run: by construction, never by a stored mark. Waiting
    /// means the same of child chains where nobody is asked. One that is to stop has its children to stop first.
    fn derived_status(&self) -> ChainStatus {
        let asks = |call: &Call| matches!(call.status, CallStatus::Paused | CallStatus::InDoubt);
        let waits = self.current_calls().any(asks);
        let has_children = self.calls_in(CallStatus::Waiting).next().is_some();
        let moves = self.current_calls().any(|call| !call.status.is_final() && !asks(call) && call.status != CallStatus::Waiting);
        match () {
            () if self.blocked.is_some() => ChainStatus::Blocked,
            () if waits && !moves && self.stop.is_none() => ChainStatus::Paused,
            () if has_children && !moves && self.stop.is_none() => ChainStatus::Waiting,
            () => ChainStatus::Runnable,
        }
    }

    fn end(&mut self, status: ChainStatus) {
        self.blocked = None;
        self.status = status;
    }

    /// A pause of a call that was never asked is nobody's: rules find the call of every pause.
    fn open(&mut self, pause: &Arc<Pause>) {
        if !self.calls.contains_key(&pause.call) {
            return;
        }
        self.pauses.push(Arc::clone(pause));
        self.with_call(pause.call, |call| {
            if pause.kind == PauseKind::InDoubt {
                call.status = CallStatus::InDoubt;
                return;
            }
            call.status = CallStatus::Paused;
            if pause.kind == PauseKind::Tool {
                call.saved.clone_from(&pause.state);
            }
            if !matches!(pause.kind, PauseKind::Gate | PauseKind::PluginChanged) {
                call.pauses += u32::from(pause.difference.is_none());
            }
        });
    }

    fn close(&mut self, id: &crate::pause::PauseId, status: PauseStatus) -> Option<&mut Arc<Pause>> {
        let pause = self.pauses.iter_mut().rfind(|pause| &pause.id == id && pause.is_open())?;
        Arc::make_mut(pause).status = status;
        Some(pause)
    }

    fn accept(&mut self, plugin: &str, tools: &[crate::call::ToolSpec]) {
        let own = Arc::make_mut(&mut self.tools);
        own.retain(|tool| tool.plugin != plugin);
        own.extend(tools.iter().filter(|tool| self.settings.admit(&tool.name)).cloned());
        own.sort_by(|a, b| a.name.cmp(&b.name));
        let prefix = format!("{plugin}__");
        // A started call keeps what it has: whether it had its effect is still to be settled.
        let idle = |call: &&mut Arc<Call>| matches!(call.status, CallStatus::Requested | CallStatus::Ready | CallStatus::Paused);
        for call in self.calls.values_mut().filter(idle).filter(|call| call.tool.starts_with(&prefix)) {
            Arc::make_mut(call).forget();
        }
    }

    fn with_call(&mut self, key: crate::call::CallKey, change: impl FnOnce(&mut Call)) {
        if let Some(call) = self.calls.get_mut(&key)
            && !call.status.is_final()
        {
            change(Arc::make_mut(call));
        }
    }
}

fn first_line(text: &str) -> String {
    const CHARS_MAX: usize = 80;
    text.lines().next().unwrap_or_default().chars().take(CHARS_MAX).collect()
}

impl Call {
    pub(super) fn requested(asked: &Requested, at: jiff::Timestamp) -> Self {
        Self {
            key: asked.call,
            id: asked.id.clone(),
            provider_id: asked.provider_id.clone(),
            tool: asked.tool.clone(),
            text: asked.text.clone(),
            arguments: asked.arguments.clone(),
            edited_by: None,
            status: CallStatus::Requested,
            attempts: 0,
            approved: None,
            gate_passed: None,
            opened: Vec::new(),
            answers: Vec::new(),
            saved: None,
            recording: Recording::default(),
            pauses: 0,
            uses: Uses::default(),
            lost: false,
            started: None,
            child: None,
            attempted_at: None,
            requested_at: at,
            started_at: None,
            finished_at: None,
            result: None,
            word_of: None,
            refusals: Vec::new(),
        }
    }

    fn take_decision(&mut self, pause: &Pause, decision: &Decision) {
        let mut answer = |value: serde_json::Value, note: &Option<String>| {
            self.answers.push(Answered {
                key: pause.key.clone(),
                asked: pause.ask.clone(),
                value,
                note: note.clone(),
                context: pause.context.clone(),
            });
        };
        match decision {
            // Is about the bytes, and says nothing of the call.
            Decision::Approve { .. } | Decision::Respond { .. } if pause.kind == PauseKind::PluginChanged => self.status = CallStatus::Ready,
            // Opens the one use, and says nothing of the arguments.
            Decision::Approve { .. } if pause.kind == PauseKind::Capability => {
                let uses = pause.opens.iter().filter_map(|opening| match opening {
                    Opening::Use(frozen) => Some((pause.call_digest.clone(), frozen.clone())),
                    Opening::Fs(_) | Opening::Http(_) | Opening::Kv(_) => None,
                });
                self.opened.extend(uses);
                self.status = CallStatus::Ready;
            }
            Decision::Approve { note, .. } => {
                // A gate's answer is not the plugin's: `answers` holds only what its own pauses were told.
                if pause.kind == PauseKind::Tool {
                    answer(true.into(), note);
                } else {
                    self.gate_passed = Some(pause.call_digest.clone());
                }
                self.approved = Some(pause.call_digest.clone());
                self.status = CallStatus::Ready;
            }
            Decision::Respond { value, note, .. } if !pause.asks_approval() => {
                answer(value.clone(), note);
                self.status = CallStatus::Ready;
            }
            // A denial, an edit, a result in the tool's place and what became of a call are said by the event that follows.
            Decision::Respond { .. } | Decision::Deny { .. } | Decision::Edit { .. } | Decision::Settle(_) => {}
        }
    }

    fn end_attempt(&mut self, uses: Uses, refusals: &[crate::capability::Refusal]) {
        self.started = None;
        self.attempted_at = None;
        self.uses.add(uses);
        if uses.effectful() {
            self.opened.clear();
        }
        self.refusals.extend_from_slice(refusals);
    }

    /// Answers, saved state and approvals belong to arguments and bytes that are no more. Effects stay: whatever runs
    /// next must not have them again.
    fn forget(&mut self) {
        if !self.recording.has_effects() {
            self.recording = Recording::default();
        }
        self.answers.clear();
        self.saved = None;
        self.approved = None;
        self.gate_passed = None;
        self.opened.clear();
        self.status = CallStatus::Requested;
    }
}
