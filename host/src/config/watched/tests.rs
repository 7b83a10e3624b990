use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::capability::Verdict;

/// A grants file, a clock that stands where the test puts it, and what was told.
struct Watching {
    folder: TempDir,
    watched: WatchedGrants,
    told: Arc<Mutex<Vec<String>>>,
}

/// Long after any file of the test changed, or long before: then nothing settles.
const LATER: &str = "2999-01-01T00:00:00Z";

impl Watching {
    fn new(text: &str, now: jiff::Timestamp) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("grants.toml");
        fs::write(&file, text).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let tell = move |news: News<'_>| {
            heard.lock().unwrap().push(match news {
                News::InForce => "in force".to_owned(),
                News::Kept(error) => error.to_string().rsplit('/').next().unwrap_or_default().to_owned(),
            });
        };
        let source = Source { named: None, places: Places { grants: file, ..Places::default() }, host: "h".into() };
        let watched = WatchedGrants::open(source, Clock::fixed(now), Box::new(tell)).unwrap();
        Self { folder, watched, told }
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("grants.toml")
    }

    fn write(&self, text: &str) {
        fs::write(self.file(), text).unwrap();
    }

    fn default_verdict(&self) -> Verdict {
        self.watched.latest().default_verdict
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.told.lock().unwrap())
    }
}

fn later() -> jiff::Timestamp {
    LATER.parse().unwrap()
}

/// When the file changed, to the nanosecond.
fn changed(file: &Path) -> jiff::Timestamp {
    let found = fs::metadata(file).unwrap();
    jiff::Timestamp::new(found.ctime(), i32::try_from(found.ctime_nsec()).unwrap()).unwrap()
}

const ASK: &str = "version = 1\n[defaults]\ntools = \"ask\"\n";
const DENY: &str = "version = 1\n[defaults]\ntools = \"deny\"\n";

#[test]
fn w68_an_edit_is_in_force_at_the_next_look() {
    let watching = Watching::new(ASK, later());
    let before = watching.watched.latest();
    assert!(Arc::ptr_eq(&before, &watching.watched.latest()), "nothing is read anew while nothing changes");
    watching.write(DENY);
    assert_eq!((watching.default_verdict(), before.default_verdict), (Verdict::Deny, Verdict::Ask));
    assert_eq!(watching.told(), ["in force"]);
    watching.write(&format!("# a comment\n{DENY}"));
    watching.watched.latest();
    assert_eq!(watching.told(), [""; 0], "what says the same is no news");
}

#[test]
fn w68_a_broken_edit_keeps_the_old_grants_whole_and_is_told_once() {
    let watching = Watching::new(ASK, later());
    for broken in [&format!("{DENY}[plugins.p]\nacess = 1\n"), "", "version = 2\n", "\u{feff}version"] {
        watching.write(broken);
        assert_eq!(watching.default_verdict(), Verdict::Ask, "{broken:?}");
        assert_eq!(watching.default_verdict(), Verdict::Ask);
        assert_eq!(watching.told().len(), 1, "{broken:?}");
    }
    fs::remove_file(watching.file()).unwrap();
    fs::create_dir(watching.file()).unwrap();
    assert_eq!((watching.default_verdict(), watching.told().len()), (Verdict::Ask, 1));
    fs::remove_dir(watching.file()).unwrap();
    watching.write(DENY);
    assert_eq!(watching.default_verdict(), Verdict::Deny);
    assert_eq!(watching.told(), ["in force"]);
}

#[test]
fn w68_a_default_file_that_is_taken_away_grants_nothing() {
    let watching = Watching::new("version = 1\n[plugins.p]\ndigest = \"any\"\nenv = { A = \"b\" }\n", later());
    assert_eq!(watching.watched.latest().plugins.len(), 1);
    fs::remove_file(watching.file()).unwrap();
    assert_eq!(*watching.watched.latest(), Grants::default());
}

/// The file's times cannot tell two edits of one moment apart.
#[test]
fn an_edit_within_the_grain_of_file_times_is_not_missed() {
    let watching = Watching::new(ASK, later());
    let now = changed(&watching.file());
    let watched = WatchedGrants { clock: Clock::fixed(now), ..watching.watched };
    assert_eq!(watched.latest().default_verdict, Verdict::Ask);
    fs::write(watching.folder.path().join("grants.toml"), DENY).unwrap();
    // As if the edit had left the same mark.
    watched.seen.lock().unwrap().mark = watched.source.mark();
    assert_eq!(watched.latest().default_verdict, Verdict::Deny);
}

#[tokio::test]
async fn half_a_file_narrows_what_runs_and_judges_nothing_that_starts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("grants.toml");
    let rule = "[[rules]]\ntool = \"*\"\neffect = \"deny\"\n";
    fs::write(&file, format!("version = 1\n{rule}")).unwrap();
    let open = |now| {
        let source = Source { named: None, places: Places { grants: file.clone(), ..Places::default() }, host: "h".into() };
        WatchedGrants::open(source, Clock::fixed(now), Box::new(|_| {})).unwrap()
    };
    let watched = open(changed(&file));
    // Cut before its rule; the clock stands, so it settles only by the number of looks.
    fs::write(&file, "version = 1\n").unwrap();
    let watched = WatchedGrants { clock: Clock::fixed(changed(&file)), ..watched };
    assert_eq!(watched.latest().rules.len(), 0);
    assert_eq!(watched.settled().await.rules.len(), 1, "the rule is not lost to a call that starts meanwhile");
    // Once it stands, it is what the operator wrote.
    let watched = WatchedGrants { clock: Clock::fixed(later()), ..watched };
    assert_eq!(watched.settled().await.rules.len(), 0);
}
