//! What the house promises about its own source: layers, one knower of each outside thing, habits.
//!
//! Reads files and knows no Rust beyond comments and strings. An exception stands in a list here, with its reason, and
//! an exception that nothing needs any more fails too.

mod source;

use std::fs;

use source::{Source, all, host, root};

/// Left uses nothing to its right; names on one line are peers, and only the first line's may use each other.
const LAYERS: &[&[&str]] = &[
    &["chain", "call", "pause", "capability", "digest", "notice", "counted"],
    &["event"],
    &["state"],
    &["clock", "file"],
    &["journal", "model", "plugin", "project"],
    &["runner"],
    &["config", "report"],
    &["notify"],
    &["server", "mcp"],
    &["commands"],
    &["main"],
];

/// Who alone may say a word, and who may all the same.
struct Knower {
    what: &'static str,
    words: &'static [&'static str],
    home: &'static [&'static str],
    but: &'static [(&'static str, &'static str)],
}

const KNOWERS: &[Knower] = &[
    Knower {
        what: "wasmtime",
        words: &["wasmtime", "wasmtime_wasi", "wasmtime_wasi_http", "wasmparser"],
        home: &["plugin/", "plugin.rs"],
        but: &[("project/component.rs", "reads which exports a core module has, which no plugin is yet")],
    },
    Knower { what: "the database", words: &["rusqlite", "sqlx", "tokio_postgres"], home: &["journal/", "journal.rs"], but: &[] },
    Knower { what: "making components", words: &["wit_component", "wit_parser", "include_dir"], home: &["project/", "project.rs"], but: &[] },
    Knower {
        what: "printing",
        words: &["println!", "print!", "eprintln!", "eprint!", "dbg!", "stdout()", "stderr()", ".print()"],
        home: &["report/", "report.rs"],
        but: &[("commands.rs", "clap prints its own help and usage errors")],
    },
    Knower {
        what: "time and randomness",
        words: &[
            "Timestamp::now",
            "SystemTime::now",
            "Zoned::now",
            "Instant::now",
            "Ulid::generate",
            "Ulid::new",
            "Generator::new",
            "rand::",
            "getrandom",
            "with_jitter",
        ],
        home: &["clock.rs"],
        but: &[
            ("plugin/limits.rs", "the deadline of an attempt: monotonic, never stored, nothing is decided by it but `timeout`"),
            ("plugin/http/send.rs", "the rest of that deadline, for one request"),
            ("model/patience.rs", "spreads retries; nothing hangs on how"),
        ],
    },
];

/// No file is longer; past 400 lines a second noun has often moved in.
const LINES_MAX: usize = 700;

#[test]
fn each_module_uses_only_what_stands_to_its_left() {
    let mut found = Vec::new();
    for source in host() {
        found.extend(upward(&source));
    }
    none(found);
}

#[test]
fn each_outside_thing_has_one_knower() {
    let mut found = Vec::new();
    for knower in KNOWERS {
        let mut needed = Vec::new();
        for source in host().iter().filter(|source| !source.is_test() && !source.is_in(knower.home)) {
            let lines = source.code.lines().zip(1..).filter(|(line, _)| knower.words.iter().any(|word| says(line, word)));
            let lines: Vec<_> = lines.map(|(_, number)| number).collect();
            match knower.but.iter().find(|(path, _)| *path == source.path) {
                Some((path, _)) if !lines.is_empty() => needed.push(*path),
                Some(_) => {}
                None => found.extend(
                    lines.iter().map(|number| format!("host/src/{}:{number}: {} is known in {:?} alone", source.path, knower.what, knower.home)),
                ),
            }
        }
        let stale = knower.but.iter().filter(|(path, _)| !needed.contains(path));
        found.extend(stale.map(|(path, _)| format!("the exception of {path} for {} is needed no more", knower.what)));
    }
    none(found);
}

#[test]
fn only_the_journal_speaks_sql() {
    const SQL: &[&str] = &["SELECT ", "INSERT INTO", "INSERT OR", "DELETE FROM", "CREATE TABLE", "PRAGMA "];
    let others = host().into_iter().filter(|source| !source.is_in(&["journal/", "journal.rs"]));
    none(
        others
            .flat_map(|source| at_lines(&source, &source.text, |line| SQL.iter().any(|sql| line.contains(sql)), "SQL stands in journal/ alone"))
            .collect(),
    );
}

#[test]
fn files_are_short_and_named_for_their_module() {
    let mut found = Vec::new();
    for source in all() {
        let lines = source.text.lines().count();
        if lines > LINES_MAX {
            found.push(format!("{} has {lines} lines, over {LINES_MAX}", source.path));
        }
        if source.path.ends_with("/mod.rs") {
            found.push(format!("{}: write `foo.rs` beside `foo/`", source.path));
        }
        if source.path.starts_with("host/src/") && !source.is_test() && !source.text.starts_with("//! ") {
            found.push(format!("{}: a module opens with one line of what it is", source.path));
        }
    }
    none(found);
}

