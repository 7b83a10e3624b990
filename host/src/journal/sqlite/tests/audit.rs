//! What an audit finds, with a head kept elsewhere and without one, in the database and in an export.

use super::sample::{Chain, Home, finished, key, opened, said, turn};
use crate::call::CallStatus;
use crate::chain::ChainId;
use crate::journal::audit::{Heads, HeadsError, Walk, verify};
use crate::journal::export::{Line, Read, Reader, export};
use crate::journal::record::{Hash, NO_HASH};
use crate::journal::records::{HEADS_MAX, Head, RECORDS_MAX, Records};
use crate::journal::sqlite::read;
use crate::journal::{Journal, JournalError, SqliteJournal};

/// Two chains; `ch_1` of six events.
async fn journal(home: &Home) -> SqliteJournal {
    let journal = home.open();
    let mut chain = Chain::started(&journal, "ch_1").await;
    chain.write(&journal, vec![turn(1, 2), opened("pa_1", key(1, 0)), said("wait")]).await.unwrap();
    chain.write(&journal, vec![finished(key(1, 1), CallStatus::Failed), said("and now?")]).await.unwrap();
    Chain::started(&journal, "ch_2").await;
    journal
}

async fn findings(journal: &SqliteJournal, kept: Option<&Heads>) -> Vec<String> {
    let mut found = Vec::new();
    for head in Heads::of(journal).await.unwrap().chains {
        let kept = kept.and_then(|heads| heads.chains.iter().find(|kept| kept.chain == head.chain)).cloned();
        found.extend(texts(&verify(journal, &head, kept).await.unwrap()));
    }
    found
}

fn texts(walk: &Walk) -> Vec<String> {
    walk.findings.iter().map(|finding| format!("{}: {finding}", finding.chain)).collect()
}

#[tokio::test]
async fn an_edit_a_gap_a_reorder_and_wrong_hashes_are_named_where_they_are() {
    for (damage, expected) in [
        ("", ""),
        ("UPDATE event SET payload = replace(payload, '/a', '/b') WHERE seq = 2", "ch_1: event 2 is not what was written there"),
        ("UPDATE event SET kind = 'ChainFailed' WHERE seq = 4", "ch_1: event 4 is not what was written there"),
        ("UPDATE event SET payload = CAST(x'ff22' AS TEXT) WHERE seq = 4", "ch_1: event 4 is not what was written there"),
        ("UPDATE event SET hash = x'00' WHERE seq = 3", "ch_1: event 3 is not what was written there"),
        ("DELETE FROM event WHERE seq = 1 AND chain = 'ch_1'", "ch_1: event 1 is missing"),
        ("DELETE FROM event WHERE seq = 3", "ch_1: event 3 is missing"),
        ("DELETE FROM event WHERE seq > 4", "ch_1: events 5 to 6 were cut off"),
        ("DELETE FROM event WHERE seq = 6", "ch_1: event 6, its last, was cut off"),
        // Two that changed places: their numbers are hashed too.
        (
            "UPDATE event SET seq = 99 WHERE seq = 3; UPDATE event SET seq = 3 WHERE seq = 4; UPDATE event SET seq = 4 WHERE seq = 99",
            "ch_1: event 3 is not what was written there",
        ),
        // Another chain's event, under its own hash.
        (
            "DELETE FROM event WHERE chain = 'ch_1' AND seq = 1; UPDATE event SET chain = 'ch_1' WHERE chain = 'ch_2'",
            "ch_1: event 1 is not what was written there",
        ),
        ("UPDATE chain SET head_hash = x'00' WHERE id = 'ch_1'", "ch_1: event 6, its last, has another hash than where the chain is said to end"),
        ("DELETE FROM chain WHERE id = 'ch_1'; DELETE FROM event WHERE seq = 3", "ch_1: event 3 is missing"),
    ] {
        let home = Home::new();
        let journal = journal(&home).await;
        home.sql().execute_batch(damage).unwrap();
        assert_eq!(findings(&journal, None).await.first().map_or("", String::as_str), expected, "{damage}");
    }
}

