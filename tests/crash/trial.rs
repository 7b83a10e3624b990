//! One chain from its start to its end, through processes that die or freeze.

use rustix::process::Signal;
use serde_json::json;

use super::kill::{Fate, Plan};
use super::process::Process;
use super::seen::Seen;
use super::server::Server;
use super::store::{Place, Store};
use super::tally::{Doubt, Outcome};
use pausegate::chain::ChainStatus;
use pausegate::pause::{Pause, PauseKind};
use pausegate::state::ChainState;

/// Processes of one chain; one that needs more is stuck.
pub const PROCESSES_MAX: usize = 60;

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

/// Nobody is late: hosts go by the database's clock, whatever theirs say.
const IN_TIME: &str = r#"
[[rules]]
tool = "files__delete"
effect = "ask"
expires = "1h"
"#;

pub struct Trial {
    place: Place,
    server: Server,
    plans: std::vec::IntoIter<Plan>,
    frozen: Option<Frozen>,
    outcome: Outcome,
}

struct Frozen {
    process: Process,
    /// Processes that come before it wakes.
    sleeps: u64,
}

impl Trial {
    /// `plans` for the processes in their order; when they are used up, nothing happens to them any more.
    pub fn run(store: Store, plans: Vec<Plan>, believed: bool) -> Outcome {
        let (place, server) = (Place::new(store), Server::start());
        prepare(&place, server.port, believed);
        place.env.script(turns(server.port, "a.tmp", "new.txt"));
        let mut trial = Self { place, server, plans: plans.into_iter(), frozen: None, outcome: Outcome::default() };
        trial.carry_to_its_end();
        trial.wake();
        let (seen, story) = (Seen::read(&trial.place), trial.story());
        assert_eq!(seen.states.len(), 1, "one prompt, one chain; {story}");
        seen.check(&trial.place, &trial.server, &story);
        trial.outcome.count(&trial.server.asked(), &seen.states);
        trial.outcome
    }

    fn carry_to_its_end(&mut self) {
        for _ in 0..PROCESSES_MAX {
            self.place.leases_of_the_dead_end();
            if self.frozen.as_ref().is_some_and(|frozen| frozen.sleeps == 0) {
                self.wake();
            }
            let Some(state) = self.state() else {
                self.process(&["run", "go", "--model", "script:turns.json", "--json"]);
                continue;
            };
            match state.status {
                ChainStatus::Completed => return,
                ChainStatus::Paused => self.decide(&state),
                ChainStatus::Runnable => self.process(&["resume", &state.id.0, "--json"]),
                other => panic!("{other}: {:?}; {}", state.blocked, self.story()),
            }
        }
        panic!("stuck: {:?}; {}", self.state().map(|state| state.calls), self.story());
    }

    /// The one chain; `None` before its first event, and when nobody is left who may write that.
    fn state(&mut self) -> Option<ChainState> {
        let state = self.place.states().pop();
        if state.is_some() {
            return state;
        }
        self.wake();
        self.place.is_quiet(&[]);
        self.place.states().pop()
    }

    /// Answers the oldest question. The next process goes on, whether or not this one died over it.
    fn decide(&mut self, state: &ChainState) {
        let pause = state.open_pauses().next().expect("h44: a paused chain has an open pause");
        let id = pause.id.0.as_str();
        if pause.kind != PauseKind::InDoubt {
            return self.process(&["approve", id]);
        }
        let why = match (self.outcome.died.last(), self.outcome.froze.last()) {
            (Some(kill), None) => kill.name(),
            (None, Some(_)) => "frozen past its lease",
            _ => "some died, some froze",
        };
        let doubt = doubt(&self.place, &self.server, state, pause, why);
        let happened = doubt.1;
        self.outcome.doubts.push(doubt);
        match happened {
            true => self.process(&["settle", id, "--happened", "--text", "it is there"]),
            false => self.process(&["settle", id, "--run-again"]),
        }
    }

    fn process(&mut self, args: &[&str]) {
        let plan = self.plans.next().unwrap_or_default();
        self.outcome.clocks += u64::from(plan.clock.is_some());
        if let Some(frozen) = &mut self.frozen {
            frozen.sleeps -= 1;
        }
        // Two that start make two chains, as they should.
        let rival = (plan.rival && args[0] != "run").then(|| Process::start(&self.place.env, args, Plan::default()));
        // No request comes before it is aimed at: a process loads its plugins first, and the first aim is at none.
        let process = Process::start(&self.place.env, args, plan);
        self.server.aim(Some(process.pid()), plan.fate);
        process.struck_in_time(plan);
        let (freezes, raced) = (process.freezes(), rival.is_some());
        self.server.aim(None, Fate::Lives);
        if let Some(rival) = rival {
            self.ended(rival, Fate::Lives, true);
        }
        if freezes { self.froze(process, plan) } else { self.ended(process, plan.fate, raced) }
    }

