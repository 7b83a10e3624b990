//! Plugins that ask: choices, texts, forms, and the answers that fit.

use insta::assert_snapshot;
use serde_json::json;

use super::TestEnvironment;

fn asking(tool: &str, arguments: serde_json::Value) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.script(json!([{"tool_calls": [{"id": "q", "name": tool, "arguments": arguments}]}, {"text": "thanks"}]));
    assert_eq!(env.pausegate(&["run", "ask me", "--model", "script:turns.json", "--auto-approve"]).code, Some(75), "answers no question by itself");
    env
}

#[test]
fn a_choice_is_one_of_its_values() {
    let env = asking("survey__choose", json!({"reason": "which?", "choices": ["red", "blue"]}));
    let pause = &env.pending()[0];
    assert_snapshot!(env.pausegate(&["pending", pause]), @r#"
    $ pausegate pending pa_1
    pause pa_1 asks for a choice
      chain      ch_1
      call       survey__choose of plugin survey, read-only, call q
      kind       tool: the plugin asked
      arguments
        {
          "choices": [
            "red",
            "blue"
          ],
          "reason": "which?"
        }
      in the words of plugin survey
        > which?
      choose one value
        > 1  red
        > 2  blue
      answering opens nothing
      lines behind it
        grants.toml: no rule matches, and the default is tools = "allow"
      approvers  any user of this machine
      age        0 s
      digest     sha256:…
      pausegate respond pa_1 --choice VALUE
      pausegate deny pa_1 --note '…'

    --- exit 0
    "#);
    assert_snapshot!(env.pausegate(&["respond", pause, "--choice", "green"]), @r"
    $ pausegate respond pa_1 --choice green
    --- stderr
    error: the answer does not fit: the answer must be one of `red`, `blue`
    --- exit 65
    ");
    assert_snapshot!(env.pausegate(&["approve", pause]), @r"
    $ pausegate approve pa_1
    --- stderr
    error: pa_1 asks for a choice; answer it with `respond`, or `deny` it
    --- exit 65
    ");
    assert_snapshot!(env.pausegate(&["respond", pause, "--choice", "blue"]), @r#"
    $ pausegate respond pa_1 --choice blue
    responded pa_1: survey__choose {"choices":["red","blue"],"reason":"which?"}
    --- stderr
    carry it on with
      pausegate resume ch_1
    --- exit 0
    "#);
    assert_eq!(env.pausegate(&["resume", &env.chains()[0]]).code, Some(0));
}

#[test]
fn s03_nothing_but_an_answer_answers() {
    let env = asking("survey__text", json!({"reason": "when?"}));
    let pause = &env.pending()[0];
    for refused in
        [&["respond", pause][..], &["respond", pause, "--value", ""], &["respond", pause, "--value", "null"], &["respond", pause, "--value", "true"]]
    {
        assert!(matches!(env.pausegate(refused).code, Some(64 | 65)), "{refused:?}");
    }
    assert_eq!(env.pending().len(), 1);
    assert_eq!(env.pausegate(&["respond", pause, "--text", "Friday"]).code, Some(0));
}
