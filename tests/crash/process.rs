//! One process of the real binary, and how it is waited for.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::clock;
use super::kill::{Kill, Plan};
use crate::e2e::TestEnvironment;

pub struct Process {
    child: Child,
    pub args: String,
    /// What it says goes to a file: nobody reads while it is frozen.
    said: PathBuf,
}

pub struct Ended {
    /// `None` where a signal ended it.
    pub code: Option<i32>,
    pub said: String,
}

impl Process {
    pub fn start(env: &TestEnvironment, args: &[&str], plan: Plan) -> Self {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let said = env.path(&format!("said-{}", STARTED.fetch_add(1, Ordering::Relaxed)));
        let file = File::create(&said).unwrap();
        let mut command = env.command();
        command.args(args).stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        if let Some(variable) = plan.fate.variable() {
            command.env("PAUSEGATE_CRASH_AT", variable);
        }
        if let Some(shifts) = plan.clock {
            clock::shift(&mut command, shifts);
        }
        Self { child: command.spawn().unwrap(), args: args.join(" "), said }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// It is not waited for before [`Process::ended`], so this hits nobody else.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Strikes where the plan names a time.
    pub fn struck_in_time(&self, plan: Plan) {
        if let Some(Kill::Time(after)) = plan.fate.kill() {
            std::thread::sleep(after);
            self.signal(plan.fate.signal());
        }
    }

    /// Returns when it has ended or stopped; true where it stopped.
    pub fn freezes(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid()), options).unwrap().unwrap().stopped()
    }

    pub fn ended(mut self) -> Ended {
        let code = self.child.wait().unwrap().code();
        Ended { code, said: std::fs::read_to_string(&self.said).unwrap() }
    }
}
