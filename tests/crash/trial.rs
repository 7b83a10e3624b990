//! One chain from its start to its end, through processes that die.

use std::process::{Child, Stdio};

use rustix::process::Pid;
use serde_json::json;

use super::kill::{Kill, Plan};
use super::seen::Seen;
use super::server::Server;
use crate::e2e::TestEnvironment;
use pausegate::call::CallStatus;
use pausegate::chain::ChainStatus;
use pausegate::pause::{Pause, PauseKind};
use pausegate::state::ChainState;

/// Processes of one chain; one that needs more is stuck.
const PROCESSES_MAX: usize = 60;

const GRANTS: &str = r#"
[plugins.courier]
digest = "any"
reconcile = "RECONCILE"
[[plugins.courier.http]]
url = "http://127.0.0.1:PORT/**"
methods = ["GET", "POST", "PUT"]
private = true
[plugins.files]
digest = "any"
[[plugins.files.fs]]
path = "BUILD"
mount = "/build"
access = "write"
tools = ["write"]
[[plugins.files.fs]]
path = "BUILD"
mount = "/build"
access = "write"
when = "approved"
within = "args.path"
"#;

pub struct Trial {
    pub env: TestEnvironment,
    pub server: Server,
    plans: std::vec::IntoIter<Plan>,
    pub died: Vec<Kill>,
    /// What was asked of people about calls in doubt: the tool, and whether its effect was there.
    pub doubts: Vec<(String, bool)>,
    pub seen: Option<Seen>,
}

impl Trial {
    /// `plans` for the processes in their order; when they are used up, nothing dies any more.
    pub fn run(plans: Vec<Plan>, believed: bool) -> Self {
        let (env, server) = (TestEnvironment::new(), Server::start());
        env.add_guest("courier");
        let word = if believed { "believe" } else { "show" };
        env.grants(&GRANTS.replace("PORT", &server.port.to_string()).replace("RECONCILE", word));
        env.script(turns(server.port));
        let mut trial = Self { env, server, plans: plans.into_iter(), died: Vec::new(), doubts: Vec::new(), seen: None };
        trial.carry_to_its_end();
        let seen = Seen::read(&trial.env);
        super::seen::check(&trial, &seen);
        trial.seen = Some(seen);
        trial
    }

    pub fn kills(&self) -> u64 {
        self.died.len() as u64
    }

    fn carry_to_its_end(&mut self) {
        for _ in 0..PROCESSES_MAX {
            let Some(state) = Seen::state(&self.env) else {
                self.process(&["run", "go", "--model", "script:turns.json", "--json"]);
                continue;
            };
            match state.status {
                ChainStatus::Completed => return,
                ChainStatus::Paused => self.decide(&state),
                ChainStatus::Runnable => self.process(&["resume", &state.id.0, "--json"]),
                other => panic!("{other} after {:?}: {:?}", self.died, state.blocked),
            }
        }
        panic!("stuck after {:?}: {:?}", self.died, Seen::state(&self.env).map(|state| state.calls));
    }

    /// Answers the oldest question. The next process goes on, whether or not this one died over it.
    fn decide(&mut self, state: &ChainState) {
        let pause = state.open_pauses().next().expect("h44: a paused chain has an open pause");
        let id = pause.id.0.as_str();
        if pause.kind != PauseKind::InDoubt {
            return self.process(&["approve", id]);
        }
        let happened = self.happened(state, pause);
        self.doubts.push((pause.tool.clone(), happened));
        match happened {
            true => self.process(&["settle", id, "--happened", "--text", "it is there"]),
            false => self.process(&["settle", id, "--run-again"]),
        }
    }

    /// A person looks at the witnesses.
    fn happened(&self, state: &ChainState, pause: &Pause) -> bool {
        match pause.tool.as_str() {
            "files__delete" => !self.env.build().contains(&"a.tmp".to_owned()),
            "courier__post" => self.server.has(&state.calls[&pause.call].idempotency_key(state)),
            other => panic!("{other} is in doubt, and it is not `once`"),
        }
    }

    fn process(&mut self, args: &[&str]) {
        let Plan { kill, rival } = self.plans.next().unwrap_or_default();
        let command = || {
            let mut command = self.env.command();
            command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command
        };
        // Two that start make two chains, as they should.
        let rival = (rival && args[0] != "run").then(|| command().spawn().unwrap());
        let mut command = command();
        if let Some(variable) = kill.and_then(Kill::variable) {
            command.env("PAUSEGATE_CRASH_AT", variable);
        }
        // No request comes before it is aimed at: a process loads its plugins first, and the first aim is at none.
        let mut child = command.spawn().unwrap();
        self.server.aim(Pid::from_child(&child), kill);
        if let Some(Kill::Time(after)) = kill {
            std::thread::sleep(after);
            child.kill().ok();
        }
        let raced = rival.is_some();
        self.ended(child, args, kill, raced);
        if let Some(rival) = rival {
            self.ended(rival, args, None, true);
        }
    }

    fn ended(&mut self, child: Child, args: &[&str], kill: Option<Kill>, raced: bool) {
        let output = child.wait_with_output().unwrap();
        let shown = self.env.shown(args, &output);
        match (shown.code, kill) {
            (None, Some(kill)) => self.died.push(kill),
            (Some(0 | 75), _) => {}
            // The other one holds the chain, or has ended it.
            (Some(2), _) if raced => {}
            _ => panic!("it ended otherwise after {:?}: {shown}", self.died),
        }
    }
}

/// A read, a `once` and an `idempotent` effect side by side; then a file written, one deleted after an approval, and two
/// identical calls on purpose.
fn turns(port: u16) -> serde_json::Value {
    let call = |tool: &str, path: &str| {
        let url = format!("http://127.0.0.1:{port}/{path}");
        json!({"id": path, "name": format!("courier__{tool}"), "arguments": {"url": url}})
    };
    let write = json!({"id": "w", "name": "files__write", "arguments": {"path": "/build/new.txt", "content": "new"}});
    let delete = json!({"id": "d", "name": "files__delete", "arguments": {"path": "/build/a.tmp"}});
    json!([
        {"tool_calls": [call("look", "l"), call("post", "a"), call("put", "b")]},
        {"tool_calls": [write, delete, call("post", "c"), call("post", "c")]},
        {"text": "Done."}
    ])
}

/// Calls of each tool that the script asks for.
pub const CALLS: [(&str, usize); 5] = [("courier__look", 1), ("courier__post", 3), ("courier__put", 1), ("files__write", 1), ("files__delete", 1)];

/// Every call has to come to this.
pub const END: CallStatus = CallStatus::Succeeded;
