use std::sync::Arc;

use pausegate::chain::message::{Message, Role};
use pausegate::chain::{Actor, Settings};
use pausegate::pause::Decision;
use pausegate::plugin::{PluginConfig, WasmPlugins};
use pausegate::runner::{Host, Prompt, Rest, Resume, Silent};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("turns.json");
    std::fs::write(&script, r#"{"turns": [{"text": "Nothing to clean up."}]}"#)?;

    let clock = pausegate::clock::Clock::system();
    let host = Host {
        journal: Arc::new(pausegate::journal::SqliteJournal::open(&folder.path().join("journal.db"), clock.clone())?),
        plugins: Arc::new(WasmPlugins::load(PluginConfig::new(folder.path(), None)).await?),
        grants: Arc::default(), // holds nothing; `config::grants::load` reads a file
        models: Arc::new(|name| pausegate::model::open(name, &|variable| std::env::var(variable).ok())),
        clock,
        schemas: Arc::default(),
        observer: Arc::new(Silent),
    };

    let alice = Actor("token:alice".into());
    let chain = host
        .start(Prompt {
            by: alice.clone(),
            settings: Settings { model: Some(format!("script:{}", script.display())), ..Settings::default() },
            messages: vec![Message::text(Role::User, "clean up the temp files under /build")],
            continues: None,
            call: None,
        })
        .await?;
    let report = host.resume(&chain, &alice, Resume::default(), CancellationToken::new()).await?;
    if let Rest::Paused = report.rest {
        for pause in report.state.open_pauses() {
            // Here, or an hour later in another process; then `resume` again.
            let seen = Some(pause.digest.clone());
            host.decide(&pause.id, &alice, &Decision::Approve { note: None, digest: seen }).await?;
        }
    }
    assert_eq!(report.state.answer(), "Nothing to clean up.");
    Ok(())
}