#[tokio::test]
async fn rows_that_are_not_the_fold_of_the_events_are_a_line_of_their_own() {
    let home = Home::new();
    let journal = journal(&home).await;
    home.sql().execute_batch("UPDATE chain SET title = 'nothing to see' WHERE id = 'ch_2'; DELETE FROM pause").unwrap();
    let found = findings(&journal, None).await;
    assert_eq!(found.len(), 2, "{found:?}");
    for (found, chain) in found.iter().zip(["ch_1", "ch_2"]) {
        assert!(found.starts_with(&format!("{chain}: what lists are made of differs from its events (")), "{found}");
    }
    journal.rebuild_projections().await.unwrap();
    assert_eq!(findings(&journal, None).await, [""; 0]);
}

/// Writes the hashes of a chain anew, and its row, as somebody would who can write the database.
fn forge(home: &Home, chain: &str) {
    let sql = home.sql();
    let id = ChainId(chain.to_owned());
    let mut prev = NO_HASH;
    let mut seq = 0;
    for stored in read::records(&sql, &id).unwrap() {
        let hash: Hash = stored.record.hash(&id, &prev);
        seq = stored.record.seq as i64;
        sql.execute("UPDATE event SET prev_hash = ?1, hash = ?2 WHERE chain = ?3 AND seq = ?4", (prev, hash, chain, seq)).unwrap();
        prev = hash;
    }
    sql.execute("UPDATE chain SET head = ?1, head_hash = ?2 WHERE id = ?3", (seq, prev, chain)).unwrap();
}

#[tokio::test]
async fn h65_a_tail_that_was_cut_off_shows_against_a_head_kept_elsewhere() {
    let home = Home::new();
    let journal = journal(&home).await;
    let kept = Heads::of(&journal).await.unwrap();
    assert_eq!(findings(&journal, Some(&kept)).await, [""; 0]);

    home.sql().execute_batch("DELETE FROM event WHERE chain = 'ch_1' AND seq > 3").unwrap();
    forge(&home, "ch_1");
    journal.rebuild_projections().await.unwrap();
    assert_eq!(findings(&journal, None).await, [""; 0], "nothing in the journal itself shows it");
    assert_eq!(findings(&journal, Some(&kept)).await, ["ch_1: events 4 to 6 were cut off"]);

    // Written on from there, it is as long as it was.
    let events = journal.events(&ChainId("ch_1".into()), 0).await.unwrap();
    let mut chain = Chain::new("ch_1");
    chain.state = crate::state::ChainState::fold(chain.id.clone(), &events);
    chain.write(&journal, vec![said("a"), said("b"), said("c"), said("d")]).await.unwrap();
    let expected = "ch_1: event 6 has another hash than in the kept head: the chain was written anew";
    assert_eq!(findings(&journal, Some(&kept)).await, [expected]);
}

#[tokio::test]
async fn a_chain_that_was_written_anew_from_its_middle_shows_against_a_kept_head() {
    let home = Home::new();
    let journal = journal(&home).await;
    let kept = Heads::of(&journal).await.unwrap();
    home.sql().execute_batch("UPDATE event SET payload = replace(payload, '/a', '/b') WHERE seq = 2").unwrap();
    forge(&home, "ch_1");
    journal.rebuild_projections().await.unwrap();
    assert_eq!(findings(&journal, None).await, [""; 0]);
    let expected = "ch_1: event 6 has another hash than in the kept head: the chain was written anew";
    assert_eq!(findings(&journal, Some(&kept)).await, [expected]);
}

