//! `--record FILE`: what a model said, as a script that says it again.
//!
//! The file is whole after every turn: it is written beside and renamed, so a crash keeps the turns before it. The
//! first write is before the first model call, so a path that cannot be written costs no answer.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;

use super::script::{Turn, Turns};
use super::{Model, ModelError, Reply, Request};

/// Hears once that a turn could not be kept; its answer is given all the same, and nothing is recorded after it.
pub type OnLost = Arc<dyn Fn(&ModelError) + Send + Sync>;

/// `inner`, with its turns kept in `path`. A chain that goes on keeps the turns it had; a new one starts the file anew.
pub fn record(inner: Arc<dyn Model>, path: impl Into<PathBuf>, on_lost: OnLost) -> Arc<dyn Model> {
    Arc::new(Recorder { inner, path: path.into(), on_lost, stopped: Mutex::new(false) })
}

/// Whether the turns of `model` could be kept in `path` after `calls_before` others: for a look before anything runs.
pub fn check(path: &Path, model: &str, calls_before: u32) -> Result<(), ModelError> {
    let same = |script: &str| path.canonicalize().ok().is_some_and(|path| Path::new(script).canonicalize().is_ok_and(|script| script == path));
    if model.strip_prefix("script:").is_some_and(same) {
        return Err(fail(path, "it is the script that is being played"));
    }
    kept(path, calls_before)?;
    tempfile::NamedTempFile::new_in(folder(path)).map(drop).map_err(|error| fail(path, error))
}

struct Recorder {
    inner: Arc<dyn Model>,
    path: PathBuf,
    on_lost: OnLost,
    /// After a turn that was not kept. Locked while the file is written: one writer at a time.
    stopped: Mutex<bool>,
}

impl Model for Recorder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn reads_history(&self) -> bool {
        self.inner.reads_history()
    }

    fn respond<'a>(&'a self, request: Request<'a>, on_text: &'a (dyn Fn(&str) + Send + Sync)) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            self.keep(request.calls_before, None)?;
            let reply = self.inner.respond(request, on_text).await?;
            if let Err(lost) = self.keep(request.calls_before, Some(Turn::of(&reply))) {
                (self.on_lost)(&lost);
            }
            Ok(reply)
        })
    }
}

impl Recorder {
    /// The turns before `calls_before`, then `turn`.
    fn keep(&self, calls_before: u32, turn: Option<Turn>) -> Result<(), ModelError> {
        let mut stopped = self.stopped.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *stopped {
            return Ok(());
        }
        *stopped = turn.is_some();
        let mut kept = kept(&self.path, calls_before)?;
        kept.turns.extend(turn);
        write(&self.path, &kept).map_err(|error| fail(&self.path, error))?;
        *stopped = false;
        Ok(())
    }
}

/// The first `calls_before` turns of what `path` holds. A file that is no recording is left alone.
fn kept(path: &Path, calls_before: u32) -> Result<Turns, ModelError> {
    let before = calls_before as usize;
    let mut kept = match path.symlink_metadata() {
        Ok(_) => Turns::read(path).map_err(|error| fail(path, format!("it is there and holds no recorded turns ({error})")))?,
        Err(_) => Turns::default(),
    };
    if kept.turns.len() < before {
        let message = format!("turn {} comes next, and it holds {}; name the file that the recording began in", before + 1, kept.turns.len());
        return Err(fail(path, message));
    }
    kept.turns.truncate(before);
    Ok(kept)
}

