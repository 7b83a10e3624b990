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

/// `inner`, with its turns kept in `path`. A chain that goes on keeps the turns it had; a new one starts the file anew.
pub fn record(inner: Arc<dyn Model>, path: impl Into<PathBuf>) -> Arc<dyn Model> {
    Arc::new(Recorder { inner, path: path.into(), file: Mutex::new(()) })
}

struct Recorder {
    inner: Arc<dyn Model>,
    path: PathBuf,
    /// One writer at a time.
    file: Mutex<()>,
}

impl Model for Recorder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn respond<'a>(&'a self, request: Request<'a>, on_text: &'a (dyn Fn(&str) + Send + Sync)) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            self.keep(request.calls_before, None)?;
            let reply = self.inner.respond(request, on_text).await?;
            self.keep(request.calls_before, Some(Turn::of(&reply)))?;
            Ok(reply)
        })
    }
}

impl Recorder {
    /// The turns before `calls_before`, then `turn`.
    fn keep(&self, calls_before: u32, turn: Option<Turn>) -> Result<(), ModelError> {
        let _one_writer = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let before = calls_before as usize;
        let mut kept = if before == 0 { Turns::default() } else { Turns::read(&self.path)? };
        if kept.turns.len() < before {
            return Err(self.fail(format!("turn {} cannot be recorded after the {} it holds", before + 1, kept.turns.len())));
        }
        kept.turns.truncate(before);
        kept.turns.extend(turn);
        write(&self.path, &kept).map_err(|error| self.fail(error.to_string()))
    }

    fn fail(&self, message: String) -> ModelError {
        ModelError::Script { path: self.path.display().to_string(), message }
    }
}

fn write(path: &Path, turns: &Turns) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
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
        assert!(matches!(say(&model, 0).await, Err(ModelError::Script { .. })));
    }
}
