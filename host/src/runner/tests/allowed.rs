//! What a rule lets through is a list: it is judged on the values that were read, and whatever else there is is asked about.

use serde_json::{Value, json};

use super::twins::{World, behave, pauses, rule, say};
use crate::call::CallStatus;
use crate::capability::{Except, Grants, Rule, Verdict};

/// Ways around `git *` that look like it, or hold it.
const AROUND: &[&str] = &[
    "git status\nrm -rf /",
    "git status\r\nrm -rf /",
    "git status\u{2028}rm -rf /",
    "git status\u{85}rm -rf /",
    "\ngit status",
    " git status",
    "git\tstatus",
    "git\u{a0}status",
    "sh -c 'git status'",
    "env git status",
    "(git status)",
    "GIT status",
    "\u{ff47}it status",
    "g\u{456}t status",
    "g\u{200b}it status",
    "git \u{202e}sutats",
    "git",
];

/// One turn with a call of `ok` for each command.
fn asking(commands: &[&str]) -> Value {
    let calls = commands.iter().enumerate().map(|(n, command)| json!({"id": format!("c{n}"), "name": "t__ok", "arguments": {"path": command}}));
    json!([{"tool_calls": calls.collect::<Vec<_>>()}, say("done")])
}

#[tokio::test]
async fn w39_wrapped_confusable_and_second_line_forms_of_what_a_rule_allows_are_asked_about() {
    let git = || vec![(vec!["path".to_owned()], "git *".into())];
    let allowing = Grants { default_verdict: Verdict::Ask, rules: vec![Rule { args: git(), ..rule("t__ok", Verdict::Allow) }], ..Grants::default() };
    let excepting = Grants {
        rules: vec![Rule { except: vec![Except { args: git(), ..Except::default() }], ..rule("t__ok", Verdict::Ask) }],
        ..Grants::default()
    };
    let commands: Vec<&str> = ["git status"].into_iter().chain(AROUND.iter().copied()).collect();
    for grants in [allowing, excepting] {
        let mut world = World::with(asking(&commands), grants, behave);
        world.settings.calls_per_turn = commands.len() as u32;
        let report = world.run().await;
        for (call, command) in report.state.calls.values().zip(&commands) {
            let expected = if *command == "git status" { CallStatus::Succeeded } else { CallStatus::Paused };
            assert_eq!(call.status, expected, "{command:?}");
        }
        assert_eq!((world.ran().len(), pauses(&report.state).len()), (1, AROUND.len()), "no plugin code ran for the others");
    }
}
