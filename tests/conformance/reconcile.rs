//! After a crash each language's plugin says what became of its `write`, by looking whether the file is there.

use std::fs;

use serde_json::{Value, json};

use super::LANGUAGES;
use super::world::World;

/// Appends to the journal that one call leads to, at most.
const APPENDS_MAX: usize = 8;

/// A process that was killed after its call was started and before its end was written; `done` says whether the tool had
/// run by then.
fn killed(world: &World, path: &str, done: bool) -> String {
    let arguments = json!({"path": path, "text": "new"}).to_string();
    for append in 1..APPENDS_MAX {
        fs::remove_file(world.env.path("work/data/new.txt")).ok();
        let at = format!("{}:{append}", if done { "before" } else { "after" });
        let ended = world.env.command().args(["call", "conform__write", &arguments]).env("PAUSEGATE_CRASH_AT", at).output().unwrap();
        assert_eq!(ended.status.code(), None, "by a signal: {}", String::from_utf8_lossy(&ended.stderr));
        let Some(chain) = world.env.chains().first().cloned() else { continue };
        let started = call(world, &chain)["status"] == "started";
        if started && (world.data("new.txt") == "new") == done {
            return chain;
        }
    }
    panic!("no append ends with the call started");
}

fn call(world: &World, chain: &str) -> Value {
    world.env.pausegate(&["inspect", chain, "--json"]).json()["calls"][0].clone()
}

fn resumed(world: &World, chain: &str) -> (Option<i32>, Value) {
    let shown = world.env.pausegate(&["resume", chain]);
    (shown.code, call(world, chain))
}

#[test]
fn what_became_of_a_call_is_found_out_in_every_language() {
    for language in &LANGUAGES {
        let world = World::new(language);
        let title = language.title;

        let chain = killed(&world, "/data/new.txt", true);
        let (code, call) = resumed(&world, &chain);
        assert_eq!((code, &call["attempts"], &call["status"]), (Some(0), &json!(1), &json!("succeeded")), "{title}: it happened: {call}");
        assert_eq!(call["result"]["content"][0]["text"], "written", "{title}");

        let chain = killed(&world, "/data/new.txt", false);
        let (code, call) = resumed(&world, &chain);
        assert_eq!((code, &call["attempts"], &call["status"]), (Some(0), &json!(2), &json!("succeeded")), "{title}: it is made again: {call}");
        assert_eq!(world.data("new.txt"), "new");

        let chain = killed(&world, "/data/new.txt", false);
        world.env.write("work/data/new.txt", "refused");
        let (code, call) = resumed(&world, &chain);
        assert_eq!((code, &call["attempts"], &call["result"]["kind"]), (Some(1), &json!(1), &json!("conflict")), "{title}: it failed: {call}");
        assert_eq!((call["result"]["message"].as_str(), world.data("new.txt").as_str()), (Some("it was refused"), "refused"), "{title}");
    }
}

#[test]
fn where_a_plugin_cannot_tell_or_cannot_look_a_person_is_asked_in_every_language() {
    for language in &LANGUAGES {
        let world = World::new(language);
        let chain = killed(&world, "/data/new.txt", false);
        world.env.write("work/data/new.txt", "something else");
        let (code, call) = resumed(&world, &chain);
        assert_eq!((code, &call["attempts"]), (Some(75), &json!(1)), "{}: it cannot be told: {call}", language.title);
        let asked = world.env.pausegate(&["pending", "--json"]).json();
        assert_eq!(asked[0]["kind"], "in_doubt", "{}", language.title);

        // No grant lets it look there.
        let chain = killed(&world, "/elsewhere/new.txt", false);
        let (code, call) = resumed(&world, &chain);
        assert_eq!((code, &call["attempts"]), (Some(75), &json!(1)), "{}: it cannot look: {call}", language.title);
    }
}