#[tokio::test]
async fn what_was_written_after_a_head_was_kept_is_sound() {
    let home = Home::new();
    let journal = journal(&home).await;
    let kept = Heads::of(&journal).await.unwrap();
    Chain::started(&journal, "ch_3").await;
    let mut chain = Chain::new("ch_2");
    chain.state = crate::state::ChainState::fold(chain.id.clone(), &journal.events(&chain.id, 0).await.unwrap());
    chain.write(&journal, vec![said("more")]).await.unwrap();
    assert_eq!(findings(&journal, Some(&kept)).await, [""; 0]);
}

#[tokio::test]
async fn events_of_a_kind_that_is_not_known_are_verified_and_counted_apart() {
    let home = Home::new();
    let journal = journal(&home).await;
    home.sql().execute_batch("UPDATE event SET kind = 'MoonPhased' WHERE seq IN (2, 4)").unwrap();
    forge(&home, "ch_1");
    let head = journal.last(&ChainId("ch_1".into())).await.unwrap().unwrap();
    let walk = verify(&journal, &head, None).await.unwrap();
    assert_eq!((walk.events, walk.unreadable, texts(&walk)), (6, 2, Vec::new()));
    assert_eq!(walk.first_unreadable, Some((2, "`MoonPhased`: unknown variant `MoonPhased`".to_owned())));
}

#[tokio::test]
async fn every_event_and_chain_is_gone_through_page_by_page() {
    let home = Home::new();
    let journal = home.open();
    let mut chain = Chain::started(&journal, "ch_long").await;
    let more = RECORDS_MAX * 2 + 3;
    chain.write(&journal, (0..more).map(|number| said(&number.to_string())).collect()).await.unwrap();
    for number in 0..HEADS_MAX {
        Chain::started(&journal, &format!("ch_{number}")).await;
    }
    let heads = Heads::of(&journal).await.unwrap();
    assert_eq!(heads.chains.len(), HEADS_MAX + 1);
    let walk = verify(&journal, heads.chains.iter().find(|head| head.chain == chain.id).unwrap(), None).await.unwrap();
    assert_eq!((walk.events, walk.is_sound()), (more as u64 + 1, true));
}

