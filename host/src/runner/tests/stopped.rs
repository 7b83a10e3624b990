//! A chain that is stopped while calls run: what was started ends as it does, nothing else begins, and the end comes last.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::life::until;
use super::twins::{World, alice, calls, done, pauses, pausing, say, tool, turn};
use crate::call::{CallStatus, Effects};
use crate::capability::Grants;
use crate::chain::{ChainId, ChainStatus};
use crate::event::Event;
use crate::pause::{Ask, PauseStatus};
use crate::runner::{HostError, Report, Rest, Resume};

/// `ask` is paused, `slow` and `late` run until they are let through, `ok` waits for room.
struct Running {
    world: World,
    id: ChainId,
    slow: Arc<Semaphore>,
    late: Arc<Semaphore>,
    worker: JoinHandle<Result<Report, HostError>>,
}

impl Running {
    async fn new() -> Self {
        let (slow, late) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let gates = (slow.clone(), late.clone());
        let turns = json!([turn(&["ask", "slow", "late", "ok"]), say("never")]);
        let mut world = World::with(turns, Grants::default(), move |attempt| {
            let (tool, (slow, late)) = (attempt.tool.clone(), gates.clone());
            Box::pin(async move {
                match tool.as_str() {
                    "slow" => {
                        slow.acquire().await.unwrap().forget();
                        done("slow")
                    }
                    "late" => {
                        late.acquire().await.unwrap().forget();
                        pausing("approval", Ask::Approval)
                    }
                    "ask" => pausing("approval", Ask::Approval),
                    _ => done("ok"),
                }
            })
        });
        world.settings.parallel_calls = 2;
        world.plugins.tools.lock().unwrap().extend(["slow", "late"].map(|name| tool(name, Effects::Once)));
        let id = world.start().await;
        let worker = tokio::spawn({
            let (host, id) = (world.host.clone(), id.clone());
            async move { host.resume(&id, &alice(), Resume::default(), CancellationToken::new()).await }
        });
        until(|| !pauses(&world.journal.state(&id)).is_empty() && world.ran().len() == 3).await;
        Self { world, id, slow, late, worker }
    }

    fn status(&self) -> ChainStatus {
        self.world.journal.state(&self.id).status
    }

    fn of(&self, ordinal: usize) -> CallStatus {
        self.world.journal.state(&self.id).calls.values().nth(ordinal).unwrap().status
    }

    /// One started call ends after the other; the chain ends with the last of them, and nothing came after.
    async fn ends_as(self, asked: &str, end: ChainStatus) {
        until(|| self.of(3) == CallStatus::Cancelled).await;
        assert_eq!((self.of(1), self.of(2)), (CallStatus::Started, CallStatus::Started));
        assert_ne!(self.status(), end, "two calls are under way");
        self.slow.add_permits(1);
        until(|| self.of(1) == CallStatus::Succeeded).await;
        assert_eq!((self.of(2), self.status() == end), (CallStatus::Started, false), "one call is under way");
        self.late.add_permits(1);
        let report = self.worker.await.unwrap().unwrap();
        assert!(if end == ChainStatus::Rejected { matches!(report.rest, Rest::Rejected) } else { matches!(report.rest, Rest::Cancelled) });
        let state = self.world.journal.state(&self.id);
        assert_eq!(state.status, end);
        let came: Vec<_> = calls(&state).iter().map(|call| call.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(came, [asked, "slow succeeded", "late cancelled", "ok cancelled"]);
        assert!(calls(&state)[1].ends_with(" slow"), "its result is kept: {:?}", calls(&state));
        assert_eq!(self.world.ran(), ["ask#1", "slow#1", "late#1"], "nothing new starts");
        assert_eq!((state.open_pauses().count(), self.world.model.asked().len()), (0, 1));
        let events = self.world.journal.stamped(&self.id);
        assert!(matches!(events.last().unwrap().event, Event::ChainRejected | Event::ChainCancelled), "{:?}", events.last());
        let ends = events.iter().filter(|event| matches!(event.event, Event::ChainRejected | Event::ChainCancelled));
        assert_eq!(ends.count(), 1);
    }
}

#[tokio::test]
async fn d09_a_denial_that_stops_lets_started_siblings_end_and_rejects_after_the_last() {
    let running = Running::new().await;
    let pause = pauses(&running.world.journal.state(&running.id))[0].id.clone();
    let state = running.world.decide(&pause, json!({"decision": "deny", "then": "stop"})).await.unwrap();
    assert_eq!(state.pauses.iter().map(|pause| pause.status).collect::<Vec<_>>(), [PauseStatus::Denied]);
    running.ends_as("ask denied", ChainStatus::Rejected).await;
}

#[tokio::test]
async fn d09_a_cancel_lets_started_siblings_end_and_cancels_after_the_last() {
    let running = Running::new().await;
    running.world.host.cancel(&running.id, &alice(), None).await.unwrap();
    running.ends_as("ask cancelled", ChainStatus::Cancelled).await;
}
