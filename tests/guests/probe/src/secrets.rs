//! Every way out of the sandbox for a text that should not leave it.

use std::io::Write;

use pausegate_sdk::http as sdk_http;
use pausegate_sdk::{Call, Content, Failure, Kind, Question, Result, log, tool};
use serde_json::json;

/// Says the text in this way: `text`, `json`, `key`, `blob`, `type`, `error`, `log`, `progress`, `stdout`, `pieces` (of
/// standard error), `panic`, or as a part of a pause.
#[tool(effects = "read-only")]
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "says it there")]
pub(crate) fn say(call: &Call, how: String, text: String) -> Result<Content> {
    let ask = |key: &str, question: Question<serde_json::Value>| call.ask(key, question).map(|_| Content::text("asked"));
    let other = |reason: &str, kind: &str, schema| Question::other(reason, kind, schema);
    let any = || json!({"type": "string"});
    match how.as_str() {
        "json" => return Content::json(&json!({"is": [text]})),
        "key" => return Content::json(&json!({text: 1})),
        "blob" => return Ok(Content::blob("text/plain", text)),
        "error" => return Err(Failure::new(Kind::Failed, text).into()),
        "log" => log::info!("{text}"),
        "progress" => pausegate_sdk::progress(0.5, 1.0, &text),
        "stdout" => println!("{text}"),
        "pieces" => {
            for piece in text.as_bytes().chunks(3) {
                std::io::stderr().write_all(piece)?;
            }
            eprintln!();
        }
        "panic" => panic!("{text}"),
        "pause-key" => return ask(&text, other("Well?", "x", any())),
        "pause-reason" => return ask("q", other(&text, "x", any())),
        "pause-kind" => return ask("q", other("Well?", &text, any())),
        "pause-schema" => return ask("q", other("Well?", "x", json!({"const": text}))),
        "pause-context" => return ask("q", other("Well?", "x", any()).context(json!({"is": text}))),
        "pause-state" => {
            call.save(&text)?;
            return ask("q", other("Well?", "x", any()));
        }
        "pause-choice" => return call.ask("q", Question::choice("Well?", [(text.clone(), text), ("b".into(), "b".into())])).map(Content::text),
        _ => return Ok(Content::text(text)),
    }
    Ok(Content::text("said"))
}

/// Gets the URL, and tells whether a text can be found in all of this guest's memory or in its environment afterwards.
/// The text is given backwards, so that it is not there because it was given.
#[tool(effects = "read-only")]
pub(crate) fn remembers(url: String, backwards: String) -> Result<String> {
    let response = sdk_http::get(url).send()?;
    let in_environment = std::env::vars().any(|(_, value)| value.bytes().rev().collect::<Vec<_>>() == backwards.as_bytes());
    let found = in_environment || stands_in_memory(backwards.as_bytes());
    Ok(format!("{} {found}", response.status))
}

#[cfg(target_family = "wasm")]
#[expect(unsafe_code, reason = "reads its own memory, of which Rust has no notion")]
fn stands_in_memory(backwards: &[u8]) -> bool {
    let bytes = core::arch::wasm32::memory_size(0) << 16;
    // SAFETY: every address below the size of the memory can be read; nothing is made of what stands there but a comparison.
    let at = |address: usize| unsafe { std::ptr::read_volatile(address as *const u8) };
    let last = backwards.len() - 1;
    (1..bytes - last).any(|start| backwards.iter().enumerate().all(|(index, byte)| at(start + last - index) == *byte))
}

/// Outside the sandbox the memory is the test runner's own.
#[cfg(not(target_family = "wasm"))]
fn stands_in_memory(_backwards: &[u8]) -> bool {
    false
}
