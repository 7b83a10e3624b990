//! Bad input gets a clear error and loses nothing.

use std::os::unix::fs::PermissionsExt;

use super::sample::{Chain, Home, clock, key, opened, said, turn};
use crate::chain::ChainId;
use crate::journal::record::NO_HASH;
use crate::journal::sqlite::read;
use crate::journal::sqlite::schema::{MIGRATIONS, Place};
use crate::journal::{Journal, JournalError, SqliteJournal};

fn opening(path: &std::path::Path) -> String {
    SqliteJournal::open(path, clock()).map(drop).unwrap_err().to_string().replace(&path.display().to_string(), "PATH")
}

#[test]
fn a_new_journal_is_its_owners_alone() {
    let home = Home::new();
    drop(home.open());
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&home.path()), mode(home.path().parent().unwrap())), (0o600, 0o700));
}

#[tokio::test]
async fn a_journal_of_a_newer_version_is_left_as_it_is() {
    let home = Home::new();
    Chain::started(&home.open(), "ch_1").await;
    home.sql().pragma_update(None, "user_version", 7).unwrap();
    let before = std::fs::read(home.path()).unwrap();
    let expected = "journal `PATH` is of version 7; this program reads up to version 5";
    assert_eq!(opening(&home.path()), expected);
    let read = SqliteJournal::open_existing(&home.path(), clock()).map(drop);
    assert!(matches!(read, Err(JournalError::Newer { found: 7, known: 5, .. })), "{read:?}");
    assert_eq!(std::fs::read(home.path()).unwrap(), before);
}

/// A step that was released never changes: journals out there were made by it.
#[test]
fn the_steps_that_were_released_are_the_same() {
    let digests: Vec<_> = MIGRATIONS.iter().map(|step| crate::digest::Digest::of_bytes(step.as_bytes()).to_string()).collect();
    let released = [
        "sha256:8afccdf3b1d5d1028329d8d940a4f55daeeb8ce91fd2de09baf726cedfa715fe",
        "sha256:525244250f92d5bbfce8c0c2d76d7c32ae5c4a7aa0b8ac08a77a378b84d33fc5",
        "sha256:8f4b487d3bb906aa2e4a58877702128fd1160588a4bb9079aeff517a75e15e16",
        "sha256:7535643e90d9ee0dd276f32dd1591003dbd015860bbf93018971729cc94d6c0d",
        "sha256:9d970b8a0f7ac9826a794e7502fa12c0f5246e637444b59a55dbbdb2f00802f4",
    ];
    assert_eq!(digests[..released.len()], released);
}

