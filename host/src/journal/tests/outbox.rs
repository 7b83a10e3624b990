//! Notices: written with their event or not at all, claimed by one at a time, kept until a receiver has them.

use std::time::Duration;

use super::on_both_stores;
use super::sample::{Chain, Tested, approved, key, opened, pause, turn};
use crate::capability::requirements::Widened;
use crate::chain::Actor;
use crate::event::Event;
use crate::journal::outbox::{Claimed, PARKED_LASTS, PARKED_MAX, Settled, Which};
use crate::journal::{JournalError, tests::sample::Home};
use crate::notice::{Audience, Listener, REMINDERS_MAX, Topic};

const HOLD: Duration = Duration::from_secs(60);

fn audience(topics: &[Topic]) -> Audience {
    Audience(vec![Listener { channel: "ops".into(), hears: topics.to_vec() }])
}

async fn claim(journal: &dyn Tested) -> Vec<Claimed> {
    journal.claim_notices(&["ops".to_owned()], HOLD).await.unwrap()
}

async fn due(journal: &dyn Tested) -> Vec<String> {
    let listed = journal.notices(100).await.unwrap();
    listed.into_iter().map(|queued| format!("{} {}", queued.what, if queued.parked { "parked" } else { "waits" })).collect()
}

/// As if so much time had passed for what waits.
async fn later(home: &Home, seconds: u32) {
    home.execute(&format!("UPDATE outbox SET due = due - {}", u64::from(seconds) * 1000)).await;
}

/// Open, with a reminder every minute and others who may decide after an hour.
async fn asking(journal: &dyn Tested) -> Chain {
    let mut chain = Chain::started(journal, "ch_1").await;
    let mut pause = pause("pa_1", key(1, 0));
    pause.requirements.remind_seconds = Some(60);
    pause.requirements.escalations = vec![Widened { approvers: Vec::new(), after_seconds: 3600, to: vec![Actor("os:boss@host".into())] }];
    chain.write(journal, vec![turn(1, 1), Event::pause_opened(pause)]).await.unwrap();
    chain
}

