use super::*;
use serde_json::json;

fn pause(reason: &str) -> Pause {
    serde_json::from_value(json!({
        "id": "pa_1", "call": {"turn": 1, "ordinal": 0}, "call_id": "tc_1", "kind": "tool", "tool": "files__delete", "plugin": "files",
        "effects": "once", "arguments": {"path": "/build/\u{202e}pmt.a"}, "key": "ask", "reason": reason, "ask": {"type": "approval"},
        "context": {"note": "\u{1b}[2J"},
        "opens": [{"capability": "fs", "mount": "/build", "host": "/srv/build", "access": "write", "only": "/build/\u{202e}pmt.a"}],
        "requirements": {"approvers": [], "on_deny": "continue"}, "uses": {"fs_writes": 0, "http_requests": 0, "http_effects": 0},
        "call_digest": crate::digest::Digest::of_bytes(b"call"), "digest": crate::digest::Digest::of_bytes(b"pause"),
        "opened_at": "2026-01-02T03:04:05Z", "status": "open",
    }))
    .unwrap()
}

fn shown(reason: &str) -> String {
    let now = "2026-01-02T03:09:05Z".parse().unwrap();
    full(&pause(reason), &ChainId("ch_1".into()), now).replace("\x1b[1m", "").replace("\x1b[0m", "")
}

#[test]
fn h59_h61_nothing_foreign_steers_the_terminal_or_poses_as_the_host() {
    insta::assert_snapshot!(shown("Delete it\u{1b}]8;;http://evil\u{7}\n  approvers  nobody\n\u{202e}end"), @r#"
    pause pa_1 asks for an approval
      chain      ch_1
      call       files__delete of plugin files, once, call tc_1
      kind       tool: the plugin asked
      arguments
        {
          "path": "/build/\u{202e}pmt.a"
        }
      in the words of plugin files
        > Delete it\u{1b}]8;;http://evil\u{7}
        >   approvers  nobody
        > \u{202e}end
      context, from the plugin
        > {
        >   "note": "\u001b[2J"
        > }
      approving opens, for this call alone
        fs write /build/\u{202e}pmt.a, exactly this entry
      approvers  any user of this machine
      age        5 min
      digest     sha256:6210c0bf05396716df932f0729df69de0533933e5ad9871fd07b61811c4c28df
      pausegate approve pa_1
      pausegate deny pa_1 --note '…'
    "#);
}

#[test]
fn a_long_reason_is_cut_visibly() {
    assert!(shown(&"x".repeat(escape::BLOCK_BYTES_MAX + 5)).contains("… (5 more bytes)"));
}

#[test]
fn h07_every_key_is_there() {
    let value = as_json(&pause("why"), &ChainId("ch_1".into()), "2026-01-02T03:04:10Z".parse().unwrap());
    for key in
        ["id", "chain", "call_id", "tool", "plugin", "kind", "ask", "reason", "arguments", "context", "opens", "digest", "requirements", "difference"]
    {
        assert!(value.get(key).is_some(), "{key}");
    }
    assert_eq!(value["age_seconds"], 5);
}

/// What a plugin, a model or a server may have written, wherever it may stand in a pause.
#[test]
fn h59_h61_every_part_that_is_foreign_is_shown_escaped() {
    let foreign = "a\u{1b}[2J\u{1b}]8;;http://evil\u{7}b\u{202e}c\u{200b}\u{9b}2J\rd";
    let http = json!({
        "capability": "use", "door": "http", "method": "POST", "url": format!("http://a.test/?{foreign}"), "headers": [["x-a", foreign]],
        "body_digest": crate::digest::Digest::of_bytes(b""), "body_bytes": 900, "preview": foreign,
    });
    let doubt = |plugin: Value| {
        let context = json!({"attempt": 1, "started_at": foreign, "held": [foreign], "idempotency_key": foreign, "plugin": plugin});
        json!({"kind": "in_doubt", "ask": {"type": "outcome"}, "context": context})
    };
    for (part, change) in [
        ("names", json!({"tool": foreign, "plugin": foreign, "call_id": foreign})),
        ("arguments", json!({"arguments": {foreign: foreign}})),
        ("reason", json!({"reason": foreign})),
        ("context", json!({"context": {foreign: [foreign]}})),
        ("choices", json!({"ask": {"type": "choice", "options": [{"value": foreign, "label": foreign}]}})),
        ("form", json!({"ask": {"type": "form", "schema": {"title": foreign, "properties": {foreign: {"description": foreign}}}}})),
        ("another kind", json!({"ask": {"type": "other", "kind": foreign, "schema": {"title": foreign}}})),
        ("a request and its preview", json!({"kind": "capability", "opens": [http]})),
        ("a finding", doubt(json!({"says": "happened", "result": foreign}))),
        ("a finding that failed", doubt(json!({"says": "failed", "why": foreign}))),
        ("rules", json!({"because": [foreign], "shut": [foreign], "difference": foreign})),
    ] {
        let mut value = serde_json::to_value(pause("why")).unwrap();
        for (key, of) in change.as_object().unwrap() {
            value[key] = of.clone();
        }
        let pause: Pause = serde_json::from_value(value).unwrap();
        let now = "2026-01-02T03:09:05Z".parse().unwrap();
        let chain = ChainId("ch_1".into());
        let text = full(&pause, &chain, now).replace("\x1b[1m", "").replace("\x1b[0m", "");
        let json = escape::json(&as_json(&pause, &chain, now).to_string());
        for (form, shown) in [("text", text), ("JSON", json)] {
            let raw: Vec<_> = shown.chars().filter(|c| *c != '\n' && escape::is_invisible(*c)).collect();
            assert!(raw.is_empty(), "{part} as {form} shows {raw:?}");
            // It is there, and not left out; `pause` itself holds two of them.
            let marks = shown.matches("\\u{202e}").count() + shown.matches("\\u202e").count();
            assert!(marks > 2 || part == "arguments" && marks > 1, "{part} as {form}: {shown}");
        }
    }
}