#[test]
fn a_file_that_is_no_journal_is_left_as_it_is() {
    let home = Home::new();
    std::fs::create_dir(home.path().parent().unwrap()).unwrap();
    std::fs::write(home.path(), "a letter to my aunt, by far long enough to look like a file of some kind").unwrap();
    let before = std::fs::read(home.path()).unwrap();
    assert_eq!(opening(&home.path()), "journal `PATH`: is not a journal: the file is no database (file is not a database)");
    assert_eq!(std::fs::read(home.path()).unwrap(), before);

    std::fs::remove_file(home.path()).unwrap();
    home.sql().execute_batch("CREATE TABLE aunt (letter TEXT)").unwrap();
    let before = std::fs::read(home.path()).unwrap();
    assert_eq!(opening(&home.path()), "journal `PATH`: is a database of another program, not a journal");
    assert_eq!(std::fs::read(home.path()).unwrap(), before);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    // A mode would not stop root; a file where a folder should be stops everyone.
    let home = Home::new();
    std::fs::write(home.path().parent().unwrap(), "").unwrap();
    assert_eq!(opening(&home.path()), "journal `PATH`: its folder cannot be made (File exists (os error 17))");
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_the_journal_goes_on() {
    let home = Home::new();
    let mut chain = Chain::started(&home.open(), "ch_1").await;
    let pages: u32 = home.sql().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let journal = home.open_hasty(Some(pages + 4));

    let error = chain.write(&journal, vec![turn(1, 1), said(&"x".repeat(100_000))]).await.unwrap_err().to_string();
    assert!(error.ends_with("the disk is full; nothing of this write was kept (database or disk is full)"), "{error}");
    assert_eq!(journal.head(&chain.id).await.unwrap(), 1);
    chain.write(&journal, vec![said("a little fits")]).await.unwrap();
    assert_eq!(journal.events(&chain.id, 0).await.unwrap().len(), 2);
    assert_eq!(journal.projection_differences().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_journal_that_is_taken_away_or_replaced_takes_no_writes_and_goes_on_when_it_is_back() {
    let home = Home::new();
    let journal = home.open();
    let mut chain = Chain::started(&journal, "ch_1").await;
    let folder = home.path().parent().unwrap().to_owned();
    let aside = folder.with_file_name("aside");
    std::fs::rename(&folder, &aside).unwrap();
    for replaced in [false, true] {
        if replaced {
            Chain::started(&home.open(), "ch_2").await;
        }
        // A promise goes to the writer's thread and always looks; the other is written where it is appended, and looks
        // after one that did not find the file.
        let pause = vec![turn(1, 1), opened("pa_1", key(1, 0))];
        let error = chain.write(&journal, pause).await.unwrap_err();
        assert!(matches!(&error, JournalError::Away { message, .. } if message.starts_with("was taken away or replaced")), "{error}");
        let error = chain.write(&journal, vec![said("x")]).await.unwrap_err();
        assert!(matches!(&error, JournalError::Away { .. }), "{error}");
        // It does not turn into an empty one for those who read.
        assert!(!matches!(journal.events(&chain.id, 0).await, Ok(events) if events.is_empty()));
    }
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::rename(&aside, &folder).unwrap();
    assert_eq!(chain.write(&journal, vec![turn(1, 1), opened("pa_1", key(1, 0))]).await.unwrap(), 3);
    drop(journal);
    assert_eq!(home.open().events(&chain.id, 0).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_database_that_others_keep_locked_is_busy_and_goes_on_when_they_are_done() {
    let home = Home::new();
    let journal = home.open_hasty(None);
    let mut chain = Chain::started(&journal, "ch_1").await;
    let other = home.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = chain.write(&journal, vec![said("x")]).await.unwrap_err();
    assert!(matches!(error, JournalError::Busy { .. }), "{error}");
    // Reading does not wait for a writer.
    assert_eq!(journal.head(&chain.id).await.unwrap(), 1);
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(chain.write(&journal, vec![said("x")]).await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_write_that_the_tables_refuse_does_not_hurt_those_who_share_its_transaction() {
    let home = Home::new();
    let journal = std::sync::Arc::new(home.open());
    Chain::started(&*journal, "ch_broken").await;
    // Its row is gone but its event is not: the next first event meets the one that is there.
    let other = home.sql();
    other.execute_batch("DELETE FROM chain; BEGIN IMMEDIATE").unwrap();
    let write = |number: usize| {
        let journal = journal.clone();
        let mut chain = Chain::new(&if number == 7 { "ch_broken".to_owned() } else { format!("ch_{number}") });
        tokio::spawn(async move { chain.write(&*journal, vec![super::sample::started("x")]).await })
    };
    let tasks: Vec<_> = (0..16).map(write).collect();
    tokio::task::yield_now().await;
    other.execute_batch("COMMIT").unwrap();
    for (number, task) in tasks.into_iter().enumerate() {
        let outcome = task.await.unwrap();
        assert_eq!(outcome.is_ok(), number != 7, "{number}: {outcome:?}");
    }
    assert_eq!(journal.chains(100).await.unwrap().len(), 15);
}

#[tokio::test]
async fn an_event_that_cannot_be_read_is_named_and_other_chains_go_on() {
    let home = Home::new();
    let journal = home.open();
    for id in ["ch_1", "ch_2", "ch_3"] {
        let mut chain = Chain::started(&journal, id).await;
        chain.write(&journal, vec![turn(1, 1), opened(&id.replace("ch", "pa"), key(1, 0))]).await.unwrap();
    }
    // As another version would have written them: with the hashes that belong to them.
    rewrite(&home, "ch_1", "kind = 'MoonPhased'");
    rewrite(&home, "ch_2", "payload = '{\"turn\":1,'");
    let reading = async |id: &str| journal.events(&ChainId(id.into()), 0).await.map_err(|error| error.to_string());
    let unknown = "event 2 of chain ch_1 cannot be read: `MoonPhased`: unknown variant `MoonPhased`";
    assert_eq!(reading("ch_1").await.unwrap_err(), unknown);
    let error = reading("ch_2").await.unwrap_err();
    assert!(error.starts_with("event 2 of chain ch_2 cannot be read: `TurnReceived`: "), "{error}");
    assert_eq!(reading("ch_3").await.unwrap().len(), 3);
    assert_eq!(journal.chains(10).await.unwrap().len(), 3);
    assert_eq!(journal.pending(100).await.unwrap().len(), 3);

    let rebuilt = journal.rebuild_projections().await.unwrap();
    assert_eq!((rebuilt.chains, rebuilt.unreadable.len()), (1, 2));
    assert_eq!(journal.pending(100).await.unwrap().len(), 3);
}

/// Changes event 2 and hashes it and those after it anew.
fn rewrite(home: &Home, chain: &str, change: &str) {
    let sql = home.sql();
    sql.execute(&format!("UPDATE event SET {change} WHERE chain = ?1 AND seq = 2"), [chain]).unwrap();
    let id = ChainId(chain.to_owned());
    let mut prev = NO_HASH;
    for stored in read::records(&sql, &id).unwrap() {
        let hash = stored.record.hash(&id, &prev);
        sql.execute("UPDATE event SET prev_hash = ?1, hash = ?2 WHERE chain = ?3 AND seq = ?4", (prev, hash, chain, stored.record.seq as i64))
            .unwrap();
        prev = hash;
    }
}

#[tokio::test]
async fn a_journal_where_nothing_can_be_written_is_read_as_it_stands() {
    let home = Home::new();
    let journal = home.open();
    let mut chain = Chain::started(&journal, "ch_1").await;
    chain.write(&journal, vec![said("kept in the log")]).await.unwrap();
    let place = Place::new(&home.path());
    let error = place.connect_as_it_stands().unwrap().unwrap_err().to_string();
    assert!(error.contains("its last writes are still in the `-wal` file"), "{error}");
    // The last to leave folds the log in.
    drop(journal);
    let connection = place.connect_as_it_stands().unwrap().unwrap();
    assert_eq!(read::events(&connection, &chain.id, 0).unwrap().unwrap().len(), 2);
    assert!(!home.path().with_extension("db-shm").exists());
}

#[test]
fn what_can_be_no_journal_is_unusable_and_nothing_waits_for_it() {
    let home = Home::new();
    let folder = home.path().parent().unwrap().to_owned();
    std::fs::create_dir_all(&folder).unwrap();
    let pipe = folder.join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    for path in [folder.as_path(), &pipe, std::path::Path::new("/dev/null")] {
        for opened in [SqliteJournal::open(path, clock()).map(drop), SqliteJournal::open_existing(path, clock()).map(drop)] {
            let error = opened.unwrap_err();
            assert!(matches!(&error, JournalError::Unusable { message, .. } if message == "is no regular file"), "{}: {error}", path.display());
        }
    }
}

#[test]
fn many_may_open_a_new_journal_at_once() {
    let home = Home::new();
    std::thread::scope(|scope| {
        let opening: Vec<_> = (0..8).map(|_| scope.spawn(|| drop(home.open()))).collect();
        opening.into_iter().for_each(|opening| opening.join().unwrap());
    });
}
