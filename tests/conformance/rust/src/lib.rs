//! The conformance plugin in Rust; `cases.json` says what each tool must do.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

use pausegate_sdk::log::{self, Level};
use pausegate_sdk::{Call, Content, Effect, Failure, Json, Kind, Question, Result, Verdict, Want, config, http, kv, progress, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Hands its text back.
#[tool(effects = "read-only")]
fn echo(
    /// Any text.
    text: String,
) -> Result<String> {
    Ok(text)
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Point {
    x: f64,
    y: f64,
}

/// A thing with parts.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nested {
    /// What it is called.
    name: String,
    #[serde(default)]
    tags: Vec<String>,
    point: Option<Point>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Green,
    Blue,
}

#[derive(Serialize, JsonSchema)]
struct Types {
    string: String,
    integer: i64,
    number: f64,
    boolean: bool,
    list: Vec<i64>,
    map: BTreeMap<String, f64>,
    nested: Nested,
    colour: Colour,
    optional: Option<String>,
    defaulted: i64,
}

/// Hands its arguments back as it read them.
#[tool(effects = "read-only")]
#[expect(clippy::too_many_arguments, reason = "one for each type")]
fn types(
    string: String,
    integer: i64,
    number: f64,
    boolean: bool,
    list: Vec<i64>,
    map: BTreeMap<String, f64>,
    nested: Nested,
    colour: Colour,
    optional: Option<String>,
    #[serde(default = "seven")] defaulted: i64,
) -> Result<Json<Types>> {
    Ok(Json(Types { string, integer, number, boolean, list, map, nested, colour, optional, defaulted }))
}

fn seven() -> i64 {
    7
}

/// Hands any JSON value back.
#[tool(effects = "read-only")]
fn any(value: Value) -> Result<Json<Value>> {
    Ok(Json(json!({ "value": value })))
}

/// Fails as told.
#[tool(effects = "read-only")]
fn fail(kind: String, message: String, retry_after_ms: Option<u64>, effect: Option<String>) -> Result<()> {
    const KINDS: [Kind; 10] = [
        Kind::InvalidInput,
        Kind::NotFound,
        Kind::Denied,
        Kind::AuthRequired,
        Kind::Timeout,
        Kind::RateLimited,
        Kind::Unavailable,
        Kind::TooLarge,
        Kind::Conflict,
        Kind::Failed,
    ];
    let kind = KINDS.into_iter().find(|each| each.as_str() == kind).unwrap_or(Kind::Failed);
    let effect = match effect.as_deref() {
        Some("maybe") => Effect::Maybe,
        Some("happened") => Effect::Happened,
        _ => Effect::None,
    };
    let failure = Failure::new(kind, message).effect(effect);
    Err(retry_after_ms.into_iter().fold(failure, |failure, wait| failure.retry_after(Duration::from_millis(wait))).into())
}

/// Runs into an error that nobody handles.
#[tool(effects = "read-only")]
fn crash() -> Result<String> {
    panic!("on purpose")
}

/// Asks for a yes.
#[tool(effects = "read-only")]
fn approve(call: &Call, reason: String) -> Result<String> {
    call.ask_approval(&*reason)?;
    Ok(format!("approved: {reason}"))
}

/// Asks for two yeses.
#[tool(effects = "read-only")]
fn approve_both(call: &Call, first: String, second: String) -> Result<String> {
    call.ask_approval(&*first)?;
    call.ask_approval(&*second)?;
    Ok(format!("approved: {first}, {second}"))
}

/// Asks for one of several answers.
#[tool(effects = "read-only")]
fn choose(call: &Call, options: Vec<String>) -> Result<String> {
    call.ask("choice", Question::choice("Which one?", options))
}

/// Asks for a colour by its label.
#[tool(effects = "read-only")]
fn paint(call: &Call) -> Result<String> {
    call.ask("colour", Question::choice("Which colour?", [("r", "a warm red"), ("g", "a green")]))
}

/// Asks for free text.
#[tool(effects = "read-only")]
fn text(call: &Call, reason: String) -> Result<String> {
    call.ask("text", Question::text(reason))
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Address {
    /// Street and number.
    street: String,
    city: String,
    remark: Option<String>,
}

/// Asks for an address by a form.
#[tool(effects = "read-only")]
fn form(call: &Call, parcel: String) -> Result<Json<Address>> {
    let question = Question::form::<Address>(format!("Where does {parcel} go?"));
    Ok(Json(call.ask("address", question.context(json!({ "parcel": parcel })))?))
}

/// Asks a question of a kind of its own.
#[tool(effects = "read-only")]
fn rate(call: &Call, subject: String) -> Result<String> {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": 5 });
    let stars = call.ask("stars", Question::other(format!("Rate {subject}"), "conform:stars", schema))?;
    Ok(format!("{subject}: {stars} of 5"))
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
struct Plan {
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wishes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<u8>,
}

/// Asks three questions, and keeps what it learned in saved state.
#[tool(effects = "read-only")]
fn trip(call: &Call, places: Vec<String>) -> Result<Json<Plan>> {
    let mut plan: Plan = call.state()?.unwrap_or_default();
    if plan.place.is_none() {
        plan.place = Some(call.ask("place", Question::choice("Where to?", places))?);
        call.save(&plan)?;
    }
    if plan.wishes.is_none() {
        plan.wishes = Some(call.ask("wishes", Question::text("What do you want to see there?"))?);
        call.save(&plan)?;
    }
    call.ask_approval(Question::approval("Is that the plan?").context(json!(plan)))?;
    plan.asked = Some(3);
    Ok(Json(plan))
}

/// Asks, and drops its own question.
#[tool(effects = "read-only")]
fn swallow(call: &Call) -> Result<String> {
    let _ = call.ask_approval("Is that fine?");
    Ok("nobody was asked".to_owned())
}

/// Saves a long text, then asks.
#[tool(effects = "read-only")]
fn save_much(call: &Call, bytes: usize) -> Result<String> {
    call.save(&"x".repeat(bytes))?;
    call.ask("text", Question::text("What now?"))
}

/// Writes a line at each level.
#[tool(effects = "read-only")]
#[expect(clippy::print_stdout, reason = "lines on standard output belong to what is tried")]
fn say(text: String) -> Result<String> {
    for level in [Level::Trace, Level::Debug, Level::Info, Level::Warn, Level::Error] {
        log::write(level, &text);
    }
    println!("{text}");
    Ok("said".to_owned())
}

/// Reports its progress.
#[tool(effects = "read-only")]
fn count(to: u32) -> Result<String> {
    for done in 0..=to {
        progress(done.into(), f64::from(to), "counting");
    }
    Ok(to.to_string())
}

/// Reads a file.
#[tool(effects = "read-only")]
fn read(path: String) -> Result<String> {
    Ok(std::fs::read_to_string(path)?)
}

/// Writes a file.
#[tool(effects = "once")]
fn write(path: String, text: String) -> Result<String> {
    std::fs::write(path, text)?;
    Ok("written".to_owned())
}

/// Lists a folder.
#[tool(effects = "read-only")]
fn list(path: String) -> Result<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names.join("\n"))
}

/// Makes a GET request.
#[tool(effects = "read-only")]
fn get(url: String) -> Result<Json<Value>> {
    let response = http::get(url).send()?;
    Ok(Json(json!({ "status": response.status, "body": response.text() })))
}

/// Looks up a variable of the environment.
#[tool(effects = "read-only")]
fn env(name: String) -> Result<String> {
    std::env::var(&name).map_err(|_| Failure::new(Kind::NotFound, format!("no variable `{name}`")).into())
}

/// Tells the time.
#[tool(effects = "read-only")]
fn now() -> Result<Json<Value>> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(Json(json!({ "ms": u64::try_from(since.as_millis())? })))
}

