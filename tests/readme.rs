//! The README's example in Rust is this file's twin, and runs.

mod example {
    include!("readme/example.rs");

    #[test]
    fn the_example_of_the_readme_runs() {
        main().unwrap();
    }
}

#[test]
fn the_readme_shows_the_example_that_runs() {
    let shown = format!("```rust\n{}```\n", include_str!("readme/example.rs"));
    assert!(include_str!("../README.md").contains(&shown), "copy tests/readme/example.rs into README.md");
}
