//! Time, memory, output, and what is there without a grant.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pausegate_sdk::{Effect, Failure, Json, Kind, Result, log, tool};

use bindings::wasi;

const MIB: usize = 1024 * 1024;

/// Returns the text.
#[tool(effects = "read-only")]
pub(crate) fn echo(text: String) -> Result<String> {
    Ok(text)
}

/// Returns the text, and is declared `once`.
#[tool]
pub(crate) fn echo_once(text: String) -> Result<String> {
    Ok(text)
}

/// Never returns.
#[tool(effects = "read-only")]
pub(crate) fn spin() -> Result<()> {
    loop {
        black_box(());
    }
}

/// Waits, without using the processor.
#[tool(effects = "read-only")]
pub(crate) fn sleep(ms: u64) -> Result<String> {
    std::thread::sleep(Duration::from_millis(ms));
    Ok(format!("slept {ms} ms"))
}

/// Fills this much memory.
#[tool(effects = "read-only")]
pub(crate) fn alloc(mib: usize) -> Result<String> {
    let filled = black_box(vec![1_u8; mib * MIB]);
    Ok(format!("filled {} MiB", filled.len() / MIB))
}

/// Calls itself for ever.
#[tool(effects = "read-only")]
pub(crate) fn recurse() -> Result<String> {
    #[expect(unconditional_recursion, reason = "overflows the stack")]
    fn deeper(depth: u64) -> u64 {
        // Little of Rust's own stack in memory, so that the engine's runs out first.
        black_box(deeper(depth + 1) ^ depth)
    }
    Ok(deeper(0).to_string())
}

/// Panics unless told that it is ok.
#[tool(effects = "read-only")]
pub(crate) fn boom(ok: bool) -> Result<String> {
    assert!(ok, "boom");
    Ok("ok".into())
}

/// Returns a text of this size.
#[tool(effects = "read-only")]
pub(crate) fn big(mib: usize) -> Result<String> {
    Ok("x".repeat(mib * MIB))
}

/// Fails with a message of this size.
#[tool(effects = "read-only")]
pub(crate) fn bigerror(mib: usize) -> Result<()> {
    Err(Failure::new(Kind::Failed, "x".repeat(mib * MIB)).into())
}

/// Fails, and says that it took effect.
#[tool]
pub(crate) fn fail(message: String) -> Result<()> {
    Err(Failure::new(Kind::Conflict, message).effect(Effect::Happened).retry_after(Duration::from_secs(1)).into())
}

/// Ends the process.
#[tool(effects = "read-only")]
pub(crate) fn exit(code: i32) -> Result<()> {
    std::process::exit(code)
}

/// Writes lines of 100 bytes to standard output and standard error.
#[tool(effects = "read-only")]
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "fills what the host captures")]
pub(crate) fn print(lines: u32) -> Result<String> {
    for line in 0..lines {
        println!("{line:099}");
        eprintln!("{line:099}");
    }
    Ok(format!("printed {lines} lines"))
}

/// Writes log lines of 100 bytes.
#[tool(effects = "read-only")]
pub(crate) fn logflood(lines: u32) -> Result<String> {
    for line in 0..lines {
        log::info!("{line:0100}");
    }
    Ok(format!("logged {lines} lines"))
}

/// Reports progress in this many steps.
#[tool(effects = "read-only")]
pub(crate) fn progress(steps: u32) -> Result<String> {
    for step in 1..=steps {
        pausegate_sdk::progress(step.into(), f64::from(steps), &format!("step {step}"));
    }
    Ok(format!("took {steps} steps"))
}

/// Returns all environment variables.
#[tool(effects = "read-only")]
pub(crate) fn env() -> Result<Json<BTreeMap<String, String>>> {
    Ok(Json(std::env::vars().collect()))
}

/// Returns random bytes in hexadecimal.
#[tool(effects = "read-only")]
pub(crate) fn random(bytes: u64) -> Result<String> {
    Ok(wasi::random::random::get_random_bytes(bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

static CALLS: AtomicU32 = AtomicU32::new(0);

/// Counts the calls that this instance has seen: 1, for each attempt has its own.
#[tool(effects = "read-only")]
pub(crate) fn counter() -> Result<String> {
    Ok((CALLS.fetch_add(1, Ordering::Relaxed) + 1).to_string())
}

mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit/deps/random.wit",
        inline: "package probe:random; world imports { import wasi:random/random@0.2.12; }",
        world: "probe:random/imports",
        generate_all,
    });
}
