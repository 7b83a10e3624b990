//! `aimock`: a stand-in for all providers that keeps a journal of what it was asked.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

pub struct Aimock {
    child: Child,
    pub address: String,
    _fixtures: tempfile::TempDir,
}

impl Aimock {
    /// Starts on a free port with `fixtures`.
    pub fn start(fixtures: &Value) -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/node/node_modules/@copilotkit/aimock/dist/cli.js");
        assert!(program.is_file(), "aimock is not installed; run `npm ci --prefix tests/node`");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fixtures.json");
        std::fs::write(&file, fixtures.to_string()).unwrap();
        let mut child = Command::new("node")
            .arg("--no-warnings")
            .arg(program)
            .args(["--port", "0", "--strict", "--fixtures"])
            .arg(file)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("node starts");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().expect("aimock says where it listens").unwrap();
            if let Some((_, address)) = line.split_once("listening on ") {
                break address.trim().to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address, _fixtures: folder }
    }

    /// Every request so far, oldest first.
    pub async fn journal(&self) -> Vec<Value> {
        let answer = reqwest::get(format!("{}/__aimock/journal", self.address)).await.unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }
}

impl Drop for Aimock {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
