use serde_json::json;

use super::*;

const ENTRY: &str = r#"{ exact = '{"path":"/build/a.tmp"}', until = 2026-12-31 }"#;
const NAMED: &str = r#"{ tool = "files__delete", exact = '{"path":"/build/a.tmp"}', until = 2026-12-31 }"#;

fn standing(arguments: &Value) -> Standing<'_> {
    Standing { tool: "files__delete", arguments, until: "2026-12-31".parse().unwrap(), today: "2026-06-01".parse().unwrap() }
}

/// The file after `files__delete` of `/build/a.tmp` was allowed for good, or why it was not.
fn allowed(text: &str) -> Result<(Placed, String), String> {
    allowed_for(text, &json!({"path": "/build/a.tmp"}))
}

fn allowed_for(text: &str, arguments: &Value) -> Result<(Placed, String), String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("grants.toml");
    std::fs::write(&file, text).unwrap();
    let dry = always(&file, &Places::default(), "h", &standing(arguments), Mode::DryRun).map(|placed| placed.text);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "a dry run wrote");
    let placed = always(&file, &Places::default(), "h", &standing(arguments), Mode::Write);
    let after = std::fs::read_to_string(&file).unwrap();
    match placed {
        Ok(placed) => {
            assert_eq!(dry.unwrap(), placed.text);
            let again = always(&file, &Places::default(), "h", &standing(arguments), Mode::Write).unwrap();
            assert!(again.stood_before() && std::fs::read_to_string(&file).unwrap() == after, "the second time changed something:\n{after}");
            Ok((placed, after))
        }
        Err(error) => {
            assert_eq!(after, text);
            Err(format!("{error} | {}", error.hint().unwrap_or_default()))
        }
    }
}

#[test]
fn w68_only_the_entry_is_added_to_the_rule_that_asks() {
    let rule = |except: &str| {
        format!("version = 1 # mine\n[[rules]] # careful\ntool = \"files__delete\"\neffect = \"ask\" # always\n{except}on_deny = \"stop\"\n")
    };
    for (before, after) in [
        (rule(""), rule(&format!("except = [{ENTRY}]\n"))),
        (rule("except = []\n"), rule(&format!("except = [{ENTRY}]\n"))),
        (rule("except = [{ args.path = \"/x\" }] # one\n"), rule(&format!("except = [{{ args.path = \"/x\" }}, {ENTRY}] # one\n"))),
        (rule("except = [{ args.path = \"/x\" },]\n"), rule(&format!("except = [{{ args.path = \"/x\" }}, {ENTRY},]\n"))),
        (
            rule("except = [\n    # why\n    { args.path = \"/x\" }, # x, too\n]\n"),
            rule(&format!("except = [\n    # why\n    {{ args.path = \"/x\" }}, # x, too\n    {ENTRY},\n]\n")),
        ),
        (
            rule("except = [\n    { args.path = \"/x\" } # x, too\n]\n"),
            rule(&format!("except = [\n    {{ args.path = \"/x\" }}, # x, too\n    {ENTRY},\n]\n")),
        ),
        (
            rule("except = [{ args.path = \"/x\" },\n  { args.path = \"/y\" }]\n"),
            rule(&format!("except = [{{ args.path = \"/x\" }},\n  {{ args.path = \"/y\" }}, {ENTRY}]\n")),
        ),
    ] {
        for (before, after) in [(before.clone(), after.clone()), (before.replace('\n', "\r\n"), after.replace('\n', "\r\n"))] {
            let (placed, text) = allowed(&before).unwrap_or_else(|error| panic!("{error}\n{before}"));
            assert_eq!(text, after);
            assert_eq!((placed.rules, placed.added, placed.text), (vec![2], false, format!("{ENTRY}\n")));
        }
    }
}

