//! The same plugin in every language, and one table of cases, `conformance/cases.json`, that holds for each of them.

mod alone;
mod case;
mod docs;
mod reconcile;
mod together;
mod world;

use case::{Asked, Case};
use serde_json::Value;
use world::World;

/// Each has its plugin in `conformance/`, and a script that builds it.
const LANGUAGES: [Language; 6] = [
    Language { name: "rust", title: "Rust", built_by: "tools/build-plugins.sh" },
    Language { name: "python", title: "Python", built_by: "tools/build-python.sh" },
    Language { name: "typescript", title: "TypeScript", built_by: "tools/build-javascript.sh" },
    Language { name: "starlingmonkey", title: "TypeScript on StarlingMonkey", built_by: "tools/build-javascript.sh" },
    Language { name: "go", title: "Go", built_by: "tools/build-go.sh" },
    Language { name: "c", title: "C", built_by: "tools/build-c.sh" },
];

struct Language {
    name: &'static str,
    title: &'static str,
    built_by: &'static str,
}

#[test]
fn rust_conforms() {
    check(&LANGUAGES[0]);
}

#[test]
fn python_conforms() {
    check(&LANGUAGES[1]);
}

#[test]
fn typescript_conforms() {
    check(&LANGUAGES[2]);
}

#[test]
fn typescript_on_starlingmonkey_conforms() {
    check(&LANGUAGES[3]);
}

#[test]
fn go_conforms() {
    check(&LANGUAGES[4]);
}

#[test]
fn c_conforms() {
    check(&LANGUAGES[5]);
}

fn check(language: &Language) {
    let world = World::new(language);
    let misfits: Vec<String> =
        case::all().iter().filter_map(|case| run(&world, case, language).err().map(|why| format!("{}: {why}", case.name))).collect();
    assert!(misfits.is_empty(), "{} does not conform:\n{}", language.title, misfits.join("\n"));
}

/// Calls the tool, answers what it asks, and compares what comes of it.
fn run(world: &World, case: &Case, language: &Language) -> Result<(), String> {
    let results = (0..case.runs).map(|_| result(world, case)).collect::<Result<Vec<Value>, String>>()?;
    let expected = case.but.get(language.name).unwrap_or(&case.expect);
    results.iter().try_for_each(|result| expected.fits(result))?;
    if expected.differs && results.windows(2).any(|two| two[0] == two[1]) {
        return Err(format!("twice the same: {}", results[0]));
    }
    match &case.file {
        Some(file) if world.data(&file.name) != file.text => Err(format!("{} holds {:?}", file.name, world.data(&file.name))),
        _ => Ok(()),
    }
}

fn result(world: &World, case: &Case) -> Result<Value, String> {
    let mut chain = world.call(&case.tool, &case.arguments)?;
    for Asked { pause: expected, answer } in &case.asks {
        let pause = &chain["pauses"][0];
        if !case::is_part(expected, pause) {
            return Err(format!("expected the question {expected}, got {pause} and {}", chain["result"]));
        }
        chain = world.decide(pause, answer, &chain)?;
    }
    if chain["status"] == "completed" { Ok(chain["result"].clone()) } else { Err(format!("is {}: {}", chain["status"], chain["pauses"])) }
}

#[test]
fn every_case_has_a_name_of_its_own() {
    let mut names: Vec<String> = case::all().into_iter().map(|case| case.name).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn a_difference_between_languages_is_a_language_there_is() {
    for case in case::all() {
        for name in case.but.keys() {
            assert!(LANGUAGES.iter().any(|language| language.name == name), "{}: {name}", case.name);
        }
    }
}

#[test]
fn the_table_in_the_docs_says_what_these_tests_hold() {
    docs::check(&docs::table(&case::all(), &LANGUAGES));
}
