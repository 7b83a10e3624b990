//! `build --watch`: builds at the start and after each change, and goes on when a build fails.

use std::path::Path;
use std::time::Duration;

use notify::event::EventKind;
use notify::{Event, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::super::exit;
use super::super::failure::Failure;
use super::super::setup::Setup;
use super::{Job, Source};
use crate::project::IGNORED;
use crate::report;

/// Without a change for so long, an editor or a checkout is done.
const QUIET: Duration = Duration::from_millis(200);
/// Changes waited out before a build; who writes without end still gets one.
const CHANGES_MAX: u32 = 50;

pub async fn run(setup: &Setup, job: &Job, interrupt: &CancellationToken) -> Result<u8, Failure> {
    let watched = match &job.source {
        Source::Folder(folder) => folder.path.clone(),
        Source::Core { file, .. } => file.clone(),
    };
    let unwatched = |error| Failure::new(exit::FAILED, format!("cannot watch `{}`", watched.display())).because(error);
    // One place: that something changed is all there is to know.
    let (sender, mut changes) = mpsc::channel(1);
    let root = watched.clone();
    let heard = move |event: notify::Result<Event>| {
        if event.is_ok_and(|event| matters(&root, &event)) {
            let _known_already = sender.try_send(());
        }
    };
    let mut watcher = notify::recommended_watcher(heard).map_err(unwatched)?;
    watcher.watch(&watched, RecursiveMode::Recursive).map_err(unwatched)?;
    loop {
        match job.run(setup, interrupt).await {
            _ if interrupt.is_cancelled() => return Ok(exit::INTERRUPTED),
            Ok(_) => {}
            Err(failure) => report::error(&failure.message, &failure.causes, &failure.hints),
        }
        report::note("waiting for a change");
        tokio::select! {
            () = interrupt.cancelled() => return Ok(exit::INTERRUPTED),
            _ = changes.recv() => {}
        }
        for _ in 0..CHANGES_MAX {
            if tokio::time::timeout(QUIET, changes.recv()).await.is_err() {
                break;
            }
        }
    }
}

/// A change of something that was written, not made or only read.
fn matters(root: &Path, event: &Event) -> bool {
    let made = |path: &std::path::PathBuf| {
        let inner = path.strip_prefix(root).unwrap_or(path);
        let mut names = inner.iter().map(|name| name.to_string_lossy());
        names.any(|name| IGNORED.contains(&name.as_ref()) || name.starts_with('.') || name.ends_with(".lock") || name.ends_with('~'))
    };
    !matches!(event.kind, EventKind::Access(_)) && !event.paths.iter().all(made)
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, CreateKind};

    use super::*;

    #[test]
    fn only_what_an_author_writes_matters() {
        let event = |path: &str| Event::new(EventKind::Create(CreateKind::File)).add_path(Path::new("/p").join(path));
        for written in ["plugin.py", "src/lib.rs", "Cargo.toml", "sdk/src/call.ts"] {
            assert!(matters(Path::new("/p"), &event(written)), "{written}");
        }
        for made in ["plugins/a.wasm", "target/release/x", "node_modules/zod/x.js", "__pycache__/p.pyc", "Cargo.lock", ".plugin.py.swp", "plugin.py~"]
        {
            assert!(!matters(Path::new("/p"), &event(made)), "{made}");
        }
        let read = Event::new(EventKind::Access(AccessKind::Read)).add_path("/p/plugin.py".into());
        assert!(!matters(Path::new("/p"), &read));
    }
}
