//! Chains that a model's call starts, with the real binary: one queue, one answer, nothing twice.

use serde_json::json;

use super::{FILES_GRANTS, TestEnvironment};

/// The root hands the work to a child, whose model is another; the child deletes a file, which asks.
fn family(env: &TestEnvironment) {
    let child = json!({"turns": [
        {"tool_calls": [{"id": "list", "name": "files__list", "arguments": {"path": "/build"}}]},
        {"tool_calls": [{"id": "a", "name": "files__delete", "arguments": {"path": "/build/a.tmp"}}]},
        {"text": "a.tmp is gone."}
    ]});
    env.write("home/.config/pausegate/child.json", &child.to_string());
    env.grants(&format!("{FILES_GRANTS}\n[children]\nmodel = \"script:child.json\"\n"));
    env.script(json!([
        {"tool_calls": [{"id": "c", "name": "chain", "arguments": {"prompt": "delete a.tmp", "tools": ["files__*"]}}]},
        {"text": "Done."}
    ]));
}

#[test]
fn h10_a_childs_question_stands_in_the_one_queue_with_its_path_and_the_root_is_carried_on() {
    for env in [TestEnvironment::new(), TestEnvironment::on_postgres()] {
        family(&env);
        let run = env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
        assert_eq!(run.code, Some(75), "{run}");
        let [child, root] = &env.chains()[..] else { panic!("two chains: {:?}", env.chains()) };
        assert!(run.stderr.contains(&format!("  chain      {root} › {child}\n")), "{run}");
        assert!(
            run.stderr.contains(&format!("chain {root} waits for {child}; after deciding, carry them on with\n  pausegate resume {root}\n")),
            "{run}"
        );

        let pending = env.pausegate(&["pending", "--json"]).json();
        assert_eq!((&pending[0]["chain"], &pending[0]["path"]), (&json!(child), &json!([root])));
        assert_eq!(pending.as_array().unwrap().len(), 1);
        assert!(env.pausegate(&["pending"]).stdout.contains(&format!("{root} › {child}")));
        let shown = env.pausegate(&["inspect", root]).stdout;
        assert!(shown.contains(&format!("{} open in {root} › {child}: files__delete\n", env.pending()[0])), "{shown}");
        assert!(shown.contains(&format!("chain {root} waiting")) && shown.contains(&format!("its chain is {child}")), "{shown}");
        let said = env.pausegate(&["say", root, "more"]);
        assert!(said.code == Some(2) && said.stderr.contains(&format!("`pausegate cancel {child}`")), "{said}");

        let approved = env.pausegate(&["approve", &env.pending()[0]]);
        assert!(approved.stderr.contains(&format!("pausegate resume {root}\n")), "{approved}");
        let resumed = env.pausegate(&["resume", root]);
        assert_eq!((resumed.code, &*resumed.stdout), (Some(0), "Done.\n"), "{resumed}");
        assert_eq!(env.build(), ["b.tmp", "keep.txt"]);
        let state = env.pausegate(&["inspect", root, "--json"]).json();
        assert_eq!((&state["calls"][0]["status"], &state["calls"][0]["child"]), (&json!("succeeded"), &json!(child)));
        assert_eq!(state["calls"][0]["result"]["content"][0]["text"], "a.tmp is gone.");
        assert_eq!(env.pausegate(&["replay", root]).code, Some(0));
        assert_eq!(env.pausegate(&["audit", "verify"]).code, Some(0));
    }
}

#[test]
fn workers_carry_a_child_and_then_its_parent_on() {
    for env in [TestEnvironment::new(), TestEnvironment::on_postgres()] {
        family(&env);
        env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
        env.pausegate(&["approve", &env.pending()[0]]);
        let worked = env.pausegate(&["work", "--once"]);
        let [child, root] = &env.chains()[..] else { panic!("two chains") };
        // Two workers may tell of them in either order.
        for chain in [child, root] {
            assert!(worked.stdout.contains(&format!("{chain} is completed\n")), "{worked}");
        }
        assert_eq!(env.build(), ["b.tmp", "keep.txt"]);
    }
}

#[test]
fn a_child_is_approved_by_the_same_flag_and_cancelled_with_its_parent() {
    let env = TestEnvironment::new();
    family(&env);
    let run = env.pausegate(&["run", "clean up", "--model", "script:turns.json", "--auto-approve", "--json"]);
    let lines = run.lines();
    assert_eq!((run.code, &lines.last().unwrap()["status"]), (Some(0), &json!("completed")), "{run}");
    assert!(lines.iter().any(|line| line["kind"] == "ChildStarted"));
    assert_eq!(env.build(), ["b.tmp", "keep.txt"]);

    env.write("work/build/a.tmp", "again");
    let run = env.pausegate(&["run", "clean up", "--model", "script:turns.json", "--json"]);
    let last = run.lines().pop().unwrap();
    assert_eq!((&last["status"], last["pauses"].as_array().unwrap().len()), (&json!("waiting"), 1), "{run}");
    let root = last["id"].as_str().unwrap();
    let cancelled = env.pausegate(&["cancel", root, "--note", "enough"]);
    assert_eq!(cancelled.stdout, format!("chain {root} is cancelled\n"), "{cancelled}");
    assert!(env.pausegate(&["pending", "--json"]).json().as_array().unwrap().is_empty());
    assert_eq!(env.build(), ["a.tmp", "b.tmp", "keep.txt"]);
}

#[test]
fn the_tool_is_listed_and_explained_where_it_is_turned_on() {
    let env = TestEnvironment::new();
    assert!(!env.pausegate(&["tools"]).stdout.contains("chain "));
    let refused = env.pausegate(&["explain", "chain", r#"{"prompt": "x"}"#]);
    assert!(refused.code == Some(77) && refused.stdout.contains("[children]"), "{refused}");
    family(&env);
    assert!(env.pausegate(&["tools"]).stdout.contains("chain "));
    assert_eq!(env.pausegate(&["explain", "chain", r#"{"prompt": "x"}"#]).code, Some(0));
    assert_eq!(env.pausegate(&["run", "x", "--model", "script:turns.json", "--only", "files__list"]).code, Some(0), "narrowed away, it is unknown");
}
