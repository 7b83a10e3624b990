//! Tool calls that this process runs right now.

use std::collections::HashMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::open::OpenChain;
use super::still::{self, Still};
use crate::call::{CallKey, ToolResult, kind};
use crate::capability::judge::day;
use crate::plugin::{Answer, Attempt, AttemptOutcome, Ended};
use crate::state::idempotency_key;
use crate::state::start::Startable;

#[derive(Default)]
pub struct Attempts {
    tasks: JoinSet<(CallKey, AttemptOutcome)>,
    running: HashMap<CallKey, Running>,
    /// Of `running`, those that ended where they were started.
    ended: Vec<(CallKey, AttemptOutcome)>,
}

struct Running {
    cancel: CancellationToken,
    let_go: CancellationToken,
    /// Held an effectful grant.
    effectful: bool,
    /// `None` where it ended before it needed one.
    task: Option<tokio::task::Id>,
}

impl Attempts {
    pub fn len(&self) -> usize {
        self.running.len()
    }

    /// Those that held an effectful grant.
    pub fn effectful(&self) -> usize {
        self.running.values().filter(|running| running.effectful).count()
    }

    pub fn is_running(&self, key: CallKey) -> bool {
        self.running.contains_key(&key)
    }

    /// Runs the attempt here until it first waits, and as a task of its own from there on: most calls never wait, and to
    /// wake another thread for one costs more than the call. One that computes gives way at the engine's next tick.
    pub async fn start(&mut self, chain: &OpenChain, startable: Startable) {
        let key = startable.started.call;
        let cancel = chain.lease().map_or_else(CancellationToken::new, |lease| lease.ended().child_token());
        let effectful = !startable.started.held.is_empty();
        let attempt = attempt(chain, startable, cancel.clone());
        let let_go = attempt.let_go.clone();
        let plugins = chain.host.plugins.clone();
        let mut run = Box::pin(async move { (key, plugins.call(attempt).await) });
        let task = match poll_fn(|cx| Poll::Ready(catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(cx))))).await {
            Ok(Poll::Pending) => Some(self.tasks.spawn(run).id()),
            Ok(Poll::Ready(ended)) => {
                self.ended.push(ended);
                None
            }
            Err(_) => {
                self.ended.push((key, host_failed()));
                None
            }
        };
        self.running.insert(key, Running { cancel, let_go, effectful, task });
    }

    /// The next attempts that ended: waits for one, and takes along those that have ended by then.
    pub async fn ended(&mut self) -> Vec<(CallKey, AttemptOutcome)> {
        let mut ended = std::mem::take(&mut self.ended);
        for (key, _) in &ended {
            self.running.remove(key);
        }
        if ended.is_empty()
            && let Some(first) = self.tasks.join_next().await
        {
            ended.push(self.joined(first));
        }
        while let Some(more) = self.tasks.try_join_next() {
            ended.push(self.joined(more));
        }
        // Pauses of one turn are asked in the order of its calls.
        ended.sort_by_key(|(key, _)| *key);
        ended
    }

    fn joined(&mut self, joined: Result<(CallKey, AttemptOutcome), tokio::task::JoinError>) -> (CallKey, AttemptOutcome) {
        let (key, outcome) = match joined {
            Ok(ended) => ended,
            Err(error) => {
                let key = self.running.iter().find(|(_, running)| running.task == Some(error.id())).map(|(key, _)| *key);
                (key.expect("a task is known until it is joined"), host_failed())
            }
        };
        self.running.remove(&key);
        (key, outcome)
    }

    /// Interrupts all attempts that have had no effect so far, as their uses are counted.
    pub fn let_go(&self) {
        self.cancel_harmless();
        self.running.values().for_each(|running| running.let_go.cancel());
    }

    /// Interrupts attempts that held no effectful grant; the others end by themselves, within their limits.
    pub fn cancel_harmless(&self) {
        for running in self.running.values().filter(|running| !running.effectful) {
            running.cancel.cancel();
        }
    }
}

/// A panic of ours inside the attempt: the call gets a result like any other.
fn host_failed() -> AttemptOutcome {
    let result = ToolResult::failure(kind::TRAPPED, "the host failed while it ran this call");
    AttemptOutcome { ended: Ended::Result(result), uses: Default::default(), refusals: Vec::new(), recorded: Default::default() }
}

/// What the plugin host needs for an attempt of a call of the chain.
pub fn attempt(chain: &OpenChain, startable: Startable, cancel: CancellationToken) -> Attempt {
    let OpenChain { host, state, .. } = chain;
    let Startable { started, held, limits, arguments } = startable;
    let call = &state.calls[&started.call];
    let tool = state.tool(&call.tool).expect("a startable call has its tool");
    let answers = call.answers.iter().map(|answer| Answer {
        key: answer.key.clone(),
        asked: answer.asked.clone(),
        value: answer.value.clone(),
        note: answer.note.clone(),
        context: answer.context.clone(),
    });
    let judged = still::Call {
        plugin: tool.plugin.clone(),
        plugin_digest: tool.plugin_digest.clone(),
        tool: tool.name.clone(),
        effects: tool.effects,
        arguments: call.arguments.clone().unwrap_or_default(),
        today: day(host.clock.now()),
        approved: call.approved.as_ref() == Some(&started.digest),
        uses: held.uses.clone(),
    };
    let idempotency_key = idempotency_key(&state.id, call.key, &arguments);
    let still = Still::new(host.grants.clone(), chain.grants.clone(), judged);
    Attempt {
        chain: state.id.clone(),
        plugin: tool.plugin.clone(),
        digest: Some(tool.plugin_digest.clone()),
        tool: tool.tool.clone(),
        call_id: call.id.clone(),
        arguments,
        attempt: started.attempt,
        idempotency_key,
        approved: started.approved,
        answers: answers.collect(),
        state: call.saved.as_ref().and_then(|saved| crate::call::result::from_base64(saved)),
        recorded: call.recording.clone(),
        effects: started.effects,
        held,
        still: Some(Arc::new(still)),
        limits,
        cancel,
        let_go: CancellationToken::new(),
        lease: chain.lease().cloned(),
        watcher: Some(host.observer.clone()),
    }
}