    /// In PostgreSQL it sleeps past its lease; a lock on a file is its own as long as it lives.
    fn froze(&mut self, process: Process, plan: Plan) {
        self.outcome.froze.extend(plan.fate.kill());
        let sleeps = if self.place.store == Store::Sqlite { 0 } else { plan.sleeps };
        self.place.leases_are_over(process.id());
        if let Some(earlier) = self.frozen.replace(Frozen { process, sleeps }) {
            self.wakes(earlier);
        }
    }

    fn wake(&mut self) {
        if let Some(frozen) = self.frozen.take() {
            self.wakes(frozen);
        }
    }

    /// It changes nothing of what has ended meanwhile.
    fn wakes(&mut self, frozen: Frozen) {
        // One that froze after it sleeps on.
        let still_asleep: Vec<_> = self.frozen.iter().map(|frozen| frozen.process.id()).collect();
        self.place.is_quiet(&[&still_asleep[..], &[frozen.process.id()]].concat());
        let before = (self.place.states(), self.server.asked());
        frozen.process.signal(Signal::CONT);
        let ended = frozen.process.ended();
        assert!(matches!(ended.code, Some(0 | 2 | 75)), "{:?}: {}; {}", ended.code, ended.said, self.story());
        if before.0.iter().any(|state| state.status.is_terminal()) {
            self.outcome.overtaken += 1;
            self.place.is_quiet(&still_asleep);
            assert!(before == (self.place.states(), self.server.asked()), "9: it woke and changed something; {}", self.story());
        }
    }

    fn ended(&mut self, process: Process, fate: Fate, raced: bool) {
        let (args, ended) = (process.args.clone(), process.ended());
        let raced = raced || !self.outcome.froze.is_empty();
        match (ended.code, fate) {
            (None, Fate::Dies(kill)) => self.outcome.died.push(kill),
            (Some(0 | 75), _) => {}
            // Another one holds the chain, or has ended it.
            (Some(2), _) if raced => self.outcome.beaten += 1,
            (code, _) => panic!("`{args}` ended with {code:?}: {}; {}", ended.said, self.story()),
        }
    }

    fn story(&self) -> String {
        format!("{:?}: died {:?}, froze {:?}", self.place.store, self.outcome.died, self.outcome.froze)
    }
}

/// Plugins and grants for chains whose tools reach `port`.
pub fn prepare(place: &Place, port: u16, believed: bool) {
    place.env.add_guest("courier");
    let word = if believed { "believe" } else { "show" };
    // One machine with one clock waits as long as that says.
    let rules = if place.store == Store::Postgres { IN_TIME } else { "" };
    place.env.grants(&format!("{GRANTS}{rules}").replace("PORT", &port.to_string()).replace("RECONCILE", word));
}

/// What a person finds who looks at the witnesses.
pub fn doubt(place: &Place, server: &Server, state: &ChainState, pause: &Pause, why: &'static str) -> Doubt {
    let happened = match pause.tool.as_str() {
        "files__delete" => {
            let path = pause.arguments["path"].as_str().unwrap().replacen("/build", "work/build", 1);
            !place.env.path(&path).exists()
        }
        "courier__post" => server.has(&state.calls[&pause.call].idempotency_key(state)),
        other => panic!("{other} is in doubt, and it is not `once`"),
    };
    (pause.tool.clone(), happened, why)
}

/// A read, a `once` and an `idempotent` effect side by side; then a file written, one deleted after an approval, and two
/// identical calls on purpose.
pub fn turns(port: u16, old: &str, new: &str) -> serde_json::Value {
    let call = |tool: &str, path: &str| {
        let url = format!("http://127.0.0.1:{port}/{path}");
        json!({"id": path, "name": format!("courier__{tool}"), "arguments": {"url": url}})
    };
    let write = json!({"id": "w", "name": "files__write", "arguments": {"path": format!("/build/{new}"), "content": "new"}});
    let delete = json!({"id": "d", "name": "files__delete", "arguments": {"path": format!("/build/{old}")}});
    json!([
        {"tool_calls": [call("look", "l"), call("post", "a"), call("put", "b")]},
        {"tool_calls": [write, delete, call("post", "c"), call("post", "c")]},
        {"text": "Done."}
    ])
}

/// Calls of each tool that the script asks for.
pub const CALLS: [(&str, usize); 5] = [("courier__look", 1), ("courier__post", 3), ("courier__put", 1), ("files__write", 1), ("files__delete", 1)];
