//! `secret` on an http line: read strictly, and never its value.

use super::*;
use crate::capability::Secret;
use crate::capability::secret::{Slot, Source};

fn line(url: &str, secret: &str) -> String {
    around(&format!("[[plugins.files.http]]\nurl = \"{url}\"\nmethods = [\"GET\"]\nsecret = {{ {secret} }}"), "")
}

fn secret(text: &str) -> Secret {
    let grants = read_text(&line("https://api.test/v1/{args.city}", text)).unwrap();
    grants.plugins["files"].http[0].secret.clone().unwrap()
}

#[test]
fn a_secret_has_a_name_a_source_and_one_place() {
    assert_eq!(
        secret(r#"name = "WEATHER_KEY", source = "env", header = "Authorization", format = "Bearer {}""#),
        Secret { name: "WEATHER_KEY".into(), source: Source::Env, slot: Slot::Header("authorization".into()), format: "Bearer {}".into() }
    );
    assert_eq!(
        secret(r#"name = "K", source = "file", path = "keys/k", query = "key""#),
        Secret { name: "K".into(), source: Source::File("/pg/keys/k".into()), slot: Slot::Query("key".into()), format: "{}".into() }
    );
}

#[test]
fn w54_a_secret_that_cannot_be_meant_is_refused_with_its_line() {
    let broken = [
        ("no name", r#"source = "env", header = "x-key""#),
        ("name", r#"name = "WEATHER KEY", source = "env", header = "x-key""#),
        ("value in the file", r#"name = "K", value = "0123456789abcdef", header = "x-key""#),
        ("source", r#"name = "K", source = "wallet", header = "x-key""#),
        ("path of a keyring", r#"name = "K", source = "keyring", path = "./k", header = "x-key""#),
        ("path of a variable", r#"name = "K", source = "env", path = "./k", header = "x-key""#),
        ("file without path", r#"name = "K", source = "file", header = "x-key""#),
        ("nowhere", r#"name = "K", source = "env""#),
        ("two places", r#"name = "K", source = "env", header = "x-key", query = "key""#),
        ("no parameter", r#"name = "K", source = "env", query = """#),
        ("no header", r#"name = "K", source = "env", header = "x key""#),
        ("host", r#"name = "K", source = "env", header = "Host""#),
        ("hop by hop", r#"name = "K", source = "env", header = "proxy-authorization""#),
        ("length", r#"name = "K", source = "env", header = "content-length""#),
        ("format without value", r#"name = "K", source = "env", header = "x-key", format = "Bearer""#),
        ("format with two", r#"name = "K", source = "env", header = "x-key", format = "{}:{}""#),
        ("format with a line end", r#"name = "K", source = "env", header = "x-key", format = "{}\r\nx: y""#),
    ];
    let told = |(what, text): (&str, &str)| format!("{what}: {}", report(read_text(&line("https://api.test", text)).expect_err(what)));
    let mut all: Vec<String> = broken.into_iter().map(told).collect();
    let many = line("https://*.api.test/**", r#"name = "K", source = "env", header = "x-key""#);
    all.push(format!("many origins: {}", report(read_text(&many).unwrap_err())));
    insta::assert_snapshot!(all.join("\n"), @r#"
    no name: 7: `plugins.files.http.secret` lacks `name`
    name: 7: `plugins.files.http.secret.name` must be letters, digits and `_`, at most 64, such as "WEATHER_KEY"
    value in the file: 7: unknown key `plugins.files.http.secret.value` | `plugins.files.http.secret` may hold: name, source, path, header, query, format
    source: 7: `plugins.files.http.secret.source` must be env | file | keyring, not "wallet"
    path of a keyring: 7: `plugins.files.http.secret.path` needs `source = "file"`
    path of a variable: 7: `plugins.files.http.secret.path` needs `source = "file"`
    file without path: 7: a secret from a file lacks `path` | add `path = "./NAME.key"`, relative to this file
    nowhere: 7: a secret does not say where it goes | write `header = "authorization"`, or `query = "key"` where the server takes nothing else
    two places: 7: `header` and `query` exclude each other
    no parameter: 7: `plugins.files.http.secret.query` is no parameter
    no header: 7: `plugins.files.http.secret.header`: "x key" is no header
    host: 7: `plugins.files.http.secret.header`: the header host is the host's own
    hop by hop: 7: `plugins.files.http.secret.header`: the header proxy-authorization is the host's own
    length: 7: `plugins.files.http.secret.header`: the header content-length is the host's own
    format without value: 7: `plugins.files.http.secret.format` must be printable ASCII that holds `{}` once, where the value goes, such as "Bearer {}"
    format with two: 7: `plugins.files.http.secret.format` must be printable ASCII that holds `{}` once, where the value goes, such as "Bearer {}"
    format with a line end: 7: `plugins.files.http.secret.format` must be printable ASCII that holds `{}` once, where the value goes, such as "Bearer {}"
    many origins: 7: a secret is sent to one origin, and `*` stands in the host of this line's `url` | write one line for each host
    "#);
}

#[cfg(feature = "keyring")]
#[test]
fn a_keyring_is_read_by_a_program_built_for_it() {
    assert_eq!(secret(r#"name = "K", source = "keyring", header = "x-key""#).source, Source::Keyring);
}

#[cfg(not(feature = "keyring"))]
#[test]
fn a_keyring_is_refused_by_a_program_that_was_not_built_for_it() {
    let line = line("https://api.test", r#"name = "K", source = "keyring", header = "x-key""#);
    insta::assert_snapshot!(report(read_text(&line).unwrap_err()), @r#"7: this program was built without the feature `keyring` | build it with `cargo build --release --features keyring`, or take `source = "env"` or `"file"`"#);
}
