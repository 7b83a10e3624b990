//! What a guest can make the host keep: handles, headers, long strings, long lists.

use anyhow::anyhow;
use pausegate_sdk::{Call, Question, Result, log, tool};

use bindings::wasi::clocks::monotonic_clock::subscribe_duration;
use bindings::wasi::http::types::Fields;

/// Makes this many pollables and keeps them.
#[tool(effects = "read-only")]
pub(crate) fn pollables(n: u32) -> Result<String> {
    let held: Vec<_> = (0..n).map(|_| subscribe_duration(u64::MAX)).collect();
    Ok(format!("held {}", held.len()))
}

/// Puts this many headers into one set.
#[tool(effects = "read-only")]
pub(crate) fn headers(n: u32) -> Result<String> {
    let fields = Fields::new();
    for number in 0..n {
        fields.append(&format!("x-{number}"), b"value").map_err(|error| anyhow!("header {number}: {error:?}"))?;
    }
    Ok(format!("held {n}"))
}

/// Writes one log line of this size.
#[tool(effects = "read-only")]
pub(crate) fn logline(mib: usize) -> Result<String> {
    log::info!("{}", "x".repeat(mib << 20));
    Ok(format!("logged {mib} MiB"))
}

/// Pauses for a choice among this many.
#[tool(effects = "read-only")]
pub(crate) fn choices(call: &Call, n: u32) -> Result<String> {
    call.ask("one", Question::choice("Which?", (0..n).map(|number| number.to_string())))
}

mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit",
        inline: "package probe:hoards; world imports { import wasi:clocks/monotonic-clock@0.2.12; import wasi:http/types@0.2.12; }",
        world: "probe:hoards/imports",
        generate_all,
    });
}