/// `1 plugins`: what is counted is told by `counted`, unless it can never be one.
#[test]
fn a_number_of_things_fits_its_noun() {
    const NOUNS: &[&str] = &[
        "attempts",
        "calls",
        "chains",
        "changes",
        "events",
        "modules",
        "notices",
        "patterns",
        "pauses",
        "plugins",
        "questions",
        "rules",
        "times",
        "tools",
        "tries",
        "turns",
        "votes",
    ];
    // Beyond a limit of more than one.
    const NEVER_ONE: &[&str] = &[
        "offers {} tools, only the first",
        "`only` has {} patterns, the limit is",
        "more than {CHAINS_MAX} chains",
        "more than {FILES_MAX} plugins",
    ];
    let counts = |line: &str| {
        let nouns = NOUNS.iter().flat_map(|noun| line.match_indices(&format!("}} {noun}")).map(|(at, _)| (at, noun.len())).collect::<Vec<_>>());
        let whole = |(at, length): &(usize, usize)| !line[at + 2 + length..].starts_with(is_word);
        line.contains('"') && nouns.filter(whole).count() > 0 && !NEVER_ONE.iter().any(|known| line.contains(known))
    };
    let sources = host().into_iter().filter(|source| !source.is_test());
    let found = sources.flat_map(|source| {
        // What stands behind the tests' mark is cut from `code` alone.
        let lines = source.code.lines().count();
        let text = source.text.lines().take(lines).collect::<Vec<_>>().join("\n");
        at_lines(&source, &text, counts, "a number of one has another word: see `counted`")
    });
    none(found.collect());
}

#[test]
fn every_test_file_is_run() {
    let whole = fs::read_to_string(root().join("tests/it.rs")).unwrap();
    let files = all().into_iter().filter_map(|source| Some(source.path.strip_prefix("tests/")?.strip_suffix(".rs")?.to_owned()));
    let lost = files.filter(|name| !name.contains('/') && name != "it" && !whole.contains(&format!("mod {name};")));
    none(lost.map(|name| format!("tests/{name}.rs is no module of tests/it.rs")).collect());
}

#[test]
fn nothing_is_left_undone_or_silenced_without_a_reason() {
    let mut found = Vec::new();
    for source in all() {
        found.extend(at_lines(&source, &source.text, unfinished, "do it now, or write it down as an issue"));
        found.extend(at_lines(&source, &source.text, skipped, "a test runs, unless another test starts it as a process"));
        if !source.is_test() {
            found.extend(at_lines(&source, &source.code, |line| says(line, "todo!") || says(line, "unimplemented!"), "not done"));
        }
        for (line, attribute) in attributes(&source.code) {
            let silences = attribute.starts_with("allow(") || attribute.starts_with("expect(");
            if silences && !says(&attribute, "reason") {
                found.push(format!("{}:{line}: silence a lint with a reason", source.path));
            }
            if attribute.starts_with("allow(") && source.path.starts_with("host/") {
                found.push(format!("{}:{line}: `#[expect(…)]` says when it is needed no more, `#[allow(…)]` does not", source.path));
            }
        }
    }
    none(found);
}

#[test]
fn every_dependency_says_why() {
    let manifest = fs::read_to_string(root().join("host/Cargo.toml")).unwrap();
    let (mut dependencies, mut before, mut found) = (false, "", Vec::new());
    for line in manifest.lines() {
        if line.starts_with('[') {
            dependencies = line.contains("dependencies");
        } else if dependencies && line.contains(" = ") && !line.starts_with([' ', '#']) && !line.contains(" # ") && !before.starts_with("# ") {
            found.push(format!("host/Cargo.toml: {line}"));
        }
        before = line;
    }
    none(found);
}

#[test]
fn the_map_and_the_readme_are_up_to_date() {
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    let (map, readme) = (read("ARCHITECTURE.md"), read("README.md"));
    let mut found = Vec::new();
    let modules: Vec<_> = host().into_iter().filter(|source| !source.path.contains('/') && source.path != "lib.rs").collect();
    for source in &modules {
        let name = source.module();
        if !map.contains(&format!("`{name}`")) {
            found.push(format!("ARCHITECTURE.md does not name the module `{name}`"));
        }
        if !LAYERS.iter().any(|layer| layer.contains(&name)) {
            found.push(format!("the module `{name}` has no layer"));
        }
    }
    let commands = modules.iter().find(|source| source.path == "commands.rs").expect("the command line");
    for command in variants(&commands.code, "enum Command") {
        if !readme.contains(&format!("`{command}")) {
            found.push(format!("README.md does not name the command `{command}`"));
        }
    }
    none(found);
}

