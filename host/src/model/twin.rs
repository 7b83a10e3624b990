//! A test twin: turns in memory, and what was asked for them.

use std::sync::Mutex;

use futures_util::future::BoxFuture;

use super::script::{Script, Turn};
use super::{Entry, Model, ModelError, Reply, Request};
use crate::call::ToolSpec;

/// Says its turns and remembers each request.
pub struct Twin {
    script: Script,
    asked: Mutex<Vec<Asked>>,
}

/// A request as the twin saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub calls_before: u32,
    pub system: Option<String>,
    pub history: Vec<Entry>,
    pub tools: Vec<ToolSpec>,
}

impl Twin {
    pub fn new(turns: Vec<Turn>) -> Self {
        Self { script: Script::of("twin", turns), asked: Mutex::default() }
    }

    /// Every request so far, oldest first.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no panic under this lock").clone()
    }
}

impl Model for Twin {
    fn name(&self) -> &str {
        self.script.name()
    }

    fn respond<'a>(&'a self, request: Request<'a>, on_text: &'a (dyn Fn(&str) + Send + Sync)) -> BoxFuture<'a, Result<Reply, ModelError>> {
        self.asked.lock().expect("no panic under this lock").push(Asked {
            calls_before: request.calls_before,
            system: request.system.map(str::to_owned),
            history: request.history.to_vec(),
            tools: request.tools.to_vec(),
        });
        self.script.respond(request, on_text)
    }
}
