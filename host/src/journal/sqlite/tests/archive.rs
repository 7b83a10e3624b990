//! Chains taken out of the database, the room they leave, and how the database is.

use super::sample::{Chain, Home, key, opened, said, started, turn};
use crate::chain::ChainId;
use crate::event::Event;
use crate::journal::archive::choose;
use crate::journal::records::{Head, Records};
use crate::journal::{Journal, SqliteJournal};

fn carrying_on(parent: &str) -> Event {
    match started("and then?") {
        Event::ChainStarted { started_by, settings, tools, messages, .. } => {
            Event::ChainStarted { started_by, settings, tools, messages, continues: Some(ChainId(parent.into())), forked: None, parent: None }
        }
        _ => unreachable!(),
    }
}

async fn ended(journal: &SqliteJournal, id: &str) -> Chain {
    let mut chain = Chain::started(journal, id).await;
    chain.write(journal, vec![turn(1, 1), said(&"x".repeat(10_000)), Event::ChainCompleted]).await.unwrap();
    chain
}

async fn head(journal: &SqliteJournal, id: &str) -> Head {
    journal.last(&ChainId(id.into())).await.unwrap().unwrap()
}

async fn ids(journal: &SqliteJournal) -> Vec<String> {
    let mut ids: Vec<_> = journal.chains(100).await.unwrap().into_iter().map(|row| row.id.0).collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn only_a_chain_that_ended_and_stands_where_it_was_written_out_is_taken_out() {
    let home = Home::new();
    let journal = home.open();
    ended(&journal, "ch_ended").await;
    ended(&journal, "ch_carried_on").await;
    let mut open = Chain::started(&journal, "ch_open").await;
    open.write(&journal, vec![turn(1, 1), opened("pa_1", key(1, 0))]).await.unwrap();
    let mut child = Chain::new("ch_child");
    child.write(&journal, vec![carrying_on("ch_carried_on")]).await.unwrap();
    let values = "INSERT INTO keyvalue VALUES ('p', 'ch_ended', 1, 'k', x'00', 1), ('p', 'ch_open', 1, 'k', x'00', 1), ('p', '', 1, 'k', x'00', 1)";
    home.sql().execute_batch(values).unwrap();

    let stale = Head { seq: 2, ..head(&journal, "ch_ended").await };
    assert_eq!(journal.remove(vec![stale]).await.unwrap(), []);
    let mut heads = Vec::new();
    for id in ["ch_open", "ch_carried_on", "ch_child", "ch_ended"] {
        heads.push(head(&journal, id).await);
    }
    assert_eq!(journal.remove(heads).await.unwrap(), [ChainId("ch_ended".into())]);
    assert_eq!(ids(&journal).await, ["ch_carried_on", "ch_child", "ch_open"]);
    let sql = home.sql();
    let left =
        |table: &str| sql.query_row(&format!("SELECT count(*) FROM {table} WHERE chain = 'ch_ended'"), [], |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(["event", "call", "pause", "keyvalue", "plugin_need"].map(left), [0; 5]);
    assert_eq!(sql.query_row("SELECT count(*) FROM keyvalue", [], |row| row.get::<_, u32>(0)).unwrap(), 2);
    assert_eq!(journal.projection_differences().await.unwrap(), [""; 0]);
    assert_eq!(journal.pending(100).await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_carries_a_chain_on_is_read_off_its_first_event() {
    let home = Home::new();
    let journal = home.open();
    ended(&journal, "ch_parent").await;
    ended(&journal, "ch_alone").await;
    let mut child = Chain::new("ch_child");
    child.write(&journal, vec![carrying_on("ch_parent")]).await.unwrap();
    let mut damaged = Chain::new("ch_damaged");
    damaged.write(&journal, vec![carrying_on("ch_parent")]).await.unwrap();
    home.sql().execute_batch("UPDATE event SET payload = '{' WHERE chain = 'ch_damaged'").unwrap();
    let continued = journal.continued().await.unwrap();
    assert_eq!(continued, [(ChainId("ch_child".into()), ChainId("ch_parent".into()))]);
    let choice = choose(&journal.chains(100).await.unwrap(), &continued, "2027-01-01T00:00:00Z".parse().unwrap());
    assert_eq!((choice.go, choice.needed), (vec![ChainId("ch_alone".into())], vec![ChainId("ch_parent".into())]));
}

#[tokio::test]
async fn room_is_given_back_where_much_of_the_file_is_empty() {
    let home = Home::new();
    let journal = home.open();
    let mut heads = Vec::new();
    for number in 0..40 {
        let id = format!("ch_{number}");
        ended(&journal, &id).await;
        heads.push(head(&journal, &id).await);
    }
    let kept = heads.split_off(39);
    let pages = || home.sql().pragma_query_value(None, "page_count", |row| row.get::<_, u32>(0)).unwrap();
    let before = pages();
    assert_eq!(journal.remove(heads).await.unwrap().len(), 39);
    assert!(journal.compact().await.unwrap());
    assert!(pages() * 2 < before, "{} of {before} pages", pages());
    assert_eq!(journal.last(&kept[0].chain).await.unwrap(), kept.into_iter().next());
    // Nothing to gain: nothing is written anew.
    let file = std::fs::read(home.path()).unwrap();
    assert!(journal.compact().await.unwrap());
    assert_eq!(std::fs::read(home.path()).unwrap(), file);
}

#[tokio::test]
async fn health_names_what_is_wrong_and_who_was_left_behind() {
    let home = Home::new();
    let absent = SqliteJournal::open_existing(&home.path(), super::sample::clock()).unwrap();
    assert!(absent.health().await.unwrap().is_none());
    assert!(!home.path().exists());
    let journal = home.open();
    let held = Chain::started(&journal, "ch_held").await;
    Chain::started(&journal, "ch_left").await;
    ended(&journal, "ch_ended").await;
    home.sql().execute_batch("UPDATE chain SET holder = 'pid 1 on host, since then' WHERE id <> 'ch_held'").unwrap();
    let hold = journal.take(&held.id).await.unwrap();
    let health = journal.health().await.unwrap().unwrap();
    assert_eq!((health.version, health.problems.len()), (super::super::schema::VERSION, 0));
    assert_eq!(health.newest.unwrap().to_string(), "2026-01-02T03:04:05.004Z");
    assert_eq!(health.dead, [(ChainId("ch_left".into()), "pid 1 on host, since then".to_owned())]);
    assert!(health.bytes > 0);
    drop(hold);

    // A page of the file that is no page.
    drop(journal);
    let size = std::fs::metadata(home.path()).unwrap().len();
    let root: u32 = home.sql().query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'chain_by_start'", [], |row| row.get(0)).unwrap();
    let mut file = std::fs::read(home.path()).unwrap();
    assert_eq!(file.len() as u64, size);
    file[(root as usize - 1) * 4096..root as usize * 4096].fill(0xff);
    std::fs::write(home.path(), file).unwrap();
    let journal = SqliteJournal::open_existing(&home.path(), super::sample::clock()).unwrap();
    let health = journal.health().await;
    assert!(health.is_err() || !health.unwrap().unwrap().problems.is_empty());
}