#[test]
fn a_rule_for_many_tools_lets_only_the_one_pass() {
    let before = "version = 1\nrules = [{ tool = \"files__*\", effect = \"ask\" }]\n";
    let (_, after) = allowed(before).unwrap();
    assert_eq!(after, format!("version = 1\nrules = [{{ tool = \"files__*\", effect = \"ask\", except = [{NAMED}] }}]\n"));
    let grants = grants::read(after.as_bytes(), Path::new("/g"), &Places::default(), "h").unwrap();
    let arguments = json!({"path": "/build/a.tmp"});
    let passing = |tool: &str, arguments: &Value| grants.rules[0].except[0].covers(tool, arguments);
    assert!(passing("files__delete", &arguments) && !passing("files__write", &arguments));
    assert!(!passing("files__delete", &json!({"path": "/build/a.tmp", "force": true})), "one argument more is another call");
}

#[test]
fn every_rule_that_asks_gets_the_entry() {
    let asking = |tool: &str, except: &str| format!("[[rules]]\ntool = \"{tool}\"\neffect = \"ask\"\n{except}");
    let other = "[[rules]]\ntool = \"files__delete\"\neffect = \"ask\"\nargs = { path = \"/other/**\" }\n";
    let before = format!("version = 1\n{}{other}{}", asking("*", ""), asking("files__delete", ""));
    let after =
        format!("version = 1\n{}{other}{}", asking("*", &format!("except = [{NAMED}]\n")), asking("files__delete", &format!("except = [{ENTRY}]\n")));
    assert_eq!(allowed(&before).unwrap().1, after);
}

#[test]
fn where_no_rule_asks_one_is_added_that_asks_for_all_else() {
    for (before, gap) in [("version = 1\n", "\n"), ("version = 1", "\n\n"), ("version = 1\n[defaults]\ntools = \"ask\"\n", "\n")] {
        let (placed, after) = allowed(before).unwrap();
        assert_eq!(after, format!("{before}{gap}[[rules]]\ntool = \"files__delete\"\neffect = \"ask\"\nexcept = [{ENTRY}]\n"));
        assert!(placed.added);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a/grants.toml");
    always(&file, &Places::default(), "h", &standing(&json!({})), Mode::Write).unwrap();
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("version = 1\n"));
}

#[test]
fn an_entry_that_ran_out_is_followed_by_a_new_one() {
    let old = "{ exact = '{\"path\":\"/build/a.tmp\"}', until = 2026-05-31 }";
    let rule = |entries: &str| format!("version = 1\n[[rules]]\ntool = \"files__delete\"\neffect = \"ask\"\nexcept = [{entries}]\n");
    assert_eq!(allowed(&rule(old)).unwrap().1, rule(&format!("{old}, {ENTRY}")));
}

#[test]
fn arguments_of_any_shape_are_exact() {
    for arguments in [
        json!({}),
        json!({"path": "/build/*", "glob": "**"}),
        json!({"path": "/build/../x//"}),
        json!({"url": "https://api.test/?a=b"}),
        json!({"list": [1, null, {"a": [true]}], "none": null, "empty": {}, "n": 0.5, "big": 9_007_199_254_740_991_i64}),
        json!({"quote": "it's \"so\"\n", "\u{202e}": "b\u{200b}é\u{1f600}"}),
    ] {
        let (placed, after) = allowed_for("version = 1\n", &arguments).unwrap();
        assert!(placed.text.chars().all(|c| c == '\n' || (' '..='~').contains(&c)), "{}", placed.text);
        let grants = grants::read(after.as_bytes(), Path::new("/g"), &Places::default(), "h").unwrap();
        let except = &grants.rules[0].except[0];
        assert!(except.covers("files__delete", &arguments), "{after}");
        assert!(!except.covers("files__delete", &json!({"path": "/build/x"})), "{after}");
    }
}

#[test]
fn what_cannot_be_placed_is_left_alone_and_told() {
    for text in [
        "version = 1\n[[rules]]\ntool = \"*\"\neffect = \"ask\"\n[[rules.except]]\nargs.path = \"/x\"\n",
        "version = 1\nrules = []\n",
        "version = 1\n[[rules]\n",
    ] {
        let error = allowed(text).unwrap_err();
        assert!(error.contains("except = [") || error.contains("expected"), "{error}");
    }
    let long = json!({"text": "x".repeat(20_000)});
    assert!(allowed_for("version = 1\n", &long).unwrap_err().contains("limit"));
}