on_both_stores! {
    async fn h68_a_notice_is_written_with_its_event_or_not_at_all(home) {
        let journal = home.telling(audience(&[Topic::Pause, Topic::Decided, Topic::Ended]));
        let mut chain = Chain::started(&*journal, "ch_1").await;
        let mut late = chain.clone();
        chain.write(&*journal, vec![turn(1, 1), opened("pa_1", key(1, 0))]).await.unwrap();
        assert!(matches!(late.write(&*journal, vec![Event::ChainCompleted]).await, Err(JournalError::Moved { .. })));
        assert_eq!(due(&*journal).await, ["pause.opened waits"]);
        chain.write(&*journal, vec![approved("pa_1", key(1, 0), "os:bob@host"), Event::ChainCancelled]).await.unwrap();
        let mut all = due(&*journal).await;
        all.sort();
        assert_eq!(all, ["chain.cancelled waits", "pause.decided waits", "pause.opened waits"]);
        let claimed = claim(&*journal).await;
        assert_eq!((claimed.len(), claimed.iter().filter(|claimed| claimed.body.contains("pa_1")).count()), (3, 2));
    }

    async fn nobody_is_told_of_what_nobody_asked_to_hear(home) {
        let journal = home.open();
        asking(&*journal).await;
        assert_eq!(due(&*journal).await, Vec::<String>::new());
        // Whoever knows another channel takes nothing.
        let told = home.telling(Audience(vec![Listener { channel: "other".into(), hears: vec![Topic::Ended] }]));
        let mut chain = Chain::started(&*told, "ch_2").await;
        chain.write(&*told, vec![Event::ChainCompleted]).await.unwrap();
        assert_eq!((claim(&*told).await, due(&*told).await), (Vec::new(), vec!["chain.completed waits".to_owned()]));
    }

    async fn h68_one_delivers_at_a_time_and_what_it_does_not_settle_is_delivered_by_another(home) {
        let journal = home.telling(audience(&[Topic::Pause]));
        let mut chain = Chain::started(&*journal, "ch_1").await;
        let asked: Vec<_> = (0..20).map(|n| opened(&format!("pa_{n}"), key(1, n))).collect();
        chain.write(&*journal, std::iter::once(turn(1, 20)).chain(asked).collect()).await.unwrap();
        let others: Vec<_> = (0..4).map(|_| home.open()).collect();
        let claims = futures_util::future::join_all(others.iter().map(async |other| [claim(&**other).await, claim(&**other).await].concat())).await;
        let mut ids: Vec<_> = claims.iter().flatten().map(|claimed| claimed.id.clone()).collect();
        ids.sort();
        ids.dedup();
        assert_eq!((claims.iter().map(Vec::len).sum::<usize>(), ids.len()), (20, 20), "each was claimed once");

        later(&home, 61).await;
        let again = claim(&*journal).await;
        assert!(again.iter().all(|claimed| claimed.tries == 2 && ids.contains(&claimed.id)), "{again:?}");
        // The first is too late with what it has to say; the second is not.
        let stale = claims.iter().flatten().find(|claimed| claimed.id == again[0].id).unwrap();
        journal.settle_notice(stale, &Settled::Delivered).await.unwrap();
        assert_eq!(due(&*journal).await.len(), 20);
        journal.settle_notice(&again[0], &Settled::Delivered).await.unwrap();
        assert_eq!(due(&*journal).await.len(), 19);
    }

    async fn what_failed_comes_again_later_and_what_is_parked_when_somebody_says_so(home) {
        let journal = home.telling(audience(&[Topic::Ended]));
        let mut chain = Chain::started(&*journal, "ch_1").await;
        chain.write(&*journal, vec![Event::ChainCompleted]).await.unwrap();
        let claimed = claim(&*journal).await.remove(0);
        journal.settle_notice(&claimed, &Settled::Again { after: Duration::from_secs(30), why: "answered\u{0} 503".into() }).await.unwrap();
        assert_eq!(claim(&*journal).await, []);
        later(&home, 31).await;
        let again = claim(&*journal).await.remove(0);
        assert_eq!((&again.id, again.message_id(), again.tries), (&claimed.id, claimed.id.clone(), 2));
        journal.settle_notice(&again, &Settled::Parked { why: "answered 410".into() }).await.unwrap();
        later(&home, 9999).await;
        assert_eq!((claim(&*journal).await, due(&*journal).await), (Vec::new(), vec!["chain.completed parked".to_owned()]));
        assert_eq!(journal.notices(1).await.unwrap()[0].why.as_deref(), Some("answered 410"));
        assert_eq!((journal.retry_notices(&Which::Parked).await.unwrap(), journal.retry_notices(&Which::Parked).await.unwrap()), (1, 0));
        assert_eq!(claim(&*journal).await[0].tries, 1);
    }

    async fn the_operator_says_what_is_tried_again_and_what_nobody_hears_of(home) {
        let journal = home.telling(audience(&[Topic::Pause]));
        let mut chain = Chain::started(&*journal, "ch_1").await;
        let asked: Vec<_> = (0..4).map(|n| opened(&format!("pa_{n}"), key(1, n))).collect();
        chain.write(&*journal, std::iter::once(turn(1, 4)).chain(asked).collect()).await.unwrap();
        let claimed = claim(&*journal).await;
        let [parked, failed, waiting, other] = [0, 1, 2, 3].map(|n: usize| &claimed[n]);
        journal.settle_notice(parked, &Settled::Parked { why: "answered 550".into() }).await.unwrap();
        journal.settle_notice(failed, &Settled::Again { after: Duration::from_secs(3600), why: "answered 450".into() }).await.unwrap();
        let one = |claimed: &Claimed| Which::One(claimed.id.clone());
        let retried = [journal.retry_notices(&one(failed)).await.unwrap(), journal.retry_notices(&one(waiting)).await.unwrap()];
        assert_eq!(retried, [1, 0], "what has not failed is not hurried");
        assert_eq!(claim(&*journal).await.into_iter().map(|claimed| (claimed.id, claimed.tries)).collect::<Vec<_>>(), [(failed.id.clone(), 1)]);
        assert_eq!(journal.discard_notices(&one(other)).await.unwrap(), 1);
        // Whoever was delivering it just then finds nothing to settle.
        journal.settle_notice(other, &Settled::Again { after: Duration::ZERO, why: "late".into() }).await.unwrap();
        assert_eq!(journal.discard_notices(&Which::Parked).await.unwrap(), 1);
        assert_eq!(journal.discard_notices(&Which::Channel("other".into())).await.unwrap(), 0);
        assert_eq!(due(&*journal).await.len(), 2);
        assert_eq!(journal.discard_notices(&Which::Channel("ops".into())).await.unwrap(), 2);
        assert_eq!(due(&*journal).await, Vec::<String>::new());
    }

    async fn what_is_parked_is_kept_for_a_while_and_only_so_many(home) {
        let journal = home.telling(audience(&[Topic::Ended]));
        let park = async |chain: &str| {
            let mut chain = Chain::started(&*journal, chain).await;
            chain.write(&*journal, vec![Event::ChainCompleted]).await.unwrap();
            let claimed = claim(&*journal).await.remove(0);
            journal.settle_notice(&claimed, &Settled::Parked { why: "answered 410".into() }).await.unwrap();
            claimed.id
        };
        let old = park("ch_1").await;
        let lasts = u32::try_from(PARKED_LASTS.as_secs()).unwrap();
        later(&home, lasts - 60).await;
        let young = park("ch_2").await;
        let ids = async || journal.notices(PARKED_MAX + 10).await.unwrap().into_iter().map(|queued| queued.id).collect::<Vec<_>>();
        assert_eq!(ids().await, [old.clone(), young.clone()], "just before its time");
        later(&home, 61).await;
        let last = park("ch_3").await;
        assert_eq!(ids().await, [young.clone(), last.clone()], "just after it");
        // As many as are kept, each parked before these two and after the times above.
        home.execute(&format!(
            "INSERT INTO outbox (id, channel, what, chain, number, body, due, tries, parked)
             WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < {PARKED_MAX})
             SELECT 'no_' || many.n, 'ops', 'x', 'ch_4', 1, '', (SELECT MIN(due) FROM outbox) + 1, 1, (1 = 1) FROM many"
        ))
        .await;
        let newest = park("ch_5").await;
        let kept = ids().await;
        assert_eq!(kept.len(), PARKED_MAX as usize);
        assert!(!kept.contains(&young) && kept.contains(&last) && kept.contains(&newest));
    }

    async fn a_pause_is_reminded_of_again_and_again_until_it_is_over(home) {
        let journal = home.telling(audience(&[Topic::Pause]));
        let mut chain = asking(&*journal).await;
        let first = claim(&*journal).await;
        assert_eq!(first.len(), 1, "the others come due later: {first:?}");
        journal.settle_notice(&first[0], &Settled::Delivered).await.unwrap();
        let mut ids = Vec::new();
        for number in 1..=3 {
            assert_eq!(claim(&*journal).await, []);
            later(&home, 60).await;
            let reminder = claim(&*journal).await.remove(0);
            assert!(reminder.number == number && reminder.body.contains("pause.reminder"), "{reminder:?}");
            ids.push(reminder.message_id());
            journal.settle_notice(&reminder, &Settled::Delivered).await.unwrap();
        }
        assert_eq!(ids, [ids[0].clone(), format!("{}-2", ids[0]), format!("{}-3", ids[0])]);
        later(&home, 3600).await;
        let mut told: Vec<_> = claim(&*journal).await.into_iter().map(|claimed| claimed.body.contains("pause.escalated")).collect();
        told.sort_unstable();
        assert_eq!(told, [false, true], "the reminder and the escalation");
        chain.write(&*journal, vec![approved("pa_1", key(1, 0), "os:bob@host")]).await.unwrap();
        later(&home, 9999).await;
        assert_eq!((claim(&*journal).await, due(&*journal).await), (Vec::new(), Vec::<String>::new()));
    }

    async fn reminders_of_what_is_over_do_not_stand_in_the_way(home) {
        let journal = home.telling(audience(&[Topic::Pause]));
        let mut chain = asking(&*journal).await;
        let asked = |n: u32| {
            let mut pause = pause(&format!("pa_over{n}"), key(1, 0));
            pause.requirements.remind_seconds = Some(30);
            pause
        };
        let over: Vec<_> = (0..200).map(asked).collect();
        let closed = over.iter().map(|pause| approved(&pause.id.0, key(1, 0), "os:bob@host")).collect::<Vec<_>>();
        chain.write(&*journal, over.into_iter().map(Event::pause_opened).collect()).await.unwrap();
        chain.write(&*journal, closed).await.unwrap();
        home.execute("DELETE FROM outbox WHERE while_open IS NULL").await;
        later(&home, 61).await;
        assert_eq!(claim(&*journal).await.iter().filter(|claimed| claimed.body.contains("pause.reminder")).count(), 1);
        for _ in 0..4 {
            assert_eq!(claim(&*journal).await, []);
        }
        assert_eq!(due(&*journal).await, ["pause.reminder waits", "pause.escalated waits"], "and go in time");
    }

    async fn reminders_have_an_end(home) {
        let journal = home.telling(audience(&[Topic::Pause]));
        asking(&*journal).await;
        home.execute(&format!("UPDATE outbox SET number = {REMINDERS_MAX} WHERE every IS NOT NULL")).await;
        later(&home, 60).await;
        for claimed in claim(&*journal).await {
            journal.settle_notice(&claimed, &Settled::Delivered).await.unwrap();
        }
        assert_eq!(due(&*journal).await, ["pause.escalated waits"]);
    }
}
