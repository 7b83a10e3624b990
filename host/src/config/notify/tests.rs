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
[[notify]]
name = "mail"
kind = "email"
url = "smtp://mail.example"
from = "Pausegate <gate@example.com>"
to = ["alice@example.com", "Bob B. <bob+gate@sub.example.com>"]
user = "gate"
password = { source = "file", path = "mail.key" }
authority = "ca.pem"
"#,
    )
    .unwrap();
    let names: Vec<_> = channels.iter().map(|channel| (channel.name.as_str(), channel.hears.as_slice(), channel.details)).collect();
    let usual = [Topic::Pause, Topic::Blocked];
    assert_eq!(
        names,
        [
            ("ops", [Topic::Pause, Topic::Ended].as_slice(), false),
            ("chat", &usual, true),
            ("phone", &usual, true),
            ("hook", &usual, true),
            ("mail", &usual, true)
        ]
    );
    let files: Vec<_> = channels.iter().flat_map(Channel::files).collect();
    assert_eq!(
        files,
        [
            ("a secret's file", "/home/a/slack.url".into()),
            ("a notification's command", "/home/a/bin/tell".into()),
            ("a secret's file", "/home/a/mail.key".into()),
            ("a notification's `authority`", "/home/a/ca.pem".into())
        ]
    );
    assert_eq!(channels.iter().map(|channel| channel.secrets().len()).collect::<Vec<_>>(), [1, 2, 0, 0, 1]);
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
    config.toml:3: `notify.kind` must be webhook | slack | ntfy | command | email, not "pigeon"
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

#[cfg(feature = "email")]
#[test]
fn h68_mail_goes_over_tls_to_addresses_that_are_nothing_else() {
    let read_mail = |rest: &str| {
        let read = read_text(&format!("[[notify]]\nname = \"a\"\nkind = \"email\"\n{rest}"))?;
        let Receiver::Email(mail) = &read[0].to else { return Err("no mail".to_owned()) };
        Ok(mail.clone())
    };
    let people = "from = \"gate@example.com\"\nto = [\"alice@example.com\"]";
    let server = |url: &str| {
        read_mail(&format!("url = \"{url}\"\n{people}")).map(|mail| format!("{} {} {:?}", mail.server.host, mail.server.port, mail.server.security))
    };
    assert_eq!(server("smtps://mail.example").unwrap(), "mail.example 465 Tls");
    assert_eq!(server("smtp://[2001:db8::1]:2525").unwrap(), "[2001:db8::1] 2525 StartTls");
    let relay = read_mail(&format!("url = \"smtp://127.1:25\"\nprivate = true\nplain = true\n{people}")).unwrap();
    assert_eq!((relay.server.host.to_string(), relay.server.security), ("127.0.0.1".to_owned(), Security::Plain));
    let login = "user = \"gate\"\npassword = { source = \"env\", name = \"P\" }";
    let refused: Vec<String> = [
        "url = \"https://mail.example\"".to_owned(),
        "url = \"smtp://gate:pw@mail.example\"".into(),
        "url = \"smtp://mail.example/x\"".into(),
        "url = \"smtp://mail.example\"\nplain = true".into(),
        "url = \"smtps://mail.example\"\nprivate = true\nplain = true".into(),
        format!("url = \"smtp://mail.example\"\nprivate = true\nplain = true\n{login}"),
        "url = \"smtp://mail.example\"\nuser = \"gate\"".into(),
        "url = \"smtp://mail.example\"\npassword = \"s3cret\"".into(),
    ]
    .iter()
    .map(|text| read_mail(&format!("{text}\n{people}")).expect_err(text))
    .collect();
    insta::assert_snapshot!(refused.join("\n"), @r#"
    config.toml:4: `notify.url` must begin with `smtps://` or `smtp://` | write `smtps://mail.example` or `smtp://mail.example:587`
    config.toml:4: `notify.url` may hold no name and password; they are `user` and `password` | write `smtps://mail.example` or `smtp://mail.example:587`
    config.toml:4: `notify.url` may hold nothing behind its host and port | write `smtps://mail.example` or `smtp://mail.example:587`
    config.toml:4: `notify.url` is spoken to without TLS; `plain` needs `private = true` | write `smtps://mail.example` or `smtp://mail.example:587`
    config.toml:4: `notify.url` begins with `smtps://`, which `plain` contradicts | write `smtps://mail.example` or `smtp://mail.example:587`
    config.toml:1: `plain` and `password` do not go together: whoever listens on the way would have the password
    config.toml:5: `notify.user` lacks `password` beside it
    config.toml:5: `notify.password` must be a table, not a string | write `{ source = "env", name = "NAME" }`: no value stands in this file
    "#);
    for address in [
        "alice",
        "@example.com",
        "alice@",
        "a b@example.com",
        "alice@example.com\\r\\nBcc: x@example.com",
        "alice@example..com",
        ".a@example.com",
        "alice@-x.com",
        "Alice <alice@example.com",
        "Al\\u202eice <alice@example.com>",
        "<<a@example.com>",
        "älice@example.com",
        "a@exämple.com",
        "a@[127.0.0.1]",
    ] {
        let told = read_mail(&format!("url = \"smtp://mail.example\"\nfrom = \"gate@example.com\"\nto = [\"{address}\"]")).expect_err(address);
        assert!(told.contains("`notify.to` is no address | write `\"alice@example.com\"`"), "{address}: {told}");
    }
    assert!(read_mail("url = \"smtp://mail.example\"\nfrom = \"gate@example.com\"\nto = []").unwrap_err().contains("names 0 people"));
}

#[cfg(not(feature = "email"))]
#[test]
fn without_the_feature_a_channel_of_that_kind_is_refused() {
    let told = read_text("[[notify]]\nname = \"a\"\nkind = \"email\"\nurl = \"smtp://mail.example\"").unwrap_err();
    assert!(told.contains("built without the feature `email`"), "{told}");
}
