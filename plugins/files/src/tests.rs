use pausegate_sdk::{Call, Effects, Failure, Kind, Tool};
use tempfile::{TempDir, tempdir};

use super::{READ_BYTES_MAX, delete, list, read, write};

fn folder() -> (TempDir, impl Fn(&str) -> String) {
    let folder = tempdir().unwrap();
    let root = folder.path().to_str().unwrap().to_owned();
    (folder, move |name| format!("{root}/{name}"))
}

#[test]
fn what_is_written_is_listed_and_read() {
    let (_folder, at) = folder();
    std::fs::create_dir(at("sub")).unwrap();
    write(at("a.txt"), "hello".into()).unwrap();
    assert_eq!(list(at("")).unwrap(), "a.txt\nsub/");
    assert_eq!(read(at("a.txt")).unwrap(), "hello");
}

#[test]
fn nothing_is_deleted_before_a_person_says_so() {
    let (_folder, at) = folder();
    write(at("a.txt"), "hello".into()).unwrap();
    let call = Call::test("delete");
    let stop = delete(&call, at("a.txt")).unwrap_err();
    assert_eq!(stop.pause().unwrap().reason, format!("Delete {}", at("a.txt")));
    assert_eq!(list(at("")).unwrap(), "a.txt");
    delete(&call.approved(), at("a.txt")).unwrap();
    assert_eq!(list(at("")).unwrap(), "");
}

#[test]
fn a_missing_file_is_not_found_and_named() {
    let (_folder, at) = folder();
    let stop = delete(&Call::test("delete").approved(), at("a.txt")).unwrap_err();
    let failure = stop.failure().unwrap();
    assert_eq!(failure.kind(), Kind::NotFound);
    assert!(failure.message().starts_with(&format!("delete `{}`: ", at("a.txt"))), "{failure}");
}

#[test]
fn only_text_of_a_size_is_read() {
    let (_folder, at) = folder();
    let kind = |bytes: Vec<u8>| {
        std::fs::write(at("a"), bytes).unwrap();
        read(at("a")).map(|text| text.len()).map_err(|error| Failure::from(error).kind())
    };
    let limit = usize::try_from(READ_BYTES_MAX).unwrap();
    assert_eq!(kind(vec![b'x'; limit]), Ok(limit));
    assert_eq!(kind(vec![b'x'; limit + 1]), Err(Kind::TooLarge));
    assert_eq!(kind(vec![0xff]), Err(Kind::InvalidInput));
}

#[test]
fn each_tool_owns_up_to_its_effects() {
    let effects = [list::spec(), read::spec(), write::spec(), delete::spec()].map(|tool| tool.effects);
    assert_eq!(effects, [Effects::ReadOnly, Effects::ReadOnly, Effects::Idempotent, Effects::Once]);
}
