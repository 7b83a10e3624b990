use std::path::Path;

use super::*;
use crate::config::document::Document;

fn read_text(text: &str) -> Result<Vec<Channel>, String> {
    let document = Document::new(Path::new("config.toml"), text.as_bytes()).unwrap();
    let table = document.parse().unwrap();
    let read = document.root(&table).get("notify").map(|item| read(&item, Path::new("/home/a"))).expect("the key is there");
    read.map_err(|error| format!("{error}{}", error.hint().map_or(String::new(), |hint| format!(" | {hint}"))))
}

#[test]
fn channels_of_every_kind_are_read() {
    let channels = read_text(
        r#"
[[notify]]
name = "ops"
kind = "webhook"
url = "https://hooks.example/in"
secret = { source = "env", name = "HOOK_SECRET" }
on = ["pause", "ended", "pause"]
details = false
[[notify]]
name = "chat"
kind = "slack"
url = { source = "file", path = "slack.url" }
signing_secret = { source = "env", name = "SLACK_SIGNING" }
[[notify]]
name = "phone"
kind = "ntfy"
url = "http://127.0.0.1:8080/topic"
private = true
[[notify]]
name = "hook"
kind = "command"
command = ["bin/tell", "--urgent"]
time = "500ms"
"#,
    )
    .unwrap();
    let names: Vec<_> = channels.iter().map(|channel| (channel.name.as_str(), channel.hears.as_slice(), channel.details)).collect();
    let usual = [Topic::Pause, Topic::Blocked];
    assert_eq!(
        names,
        [("ops", [Topic::Pause, Topic::Ended].as_slice(), false), ("chat", &usual, true), ("phone", &usual, true), ("hook", &usual, true)]
    );
    let files: Vec<_> = channels.iter().flat_map(Channel::files).collect();
    assert_eq!(files, [("a secret's file", "/home/a/slack.url".into()), ("a notification's command", "/home/a/bin/tell".into())]);
    assert_eq!(channels.iter().map(|channel| channel.secrets().len()).collect::<Vec<_>>(), [1, 2, 0, 0]);
    assert!(matches!(&channels[3].to, Receiver::Command { time, .. } if time.as_millis() == 500));
}

#[test]
fn h68_what_would_send_in_the_clear_or_hold_a_value_is_refused_with_its_line() {
    let webhook = |rest: &str| format!("[[notify]]\nname = \"a\"\nkind = \"webhook\"\n{rest}");
    let secret = "secret = { source = \"env\", name = \"S\" }";
    let all: Vec<String> = [
        webhook("url = \"http://hooks.example/in\"\n") + secret,
        webhook("url = \"ftp://hooks.example/in\"\nprivate = true\n") + secret,
        webhook("url = \"https://me:pw@hooks.example/in\"\n") + secret,
        webhook("url = \"https://hooks.example/in\"\nsecret = \"s3cret\""),
        webhook("url = \"https://hooks.example/in\""),
        webhook("url = \"https://hooks.example/in\"\nsecret = { source = \"env\" }"),
        webhook("url = \"https://hooks.example/in\"\nhook = 1\n") + secret,
        webhook("on = [\"everything\"]\nurl = \"https://hooks.example/in\"\n") + secret,
        "[[notify]]\nname = \"a\"\nkind = \"command\"\ncommand = \"rm -rf /\"".to_owned(),
        "[[notify]]\nname = \"a\"\nkind = \"command\"\ncommand = [\"tell\"]".to_owned(),
        "[[notify]]\nname = \"a\"\nkind = \"command\"\ncommand = [\"/tell\"]\ntime = \"10m\"".to_owned(),
        "[[notify]]\nname = \"a b\"\nkind = \"command\"\ncommand = [\"/tell\"]".to_owned(),
        "[[notify]]\nname = \"a\"\nkind = \"pigeon\"".to_owned(),
        "[notify]\ncommand = [\"/tell\"]".to_owned(),
    ]
    .iter()
    .map(|text| read_text(text).expect_err(text))
    .collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
    config.toml:4: `notify.url` must begin with `https://`; `http://` only together with `private = true`
    config.toml:4: `notify.url` must begin with `https://`
    config.toml:4: `notify.url` may hold no name and password; a value that is to be kept comes from `{ source = "env", name = "…" }`
    config.toml:5: `notify.secret` must be a table, not a string | write `{ source = "env", name = "NAME" }`: no value stands in this file
    config.toml:1: `notify` lacks `secret`
    config.toml:5: `notify.secret` lacks `name`
    config.toml:5: unknown key `notify.hook` | `notify` may hold: name, kind, on, details, url, private, secret
    config.toml:4: `notify.on` must be pause | decided | blocked | ended, not "everything"
    config.toml:4: `notify.command` must be an array, not a string | write `command = ["/usr/local/bin/tell", "--urgent"]`; no shell reads it
    config.toml:4: `command` must begin with the path of a program | write `command = ["/usr/local/bin/tell", "--urgent"]`; no shell reads it
    config.toml:5: `time` is more than 25 s
    config.toml:2: `notify.name` must be letters, digits, `_` and `-`, at most 64, such as "ops"
    config.toml:3: `notify.kind` must be webhook | slack | ntfy | command, not "pigeon"
    config.toml:1: `notify` must be an array of tables, not a table | write `[[notify]]` with double brackets
    "#);
    let twice = "[[notify]]\nname = \"a\"\nkind = \"command\"\ncommand = [\"/tell\"]\n".repeat(2);
    assert!(read_text(&twice).unwrap_err().contains("is there already"));
}

#[test]
fn a_link_leads_below_an_address_of_the_web() {
    let read = |text: &str| {
        let text = format!("base_url = \"{text}\"");
        let document = Document::new(Path::new("config.toml"), text.as_bytes()).unwrap();
        let table = document.parse().unwrap();
        let url = document.root(&table).get("base_url").map(|item| read_base_url(&item)).unwrap();
        url.map(|url| url.to_string()).map_err(|error| error.to_string())
    };
    assert_eq!(read("https://gate.example/a").unwrap(), "https://gate.example/a/");
    for text in ["gate.example", "javascript:alert(1)", "https://a:b@gate.example", "https://gate.example/?x=1", "https://gate.example/#x"] {
        assert!(read(text).is_err(), "{text}");
    }
}
