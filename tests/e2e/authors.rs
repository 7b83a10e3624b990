//! What authors of tools type: `new`, `build`, and components that were made for something else.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStderr};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::TestEnvironment;

const LANGUAGES: [(&str, &str); 6] = [
    ("rust", "cargo is missing"),
    ("python", "componentize-py is missing"),
    ("typescript", "node is missing"),
    ("javascript", "node is missing"),
    ("go", "Go 1.27 is missing"),
    ("c", "a C compiler for wasm32-wasi is missing"),
];

/// The environment of tests has no way to programs.
#[test]
fn a_new_plugin_s_missing_compiler_is_named_with_the_way_to_get_it() {
    let env = TestEnvironment::new();
    for (language, missing) in LANGUAGES {
        let name = format!("my-{language}");
        let made = env.pausegate(&["new", "--lang", language, &name]);
        assert_eq!((made.code, made.stdout.as_str()), (Some(0), format!("{name}/\n").as_str()), "{made}");
        let get = made.stderr.lines().nth(1).unwrap().trim().trim_end_matches("  # once").to_owned();
        let built = env.pausegate(&["build", &name]);
        assert_eq!(built.code, Some(69), "{built}");
        assert!(built.stderr.contains(missing), "{built}");
        assert!(["rust", "typescript", "javascript"].contains(&language) || built.stderr.contains(&get), "{built}");
        assert!(!env.path("work").join(&name).join("plugins").exists());
    }
}

#[test]
fn what_cannot_be_begun_or_built_is_said_and_changes_nothing() {
    let env = TestEnvironment::new();
    let code = |arguments: &[&str]| env.pausegate(arguments).code;
    assert_eq!(code(&["new", "--lang", "python", "../x"]), Some(64));
    assert_eq!(code(&["new", "--lang", "cobol", "x"]), Some(64));
    // `build` is there and holds files.
    assert_eq!(code(&["new", "--lang", "python", "build"]), Some(65));
    assert_eq!(code(&["build", "build"]), Some(65));
    assert_eq!(code(&["build", "nowhere"]), Some(1));
    let core = r#"(module (memory (export "memory") 1)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
        (func (export "pausegate:plugin/tools@0.1.0#list-tools") (result i32) unreachable)
        (func (export "pausegate:plugin/tools@0.1.0#call-tool") (param i32) (result i32) unreachable))"#;
    fs::write(env.path("work/core.wasm"), wat::parse_str(core).unwrap()).unwrap();
    let built = env.pausegate(&["build", "core.wasm", "--world", "plugin", "--out", "mine.wasm"]);
    assert_eq!(built.code, Some(1), "{built}");
    assert!(built.stderr.contains("would not load") && built.stderr.contains("list-tools failed: trapped"), "{built}");
    assert!(!env.path("work/mine.wasm").exists());
}

/// Knows nothing of our contract, and stands for the many that do not.
const ADDER: &str = r#"(component
    (core module $m (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))
    (core instance $i (instantiate $m))
    (func (export "add") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "add"))))"#;

#[test]
fn a_component_without_the_contract_is_a_plugin_on_the_operator_s_word_alone() {
    let env = TestEnvironment::new();
    fs::write(env.path("home/.local/share/pausegate/plugins/adder.wasm"), wat::parse_str(ADDER).unwrap()).unwrap();
    let refused = env.pausegate(&["tools"]);
    assert!(refused.stderr.contains("`adapt = true`") && !refused.stdout.contains("adder__add"), "{refused}");
    env.grants("[plugins.adder]\ndigest = \"any\"\nadapt = true\n");
    let called = env.pausegate(&["call", "adder__add", r#"{"a": 40, "b": 2}"#]);
    assert_eq!((called.code, called.stdout.as_str()), (Some(0), "42\n"), "{called}");
    // Judged like any call: by its schema, and by rules.
    let wrong = env.pausegate(&["call", "adder__add", r#"{"a": -1}"#]);
    assert!(wrong.code == Some(1) && wrong.stderr.contains("invalid-input"), "{wrong}");
    env.grants("[plugins.adder]\ndigest = \"any\"\nadapt = true\n[[rules]]\ntool = \"adder__*\"\neffect = \"ask\"\n");
    assert_eq!(env.pausegate(&["call", "adder__add", r#"{"a": 1, "b": 2}"#]).code, Some(75));
    env.grants("[plugins.adder]\ndigest = \"any\"\nadapt = \"yes\"\n");
    assert_eq!(env.pausegate(&["tools"]).code, Some(78));
}

/// Stands for a compiler: `plugin.py` holds the path of what it makes.
const COMPILER: &str =
    "#!/bin/sh\nread -r made < plugin.py\n[ -n \"$made\" ] || { echo 'the source is empty' >&2; exit 1; }\nexec /bin/cp \"$made\" \"$5\"\n";
/// Nothing waits so long but a test that fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// `build --watch`, and the lines of its standard error.
struct Watching {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Watching {
    fn start(env: &TestEnvironment) -> Self {
        let mut child = env.spawn(&["build", "tidy", "--watch"]);
        let (sender, lines) = mpsc::channel();
        let stderr: ChildStderr = child.stderr.take().unwrap();
        std::thread::spawn(move || BufReader::new(stderr).lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, lines }
    }

    /// What it says until it waits for the next change.
    fn until_it_waits(&self) -> String {
        let mut said = String::new();
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("it does not wait for a change; it said {said}"));
            if line.contains("waiting for a change") {
                return said;
            }
            said += &(line + "\n");
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.child.kill().and_then(|()| self.child.wait()).ok();
    }
}

#[test]
fn a_watched_project_is_built_again_whenever_its_source_is_saved() {
    let env = TestEnvironment::new();
    let built = |plugin: &str| env.path("home/.local/share/pausegate/plugins").join(format!("{plugin}.wasm"));
    let save = |text: &str| env.write("work/tidy/plugin.py", text);
    let made = || fs::read(env.path("work/tidy/plugins/tidy.wasm")).unwrap();
    save(&format!("{}\n", built("files").display()));
    for tool in ["componentize-py", "python"] {
        env.write(&format!("work/tidy/.venv/bin/{tool}"), COMPILER);
        fs::set_permissions(env.path("work/tidy/.venv/bin").join(tool), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut watching = Watching::start(&env);
    watching.until_it_waits();
    assert!(made() == fs::read(built("files")).unwrap(), "at the start");

    save(&format!("{}\n", built("survey").display()));
    let said = watching.until_it_waits();
    assert!(made() == fs::read(built("survey")).unwrap(), "after a change: {said}");

    // What does not build is said, and what was built stays; it goes on.
    save("\n");
    let said = watching.until_it_waits();
    assert!(said.contains("the source is empty"), "{said}");
    assert!(made() == fs::read(built("survey")).unwrap());
    save(&format!("{}\n", built("files").display()));
    let said = watching.until_it_waits();
    assert!(made() == fs::read(built("files")).unwrap(), "after a repair: {said}");

    kill_process(Pid::from_child(&watching.child), Signal::INT).unwrap();
    assert_eq!(watching.child.wait().unwrap().code(), Some(130));
}
