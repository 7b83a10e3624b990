//! Hears from the database that some chain can go on: a hint, so that workers need not wait for their next look.
//!
//! A connection of its own, which asks itself something now and then: one that died without a word is found out and
//! made anew. Whoever waits for a hint must look by itself all the same.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio_postgres::AsyncMessage;

use super::Shared;
use super::fault::Failure;
use super::pool::heard;
use crate::clock::Clock;

/// Between two questions to itself, and for the answer to one.
const SELF_TEST: Duration = Duration::from_secs(5);
/// Between two connections: the server may be restarting.
const AGAIN: Duration = Duration::from_secs(1);
/// Hints waiting to be looked at; one says as much as many.
const HEARD_MAX: usize = 64;

pub struct Listener {
    pub woken: Arc<Notify>,
    task: tokio::task::JoinHandle<()>,
}

impl Listener {
    pub fn start(shared: &Arc<Shared>) -> Self {
        let woken = Arc::new(Notify::new());
        let task = tokio::spawn(listen(Arc::downgrade(shared), woken.clone()));
        Self { woken, task }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(shared: Weak<Shared>, woken: Arc<Notify>) {
    while let Some(shared) = shared.upgrade() {
        let own = format!("pausegate_{}", Clock::nonce().to_lowercase());
        let _ = until_dead(&shared, &own, &woken).await;
        drop(shared);
        tokio::time::sleep(AGAIN).await;
    }
}

async fn until_dead(shared: &Shared, own: &str, woken: &Notify) -> Result<(), Failure> {
    let (client, mut wire) = shared.pool.connect().await?;
    let (hear, mut hints) = mpsc::channel(HEARD_MAX);
    let drive = tokio::spawn(async move {
        while let Some(message) = heard(&mut wire).await {
            if let AsyncMessage::Notification(hint) = message {
                // A full queue holds a hint already.
                let _ = hear.try_send(hint.channel().to_owned());
            }
        }
    });
    let _stop = Stop(drive);
    client.batch_execute(&format!("LISTEN pausegate; LISTEN {own}")).await?;
    // What happened while nobody listened.
    woken.notify_one();
    let mut answered = true;
    loop {
        tokio::select! {
            hint = hints.recv() => match hint {
                Some(channel) if channel == own => answered = true,
                Some(_) => woken.notify_one(),
                None => return Ok(()),
            },
            () = tokio::time::sleep(SELF_TEST) => {
                if !std::mem::replace(&mut answered, false) {
                    return Err(Failure::Silent);
                }
                tokio::time::timeout(SELF_TEST, client.batch_execute(&format!("NOTIFY {own}"))).await.map_err(|_| Failure::Silent)??;
            }
        }
    }
}

struct Stop(tokio::task::JoinHandle<()>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
