//! A call of several steps that waits between them until a server answers: what the operator does meanwhile is seen by
//! the next step.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};

use pausegate_sdk::http as sdk_http;
use pausegate_sdk::{Result, tool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::files::{One, attempt};
use crate::values::said;

/// One of these.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Step {
    /// As `fs` would.
    fs: Option<One>,
    /// Adds a byte to a file that stays open from the first such step on.
    append: Option<String>,
    /// Reads a byte of a file that stays open.
    read: Option<String>,
    /// Asks for this URL.
    get: Option<String>,
    /// Sets this key.
    set: Option<String>,
    /// Reads this key.
    value: Option<String>,
}

#[derive(Default)]
struct Open(HashMap<String, File>);

/// Takes the steps one after the other; before each but the first it asks `gate` and waits. A line for each.
#[tool]
pub(crate) fn step_by_step(gate: String, steps: Vec<Step>) -> Result<String> {
    let mut open = Open::default();
    let mut lines = Vec::new();
    for (index, step) in steps.into_iter().enumerate() {
        if index > 0 {
            sdk_http::get(&gate).send()?;
        }
        lines.push(take(step, &mut open)?);
    }
    Ok(lines.join("\n"))
}

fn take(step: Step, open: &mut Open) -> Result<String> {
    let told = |done: std::io::Result<()>| done.map_or_else(|error| format!("error: {:?}", error.kind()), |()| "ok".to_owned());
    Ok(match step {
        Step { fs: Some(one), .. } => attempt(one.op, &one.path, one.to, None)?,
        Step { append: Some(path), .. } => {
            let file = open.file(&path, OpenOptions::new().append(true));
            told(file.and_then(|file| file.write_all(b"x")))
        }
        Step { read: Some(path), .. } => {
            let file = open.file(&path, OpenOptions::new().read(true));
            told(file.and_then(|file| file.read_exact(&mut [0])))
        }
        Step { get: Some(url), .. } => match sdk_http::get(url).send() {
            Ok(response) => format!("ok: {}", response.status),
            Err(error) => format!("error: {}", error.kind().as_str()),
        },
        Step { set: Some(key), .. } => said("set", &key, "x", 0),
        Step { value: Some(key), .. } => said("get", &key, "", 0),
        _ => "nothing".to_owned(),
    })
}

impl Open {
    fn file(&mut self, path: &str, how: &OpenOptions) -> std::io::Result<&mut File> {
        if !self.0.contains_key(path) {
            self.0.insert(path.to_owned(), how.open(path)?);
        }
        Ok(self.0.get_mut(path).expect("just put there"))
    }
}