/// Rolls a number below 2^48.
#[tool(effects = "read-only")]
fn random() -> Result<Json<Value>> {
    Ok(Json(json!({ "value": RandomState::new().hash_one(0) >> 16 })))
}

/// Makes a long text.
#[tool(effects = "read-only")]
fn big(bytes: usize) -> Result<String> {
    Ok("x".repeat(bytes))
}

/// Counts the bytes of its text as UTF-8.
#[tool(effects = "read-only")]
fn length(text: String) -> Result<Json<Value>> {
    Ok(Json(json!({ "bytes": text.len() })))
}

/// Hands back text that is not Unicode.
#[tool(effects = "read-only")]
fn broken() -> Result<String> {
    Ok(String::from_utf8_lossy(b"a\xffb").into_owned())
}

/// Hands back text, a value and bytes.
#[tool(effects = "read-only")]
fn pieces() -> Result<Vec<Content>> {
    Ok(vec![Content::text("one"), Content::json(&json!({ "two": 2 }))?, Content::blob("image/png", *b"\x89PNG")])
}

/// Hands nothing back.
#[tool(effects = "read-only")]
fn nothing() -> Result<()> {
    Ok(())
}

/// Tells what it knows of its call.
#[tool(effects = "read-only")]
fn about(call: &Call) -> Result<Json<Value>> {
    Ok(Json(json!({
        "tool": call.tool(),
        "attempt": call.attempt(),
        "approved": call.approved(),
        "has_id": !call.id().is_empty(),
        "has_key": !call.idempotency_key().is_empty(),
        "has_time": !call.time_left().is_zero(),
    })))
}

