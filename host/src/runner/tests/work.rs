//! Workers: every chain that can go on is carried on once, and what waits for something that was mended too.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::twins::{World, pauses, rule, say, turn};
use crate::capability::{Grants, Verdict};
use crate::chain::{ChainId, ChainStatus};
use crate::journal::JournalError;
use crate::journal::tests::sample::Home;
use crate::model::ModelError;
use crate::runner::{HostError, InForce, Overseer, Report, Work};

#[derive(Default)]
struct Told {
    rested: Mutex<Vec<(ChainId, String)>>,
    /// Cancelled once this many came to rest.
    until: Option<(usize, CancellationToken)>,
}

impl Overseer for Told {
    fn rested(&self, chain: &ChainId, ended: &Result<Report, HostError>) {
        let said = match ended {
            Ok(report) => format!("{:?}", report.rest).chars().take_while(|c| c.is_alphanumeric()).collect(),
            Err(error) => error.to_string(),
        };
        let mut rested = self.rested.lock().unwrap();
        rested.push((chain.clone(), said));
        if let Some((count, token)) = &self.until
            && rested.len() >= *count
        {
            token.cancel();
        }
    }

    fn unreachable(&self, error: &JournalError) {
        panic!("{error}");
    }
}

/// Grants that an operator edits.
struct Edited(Mutex<Arc<Grants>>);

impl InForce for Edited {
    fn settled(&self) -> BoxFuture<'_, Arc<Grants>> {
        Box::pin(std::future::ready(self.latest()))
    }

    fn latest(&self) -> Arc<Grants> {
        self.0.lock().unwrap().clone()
    }
}

fn once(workers: usize) -> Work {
    Work { workers, once: true, places: Vec::new(), look: Duration::from_millis(50) }
}

/// One worker, until it finds nothing to do.
pub async fn once_through(world: &World, home: &Home) {
    let host = crate::runner::Host { journal: home.open(), recent: Arc::default(), ..world.host.clone() };
    host.work(&once(2), &Told::default(), CancellationToken::new()).await.unwrap();
}

/// Each chain calls the one tool and is done.
fn world(home: &Home, tool: &str, rules: Vec<crate::capability::Rule>) -> World {
    let mut world = World::with_rules(json!([turn(&[tool]), say("done")]), rules);
    world.host.journal = home.open();
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_workers_on_both_stores_run_each_chain_once() {
    for home in [Home::sqlite(), Home::postgres()] {
        let world = world(&home, "ok", Vec::new());
        for _ in 0..12 {
            world.start().await;
        }
        let workers = (0..3).map(|_| {
            let host = crate::runner::Host { journal: home.open(), recent: Arc::default(), ..world.host.clone() };
            async move {
                let told = Told::default();
                host.work(&once(4), &told, CancellationToken::new()).await.unwrap();
                told.rested.into_inner().unwrap()
            }
        });
        let rested: Vec<_> = futures_util::future::join_all(workers).await.into_iter().flatten().collect();
        assert_eq!(rested.len(), 12, "{rested:?}");
        let rows = world.host.journal.chains(100).await.unwrap();
        assert!(rows.iter().all(|row| row.status == ChainStatus::Completed && row.calls == 1), "{rows:?}");
        assert_eq!(world.ran().len(), 12, "{:?}", world.ran());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w64_one_edit_of_a_rule_frees_all_that_waited_on_it_without_a_restart() {
    for home in [Home::sqlite(), Home::postgres()] {
        let mut world = world(&home, "ok", vec![rule("t__ok", Verdict::Ask)]);
        let grants = Arc::new(Edited(Mutex::new(world.host.grants.latest())));
        world.host.grants = grants.clone();
        for _ in 0..3 {
            world.start().await;
        }
        let stop = CancellationToken::new();
        let told = Told { until: Some((6, stop.clone())), ..Told::default() };
        let edited = async {
            while told.rested.lock().unwrap().len() < 3 {
                tokio::task::yield_now().await;
            }
            assert_eq!(world.host.journal.pending(10).await.unwrap().len(), 3);
            *grants.0.lock().unwrap() = Arc::default();
        };
        let work = Work { once: false, ..once(2) };
        let (worked, ()) = tokio::join!(world.host.work(&work, &told, stop.clone()), edited);
        worked.unwrap();
        let rows = world.host.journal.chains(10).await.unwrap();
        assert!(rows.iter().all(|row| row.status == ChainStatus::Completed), "{rows:?}");
        assert_eq!((world.ran().len(), rows.len()), (3, 3));
    }
}

#[tokio::test]
async fn a_worker_that_starts_takes_up_what_waits_for_what_it_has_and_leaves_the_rest() {
    let home = Home::sqlite();
    let world = world(&home, "ask", Vec::new());
    let (first, second) = (world.run().await, world.run().await);
    world.decide(&pauses(&first.state)[0].id, json!({"decision": "approve"})).await.unwrap();
    let told = Told::default();
    world.host.work(&once(1), &told, CancellationToken::new()).await.unwrap();
    assert_eq!(told.rested.into_inner().unwrap(), [(first.state.id.clone(), "Completed".to_owned())]);
    let epochs: Vec<_> = world.host.journal.events(&second.state.id, 0).await.unwrap().iter().map(|event| event.epoch).collect();
    assert_eq!(epochs.last(), Some(&1), "a chain that would wait here too is not touched");
}

#[tokio::test]
async fn a_chain_whose_model_is_away_is_left_alone_for_a_while_and_holds_nobody_up() {
    let home = Home::sqlite();
    let mut world = world(&home, "ok", Vec::new());
    world.host.models = Arc::new(|_| Err(ModelError::NotChosen));
    let id = world.start().await;
    let told = Told::default();
    world.host.work(&once(1), &told, CancellationToken::new()).await.unwrap();
    assert_eq!(told.rested.into_inner().unwrap(), [(id, "ModelAway".to_owned())], "tried once, then left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_worker_lets_its_chains_go_in_order_and_another_goes_on() {
    for home in [Home::sqlite(), Home::postgres()] {
        let world = world(&home, "wait", Vec::new());
        let id = world.start().await;
        let stop = CancellationToken::new();
        let told = Told::default();
        let stopped = async {
            while world.ran().is_empty() {
                tokio::task::yield_now().await;
            }
            stop.cancel();
        };
        let work = Work { once: false, ..once(1) };
        let (worked, ()) = tokio::join!(world.host.work(&work, &told, stop.clone()), stopped);
        worked.unwrap();
        assert_eq!(told.rested.into_inner().unwrap(), [(id.clone(), "Interrupted".to_owned())]);
        // Ready again, and free at once.
        let hold = home.open().take(&id).await.unwrap();
        hold.let_go().await;
        let row = &home.open().chains(1).await.unwrap()[0];
        assert_eq!((row.status, row.held_by.clone()), (ChainStatus::Runnable, None));
    }
}