fn fail(path: &Path, message: impl ToString) -> ModelError {
    ModelError::Record { path: path.display().to_string(), message: message.to_string() }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn write(path: &Path, turns: &Turns) -> std::io::Result<()> {
    // A link to a recording stays one.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut file = tempfile::NamedTempFile::new_in(folder(path))?;
    serde_json::to_writer_pretty(&mut file, turns)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::script::Script;
    use super::*;
    use serde_json::json;

    fn request(calls_before: u32) -> Request<'static> {
        Request { calls_before, system: None, history: &[], tools: &[] }
    }

    fn script() -> Arc<dyn Model> {
        Arc::new(Script::of("m", vec![Turn::calls([("files__list", json!({"path": "a"}))]), Turn::text("two"), Turn::text("three")]))
    }

    fn record(inner: Arc<dyn Model>, path: impl Into<PathBuf>) -> Arc<dyn Model> {
        super::record(inner, path, Arc::new(|lost| panic!("{lost}")))
    }

    async fn say(model: &Arc<dyn Model>, turn: u32) -> Result<Reply, ModelError> {
        model.respond(request(turn), &|_| ()).await
    }

    #[tokio::test]
    async fn the_file_is_a_script_after_every_turn() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.json");
        let recorder = record(script(), &path);
        for turn in 0..3 {
            let said = say(&recorder, turn).await.unwrap();
            let played = Arc::new(Script::read(&path).unwrap()) as Arc<dyn Model>;
            assert_eq!(say(&played, turn).await.unwrap(), said);
            assert!(say(&played, turn + 1).await.is_err());
        }
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn another_process_goes_on_with_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.json");
        say(&record(script(), &path), 0).await.unwrap();
        say(&record(script(), &path), 1).await.unwrap();
        assert_eq!(Turns::read(&path).unwrap().turns.len(), 2);
        // A new chain starts anew, and a turn that would leave a hole is refused before the model is asked.
        say(&record(script(), &path), 0).await.unwrap();
        assert_eq!(Turns::read(&path).unwrap().turns.len(), 1);
        assert!(say(&record(script(), &path), 2).await.is_err());
    }

    #[tokio::test]
    async fn a_path_that_cannot_be_written_costs_no_answer() {
        let model = record(Arc::new(crate::model::twin::Twin::new(vec![Turn::text("never said")])), "/nonexistent/run.json");
        assert!(matches!(say(&model, 0).await, Err(ModelError::Record { .. })));
    }

    #[tokio::test]
    async fn a_turn_that_cannot_be_kept_is_said_all_the_same_and_told_once() {
        struct Vandal(Arc<dyn Model>, PathBuf);
        impl Model for Vandal {
            fn name(&self) -> &str {
                self.0.name()
            }
            /// While it speaks, somebody puts another file there.
            fn respond<'a>(&'a self, request: Request<'a>, on_text: &'a (dyn Fn(&str) + Send + Sync)) -> BoxFuture<'a, Result<Reply, ModelError>> {
                std::fs::write(&self.1, "notes").unwrap();
                self.0.respond(request, on_text)
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.json");
        let lost = Arc::new(Mutex::new(Vec::new()));
        let on_lost = {
            let lost = lost.clone();
            move |error: &ModelError| lost.lock().unwrap().push(error.to_string())
        };
        let model = super::record(Arc::new(Vandal(script(), path.clone())), &path, Arc::new(on_lost));
        for turn in 0..3 {
            assert_eq!(say(&model, turn).await.unwrap(), say(&script(), turn).await.unwrap());
        }
        assert_eq!(lost.lock().unwrap().len(), 1);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "notes");
    }

    #[test]
    fn a_file_that_is_no_recording_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let check = |name: &str, model: &str, before| super::check(&at(name), model, before).map_err(|error| error.to_string());
        std::fs::write(at("notes.txt"), "dear aunt").unwrap();
        std::fs::write(at("run.json"), r#"{"turns":[{"text":"one"}]}"#).unwrap();
        std::os::unix::fs::symlink(at("run.json"), at("link.json")).unwrap();
        let playing = format!("script:{}", at("run.json").display());
        assert_eq!(check("new.json", &playing, 0), Ok(()));
        assert_eq!(check("run.json", "m", 1), Ok(()));
        for (name, model, before, why) in [
            ("notes.txt", "m", 0, "it is there and holds no recorded turns"),
            ("run.json", &playing, 0, "it is the script that is being played"),
            ("link.json", &playing, 0, "it is the script that is being played"),
            ("run.json", "m", 2, "turn 3 comes next, and it holds 1"),
            ("new.json", "m", 1, "turn 2 comes next, and it holds 0"),
            ("nowhere/run.json", "m", 0, "No such file or directory"),
        ] {
            let error = check(name, model, before).unwrap_err();
            assert!(error.contains(why), "{name}: {error}");
        }
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 3);
    }
}