/// Counts its calls in memory, which does not last.
#[tool(effects = "read-only")]
fn counter() -> Result<String> {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNTED: AtomicU32 = AtomicU32::new(0);
    Ok((COUNTED.fetch_add(1, Ordering::Relaxed) + 1).to_string())
}

/// Keeps a text under a key.
#[tool(effects = "once")]
fn keep(key: String, value: String) -> Result<String> {
    kv::set(&key, value)?;
    Ok("kept".into())
}

/// Tells what is kept under a key.
#[tool(effects = "read-only")]
fn kept(key: String) -> Result<String> {
    Ok(if kv::exists(&key)? { kv::get_text(&key)?.unwrap_or_default() } else { format!("nothing under `{key}`") })
}

/// Takes a key away.
#[tool(effects = "once")]
fn forget(key: String) -> Result<String> {
    kv::delete(&key)?;
    Ok("forgotten".into())
}

/// Lists the keys that are kept.
#[tool(effects = "read-only")]
fn keys() -> Result<String> {
    Ok(kv::keys()?.join("\n"))
}

/// Tells a setting of the operator's.
#[tool(effects = "read-only")]
fn setting(name: String) -> Result<String> {
    let all = config::all()?.len();
    Ok(config::get(&name)?.map_or_else(|| format!("none of {all}"), |value| format!("{value}, of {all}")))
}

/// A write is there or it is not; a file that says so was refused.
fn found(call: &Call) -> Result<Verdict> {
    let text: String = call.argument("text")?;
    match std::fs::read_to_string(call.argument::<String>("path")?) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Verdict::NotHappened),
        Err(error) => Err(error.into()),
        Ok(held) if held == text => Verdict::happened("written"),
        Ok(held) if held == "refused" => Ok(Verdict::Happened(Err(Failure::new(Kind::Conflict, "it was refused")))),
        Ok(_) => Ok(Verdict::Unknown),
    }
}

pausegate_sdk::export! {
    tools: [
        echo, types, any, fail, crash, approve, approve_both, choose, paint, text, form, rate, trip, swallow, save_much, say, count, read,
        write, list, get, env, now, random, big, length, broken, pieces, nothing, about, counter, keep,
        kept, forget, keys, setting,
    ],
    wants: [Want::fs("/data", "write", "reads and writes test files")],
    reconcile: found,
}