/// `crate::` paths of a file that lead to its right, or to a peer.
fn upward(source: &Source) -> Vec<String> {
    let user = source.module();
    let Some(own) = layer(user) else { return Vec::new() };
    let root = if user == "main" { "pausegate" } else { "crate" };
    let mut found = Vec::new();
    for (line, number) in source.code.lines().zip(1..) {
        for used in paths(line, root) {
            let allowed = used == user || layer(used).is_none_or(|used| used < own || (used == 0 && own == 0));
            if !allowed {
                found.push(format!("host/src/{}:{number}: `{user}` may not use `{used}`", source.path));
            }
        }
    }
    found
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// First segments behind `root::` in a line; of `root::{a, b::c}` both.
fn paths<'l>(line: &'l str, root: &str) -> Vec<&'l str> {
    let prefix = format!("{root}::");
    let mut found = Vec::new();
    for (at, _) in line.match_indices(&prefix) {
        if line[..at].ends_with(is_word) {
            continue;
        }
        let rest = &line[at + prefix.len()..];
        match rest.strip_prefix('{') {
            None => found.push(first_word(rest)),
            Some(list) => {
                let mut depth = 0;
                let top = list.split(|c| {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    c == ',' && depth == 0
                });
                found.extend(top.map(|item| first_word(item.trim_start())));
            }
        }
    }
    found.retain(|word| !word.is_empty());
    found
}

fn first_word(text: &str) -> &str {
    &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())]
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a line has the word, not as a part of a longer one.
fn says(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let starts = !word.starts_with(is_word) || !line[..at].ends_with(is_word);
        let ends = !word.ends_with(is_word) || !line[at + word.len()..].starts_with(is_word);
        starts && ends
    })
}

fn unfinished(line: &str) -> bool {
    // In two pieces, so that this file passes.
    [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X")].iter().any(|mark| says(line, mark))
}

fn skipped(line: &str) -> bool {
    line.trim_start().starts_with(concat!("#[ign", "ore"))
}

/// Line and text of `#[…]` and `#![…]`, without the brackets.
fn attributes(code: &str) -> Vec<(usize, String)> {
    let starts = code.match_indices("#[").map(|(at, _)| at + 2).chain(code.match_indices("#![").map(|(at, _)| at + 3));
    let whole = |at: usize| {
        let mut depth = 1;
        let end = code[at..].find(|c| {
            depth += i32::from(c == '[') - i32::from(c == ']');
            depth == 0
        });
        (code[..at].lines().count(), code[at..].get(..end.unwrap_or(0)).unwrap_or_default().to_owned())
    };
    starts.map(whole).collect()
}

/// Names of an enum's variants as clap shows them.
fn variants(code: &str, name: &str) -> Vec<String> {
    let body = code.split_once(name).expect("it is there").1;
    let body = body.split_once('}').expect("it ends").0;
    body.lines().filter_map(|line| line.trim().split_once('(')).map(|(variant, _)| variant.to_lowercase()).collect()
}

fn at_lines(source: &Source, text: &str, matches: impl Fn(&str) -> bool, why: &str) -> Vec<String> {
    text.lines().zip(1..).filter(|(line, _)| matches(line)).map(|(_, number)| format!("{}:{number}: {why}", source.path)).collect()
}

fn none(found: Vec<String>) {
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn a_use_to_the_right_or_of_a_peer_is_found() {
    let check = |path: &str, code: &str| upward(&Source::new(path, code.into())).len();
    assert_eq!(check("model/open.rs", "use crate::journal::Journal;"), 1);
    assert_eq!(check("state.rs", "fn a(clock: &crate::clock::Clock) {}"), 1);
    assert_eq!(check("state/fold.rs", "use crate::{event::{Event, Stamped}, runner::Host, chain::*};"), 1);
    assert_eq!(check("main.rs", "pausegate::commands::main()"), 0);
    assert_eq!(check("call.rs", "use crate::capability::Held;"), 0);
    assert_eq!(check("runner/open.rs", "use crate::journal::Append; // crate::commands"), 0);
}

#[test]
fn a_word_is_found_whole() {
    assert!(says("println!(x)", "println!") && !says("eprintln!(x)", "println!"));
    assert!(says("io::stderr().lock()", "stderr()") && !says("error.use_stderr()", "stderr()"));
    assert!(unfinished(concat!("// TO", "DO later")) && skipped(concat!("#[ign", "ore]")));
}

/// A name that no test has any more would be a promise that nothing keeps.
#[test]
fn the_tests_that_threats_and_the_list_of_invariants_name_exist() {
    let root = root();
    let sources: Vec<_> = all().into_iter().filter(|source| source.is_in(&["host/src/", "tests/"])).collect();
    let is_named = |name: &str| sources.iter().any(|source| source.text.contains(&format!("fn {}", name.trim_end_matches('*'))));
    let threats = fs::read_to_string(root.join("THREATS.md")).unwrap();
    let architecture = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let numbered = |line: &&str| line.starts_with("| ") && line[2..].starts_with(|first: char| first.is_ascii_digit());
    let invariants: Vec<_> = architecture.lines().filter(numbered).collect();
    assert_eq!(invariants.len(), 14, "DESIGN counts fourteen: {invariants:#?}");
    assert!(invariants.iter().all(|line| line.matches('`').count() > 1), "each names its tests: {invariants:#?}");
    for name in [threats, invariants.join("\n")].iter().flat_map(|text| text.split('`').skip(1).step_by(2)) {
        let is_test = name.contains('_') && !name.contains(['/', ' ', '.', '=']);
        assert!(!is_test || is_named(name), "`{name}` is named, and no test is called so");
    }
}