#[tokio::test]
async fn a_kept_head_that_was_changed_is_refused() {
    let home = Home::new();
    let text = serde_json::to_string(&Heads::of(&journal(&home).await).await.unwrap()).unwrap();
    assert!(Heads::read(&text).is_ok());
    assert!(matches!(Heads::read(&text.replace(r#""seq":6"#, r#""seq":3"#)), Err(HeadsError::Digest)));
    assert!(matches!(Heads::read(&text.replace(r#""version":1"#, r#""version":2"#)), Err(HeadsError::Version(2))));
    for text in ["", "{}", "[]", "ch_1 6 abcd", &text[..text.len() - 1], &text.replace("\"hash\":\"", "\"hash\":\"zz")] {
        assert!(matches!(Heads::read(text), Err(HeadsError::Form(_))), "{text}");
    }
}

/// Another program computed it from the form that is written down at [`Heads`].
#[test]
fn the_digest_of_heads_stays_the_same() {
    let head = |chain: &str, seq, byte| Head { chain: ChainId(chain.into()), seq, hash: [byte; 32] };
    let heads = Heads::new(vec![head("ch_1", 6, 0xab), head("ch_2", 1, 0)]);
    assert_eq!(heads.digest.to_string(), "sha256:e88c38d6ee3f62cb676273f1fb2c6d766821ab974d5562ca6de798612f0ba0ec");
}

async fn exported(journal: &SqliteJournal) -> Vec<String> {
    let mut lines = Vec::new();
    for head in Heads::of(journal).await.unwrap().chains {
        let mut write = |line: &Line| {
            lines.push(serde_json::to_string(line).unwrap());
            Ok(())
        };
        assert_eq!(export(journal, &head.chain, &mut write).await.unwrap(), head);
    }
    lines
}

/// What is wrong with an export, and how many chains it holds.
fn checked(lines: &[String], kept: Option<&Heads>) -> (usize, Vec<String>) {
    let kept = |chain: &ChainId| kept?.chains.iter().find(|head| head.chain == *chain).cloned();
    let mut reader = Reader::new(kept);
    let mut read: Vec<_> = lines.iter().flat_map(|line| reader.line(line)).collect();
    read.extend(reader.over());
    let (mut chains, mut found) = (0, Vec::new());
    for read in read {
        match read {
            Read::Chain(walk) => {
                chains += 1;
                found.extend(texts(&walk));
            }
            Read::Torn(walk) => {
                found.extend(texts(&walk));
                found.push(format!("{} is torn", walk.chain));
            }
            Read::Stray(what) => found.push(what),
        }
    }
    (chains, found)
}

#[tokio::test]
async fn an_export_is_verified_without_the_database() {
    let home = Home::new();
    let journal = journal(&home).await;
    let kept = Heads::of(&journal).await.unwrap();
    let lines = exported(&journal).await;
    assert_eq!(lines.len(), 6 + 1 + 1 + 1);
    assert_eq!(checked(&lines, Some(&kept)), (2, Vec::new()));

    let check = |change: &dyn Fn(&mut Vec<String>), expected: &[&str]| {
        let mut changed = lines.clone();
        change(&mut changed);
        assert_eq!(checked(&changed, Some(&kept)).1, expected);
    };
    check(&|lines| lines[1] = lines[1].replace("/a", "/b"), &["ch_1: event 2 is not what was written there"]);
    check(&|lines| drop(lines.remove(2)), &["ch_1: event 3 is missing"]);
    check(&|lines| lines.swap(2, 3), &["ch_1: event 3 is missing"]);
    check(&|lines| lines.insert(2, lines[1].clone()), &["ch_1: event 2 stands where another belongs"]);
    check(&|lines| drop(lines.drain(3..6)), &["ch_1: events 4 to 6 were cut off"]);
    check(&|lines| drop(lines.remove(6)), &["ch_1 is torn"]);
    check(&|lines| lines.truncate(4), &["ch_1: events 5 to 6 were cut off", "ch_1 is torn"]);
    check(&|lines| lines.push(lines[0].clone()), &["chain ch_1 had ended before"]);
    check(&|lines| lines.push("{}".to_owned()), &["it is no line of an export"]);
    check(&|lines| lines.push(lines[6].clone()), &["chain ch_1 ends that had not begun"]);
    check(
        &|lines| lines[0] = lines[0].replace("ch_1", "ch_0"),
        &["ch_0: event 1 is not what was written there", "ch_0 is torn", "ch_1: event 1 is missing"],
    );
}

#[tokio::test]
async fn h64_a_row_that_was_tampered_with_is_plain_data_and_never_carried_on() {
    let bomb = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for payload in ["null", "{}", r#"{"$type":"x"}"#, "9e999", "\"\\ud800\"", bomb.as_str(), ""] {
        let home = Home::new();
        let journal = journal(&home).await;
        home.sql().execute("UPDATE event SET payload = ?1 WHERE seq = 2", [payload]).unwrap();
        let id = ChainId("ch_1".into());
        assert!(matches!(journal.events(&id, 0).await, Err(JournalError::Damaged { seq: 2, .. })), "{payload:.20}");
        // Under hashes of its own it still becomes no event.
        forge(&home, "ch_1");
        assert!(matches!(journal.events(&id, 0).await, Err(JournalError::Unreadable { seq: 2, .. })), "{payload:.20}");
    }
    // What lists show is no source of anything: a status or a title decides nothing.
    let home = Home::new();
    let journal = journal(&home).await;
    home.sql().execute_batch("UPDATE chain SET status = 'completed', title = 'x', epoch = 40; UPDATE call SET status = 'ready'").unwrap();
    let events = journal.events(&ChainId("ch_1".into()), 0).await.unwrap();
    let state = crate::state::ChainState::fold(ChainId("ch_1".into()), &events);
    assert!(!state.status.is_terminal());
    assert_eq!(state.calls[&key(1, 0)].status, CallStatus::Paused);
}
