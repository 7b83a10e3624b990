//! `check FILE.wasm`, for authors and for operators who were handed a file.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use super::TestEnvironment;

/// A file of the plugin directory, elsewhere.
fn outside(env: &TestEnvironment, name: &str) -> Vec<u8> {
    let bytes = fs::read(env.path("home/.local/share/pausegate/plugins/files.wasm")).unwrap();
    fs::write(env.path("work").join(name), &bytes).unwrap();
    bytes
}

#[test]
fn a_plugin_tells_what_it_needs_and_offers() {
    let env = TestEnvironment::new();
    outside(&env, "mine.wasm");
    let shown = env.pausegate(&["check", "./mine.wasm"]);
    let size = regex::Regex::new(r"\d+ KiB").unwrap();
    let versions = regex::Regex::new(r"@0\.2\.\d+").unwrap();
    let counts = regex::Regex::new(r"\d+ (table elements|core modules)").unwrap();
    let text = size.replace_all(&shown.to_string(), "N KiB").into_owned();
    let text = counts.replace_all(&versions.replace_all(&text, "@0.2.N"), "N $1").into_owned();
    assert_snapshot!(text, @r#"
    $ pausegate check ./mine.wasm
    plugin `mine`, N KiB, sha256:…
    exports
      pausegate:plugin/tools@0.1.0
    imports
      wasi:io/poll@0.2.N  streams and polling: always there
      wasi:clocks/monotonic-clock@0.2.N  clocks: always there
      wasi:io/error@0.2.N  streams and polling: always there
      wasi:io/streams@0.2.N  streams and polling: always there
      pausegate:plugin/types@0.1.0  the contract: always there
      wasi:cli/environment@0.2.N  the environment: what `env` grants
      wasi:cli/exit@0.2.N  always there, and leads nowhere outside
      wasi:cli/stdin@0.2.N  always there, and leads nowhere outside
      wasi:cli/stdout@0.2.N  always there, and leads nowhere outside
      wasi:cli/stderr@0.2.N  always there, and leads nowhere outside
      wasi:cli/terminal-input@0.2.N  always there, and leads nowhere outside
      wasi:cli/terminal-output@0.2.N  always there, and leads nowhere outside
      wasi:cli/terminal-stdin@0.2.N  always there, and leads nowhere outside
      wasi:cli/terminal-stdout@0.2.N  always there, and leads nowhere outside
      wasi:cli/terminal-stderr@0.2.N  always there, and leads nowhere outside
      wasi:clocks/wall-clock@0.2.N  clocks: always there
      wasi:filesystem/types@0.2.N  files: what `fs` lines grant
      wasi:filesystem/preopens@0.2.N  files: what `fs` lines grant
    at rest
      N KiB of memory (a call's limit is 256 MiB unless the grants file sets another), N table elements, N core modules
    plugin `mine` offers
      mine__list (read-only): Lists what is in a folder, one name per line. Folders end with a slash.
      mine__read (read-only): Reads a text file.
      mine__write (idempotent): Writes a text file, in place of what was there.
      mine__delete (once): Deletes a file for good. A person is asked first.
    in its own words it would like
      > fs {"access":"write","mount":"/build"}: lists, reads, writes and deletes files there
        [[plugins.mine.fs]]
        path = "./build"
        mount = "/build"
        access = "write"
    it loads; this host accepts pausegate:plugin/tools@0.1.x
    --- exit 0
    "#);
    let json = env.pausegate(&["check", "./mine.wasm", "--json"]).json();
    assert_eq!((&json["loads"], &json["problems"], json["tools"].as_array().unwrap().len()), (&json!(true), &json!([]), 4));
    assert!(json["at_rest"]["memory_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn what_stops_a_file_from_loading_is_named() {
    let env = TestEnvironment::new();
    let whole = outside(&env, "mine.wasm");
    fs::write(env.path("work/half.wasm"), &whole[..whole.len() / 2]).unwrap();
    fs::write(env.path("work/Bad__Name.wasm"), &whole).unwrap();
    env.write("work/text.wasm", "#!/bin/sh\n");
    env.write("work/empty.wasm", "");
    for (file, problem) in [
        ("half.wasm", "cut off or damaged"),
        ("text.wasm", "not a WebAssembly file"),
        ("empty.wasm", "the file is empty"),
        ("Bad__Name.wasm", "a plugin's file name holds"),
    ] {
        let shown = env.pausegate(&["check", file, "--json"]);
        assert_eq!(shown.code, Some(1), "{shown}");
        let json = shown.json();
        assert_eq!(json["loads"], false);
        assert!(json["problems"][0].as_str().unwrap().contains(problem), "{file}: {shown}");
    }
    assert_eq!(env.pausegate(&["check", "nothing.wasm"]).code, Some(66));
    assert_eq!(env.pausegate(&["check", "."]).code, Some(1));
    assert_eq!(env.pausegate(&["check"]).code, Some(64));
}
