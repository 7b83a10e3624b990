//! A real mail server of the tests' own: npm's `smtp-server`, of `tests/node`, gone with the test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;

pub struct MailServer {
    child: Child,
    pub port: u16,
    got: Arc<Mutex<Vec<Value>>>,
}

impl MailServer {
    /// `mode` and what may follow it as `tests/node/smtp.cjs` has them; port 0 is a free one.
    pub fn start(port: u16, mode: &[&str]) -> Self {
        let host = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = host.join("../tests/node");
        assert!(folder.join("node_modules/smtp-server").is_dir(), "smtp-server is not installed; run `npm ci --prefix tests/node`");
        let mut command = Command::new("node");
        command.arg(folder.join("smtp.cjs")).arg(port.to_string()).arg(mode[0]).arg(host.join("src/plugin/tests/tls")).args(&mode[1..]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("node starts");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let port = lines.find_map(|line| line.strip_prefix("listening ")?.parse().ok()).expect("the mail server says where it listens");
        let got = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&got);
        std::thread::spawn(move || lines.for_each(|line| keep.lock().unwrap().push(serde_json::from_str(&line).unwrap())));
        Self { child, port, got }
    }

    /// The mails it took, once they are so many: it writes each down before it says so, and another thread reads that.
    pub fn got(&self, count: usize) -> Vec<Value> {
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(30);
        loop {
            let got = self.got.lock().unwrap().clone();
            if got.len() >= count || std::time::Instant::now() > patience {
                assert_eq!(got.len(), count, "{got:?}");
                return got;
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Of a mail it took, the headers with their folds undone, and the text.
pub fn opened(mail: &Value) -> (String, String) {
    use base64::Engine as _;
    let text = mail["text"].as_str().unwrap();
    let (headers, body) = text.split_once("\r\n\r\n").unwrap();
    let body = base64::engine::general_purpose::STANDARD.decode(body.replace("\r\n", "")).unwrap();
    (headers.replace("\r\n ", " "), String::from_utf8(body).unwrap())
}
