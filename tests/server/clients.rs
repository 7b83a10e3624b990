//! Clients that use nothing but the HTTP API.

use std::process::Command;

use super::Serving;
use crate::e2e::TestEnvironment;

#[test]
fn the_approver_of_the_documentation_approves_what_is_harmless() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    let server = Serving::new(&env);
    let alice = server.client("alice", "run,read,approve");
    let chain = alice.start("clean up");
    alice.until_paused(&chain, 2);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/clients/approver.py");
    let approver = |token: &str, below: &str| {
        let mut command = Command::new("python3");
        command.args([file, below]).env("PAUSEGATE_URL", format!("http://127.0.0.1:{}", server.port)).env("PAUSEGATE_TOKEN", token);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let token = server.client("approver", "approve").token.unwrap();
    assert_eq!(approver(&token, "/elsewhere/"), (Some(0), String::new()));
    let (code, said) = approver(&token, "/build/");
    assert_eq!((code, said.lines().count()), (Some(0), 2), "{said}");
    assert!(said.lines().all(|line| line.contains("files__delete 200 approved")), "{said}");
    let done = alice.until_status(&chain, "completed");
    assert_eq!(done["pauses"][0]["decided"]["by"], "token:approver");
    assert_eq!(env.build(), ["keep.txt"]);
}
