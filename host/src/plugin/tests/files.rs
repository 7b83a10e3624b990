//! Files: what is held works, and every way around it is shut.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;
use crate::capability::{Refusal, Uses};

fn line(mount: &str, host: &Path, access: Access) -> HeldFs {
    HeldFs { mount: mount.into(), host: host.into(), access, only: None, quota: None }
}

fn only(mount: &str, host: &Path, access: Access, only: &str) -> HeldFs {
    HeldFs { only: Some(only.into()), ..line(mount, host, access) }
}

/// One operation of the probe, with what it said.
struct Try {
    lines: Vec<HeldFs>,
    tool: &'static str,
    last: Option<AttemptOutcome>,
}

impl Try {
    fn new(lines: Vec<HeldFs>) -> Self {
        Self { lines, tool: "fs", last: None }
    }

    async fn to(&mut self, op: &str, path: &str, to: &str) -> String {
        let mut attempt = attempt(self.tool, json!({"op": op, "path": path, "to": to}));
        attempt.held.fs = self.lines.clone();
        let outcome = probe().call(attempt).await;
        let said = text(&outcome).to_owned();
        self.last = Some(outcome);
        said
    }

    async fn at(&mut self, op: &str, path: &str) -> String {
        self.to(op, path, "").await
    }

    /// The operation fails, and nothing was counted as used.
    #[track_caller]
    fn refused(&self, said: &str, what: &str) {
        assert!(said.starts_with("error: PermissionDenied"), "{what}: {said}");
        assert_eq!(self.last.as_ref().unwrap().uses, Uses::default(), "{what}");
    }

    fn refusals(&self) -> &[Refusal] {
        &self.last.as_ref().unwrap().refusals
    }
}

const CHANGES: [&str; 11] = ["write", "create", "create_new", "truncate", "append", "open_rw", "set_len", "mkdir", "unlink", "rmdir", "set_times"];

#[tokio::test]
async fn a_line_for_one_file_shows_nothing_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("conf"), "mine").unwrap();
    fs::write(dir.path().join("other"), "not yours").unwrap();
    symlink("other", dir.path().join("link")).unwrap();
    let one = |access| crate::capability::FsGrant {
        path: dir.path().join("conf"),
        mount: "/data/conf".into(),
        access,
        when: crate::capability::When::Always,
        on_missing: Default::default(),
        tools: Default::default(),
        one_file: true,
        quota: None,
        line: 1,
    };
    let mut probe = Try::new(vec![one(Access::Read).held(Access::Read, None)]);
    assert_eq!(probe.at("read", "/data/conf").await, "ok: mine");
    assert!(probe.at("stat", "/data").await.starts_with("ok: folder"));
    for (op, path) in [("read", "/data/other"), ("read", "/data/link"), ("list", "/data"), ("stat", "/data/other"), ("write", "/data/conf")] {
        let said = probe.at(op, path).await;
        probe.refused(&said, path);
    }
    probe.lines = vec![one(Access::Write).held(Access::Write, None)];
    assert_eq!(probe.at("write", "/data/conf").await, "ok");
    assert_eq!(fs::read_to_string(dir.path().join("conf")).unwrap(), "probe\n");
    for (op, path) in [("create", "/data/new"), ("mkdir", "/data/d"), ("unlink", "/data/other")] {
        let said = probe.at(op, path).await;
        probe.refused(&said, path);
    }
    let said = probe.to("rename", "/data/conf", "/data/else").await;
    probe.refused(&said, "rename");
    assert_eq!(fs::read_to_string(dir.path().join("other")).unwrap(), "not yours");
}

#[tokio::test]
async fn a_write_line_reads_writes_and_counts() {
    let dir = tempfile::tempdir().unwrap();
    let mut probe = Try::new(vec![line("/build", dir.path(), Access::Write)]);
    for (op, path, said) in [
        ("write", "/build/a", "ok"),
        ("read", "/build/a", "ok: probe\n"),
        ("append", "/build/a", "ok"),
        ("stat", "/build/a", "ok: file 12"),
        ("set_len", "/build/a", "ok"),
        ("set_times", "/build/a", "ok"),
        ("truncate", "/build/a", "ok"),
        ("mkdir", "/build/d/", "ok"),
        ("create_new", "/build/d/b", "ok"),
        ("list", "/build", "ok: a\nd"),
        ("list", "/build/d/..", "ok: a\nd"),
        ("stat", "/build/d", "ok: folder"),
        ("unlink", "/build/d/b", "ok"),
        ("rmdir", "/build/d", "ok"),
    ] {
        let got = probe.at(op, path).await;
        assert!(got.starts_with(said), "{op} {path}: {got}");
        let counted = probe.last.as_ref().unwrap().uses.fs_writes > 0;
        assert_eq!(counted, !matches!(op, "read" | "stat" | "list"), "{op}");
    }
    assert_eq!(probe.to("rename", "/build/a", "/build/b").await, "ok");
    assert_eq!(probe.to("copy", "/build/b", "/build/c").await, "ok");
    assert_eq!(probe.to("link", "/build/b", "/build/hard").await, "ok");
    assert_eq!(probe.to("symlink", "b", "/build/soft").await, "ok");
    assert_eq!(probe.at("read_link", "/build/soft").await, "ok: b");
}

#[tokio::test]
async fn w19_a_read_line_changes_nothing_beside_a_write_line() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(a.path().join("f"), "kept").unwrap();
    fs::write(b.path().join("g"), "mine").unwrap();
    fs::create_dir(a.path().join("d")).unwrap();
    let before = fs::metadata(a.path().join("f")).unwrap().modified().unwrap();
    let mut probe = Try::new(vec![line("/a", a.path(), Access::Read), line("/b", b.path(), Access::Write)]);
    assert_eq!(probe.at("read", "/a/f").await, "ok: kept");
    assert_eq!(probe.at("list", "/a").await, "ok: d\nf");
    for op in CHANGES {
        for path in ["/a/f", "/a/d", "/a/new"] {
            let said = probe.at(op, path).await;
            assert!(said.starts_with("error"), "{op} {path}: {said}");
            assert_eq!(probe.last.as_ref().unwrap().uses, Uses::default(), "{op} {path}");
        }
    }
    for op in ["rename", "link"] {
        for (from, to) in [("/a/f", "/b/f"), ("/b/g", "/a/g"), ("/a/f", "/a/g"), ("/b/g", "/a/f")] {
            let said = probe.to(op, from, to).await;
            probe.refused(&said, &format!("{op} {from} {to}"));
        }
    }
    for to in ["/a/g", "/a/f"] {
        assert!(probe.to("copy", "/b/g", to).await.starts_with("error"));
        assert!(probe.to("symlink", "f", to).await.starts_with("error"));
    }
    assert_eq!(fs::read_to_string(a.path().join("f")).unwrap(), "kept");
    assert_eq!(fs::metadata(a.path().join("f")).unwrap().modified().unwrap(), before);
    assert_eq!(fs::read_dir(a.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn w18_no_link_leads_out_of_a_mount() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(outside.path().join("secret"), "secret").unwrap();
    symlink(outside.path(), dir.path().join("link")).unwrap();
    symlink(outside.path().join("secret"), dir.path().join("file-link")).unwrap();
    symlink("..", dir.path().join("up")).unwrap();
    let mut probe = Try::new(vec![line("/build", dir.path(), Access::Write)]);
    let outside_text = outside.path().to_str().unwrap().to_owned();
    for target in ["/etc/", "/etc/passwd", "..", "../..", "a/../../x", outside_text.as_str()] {
        let said = probe.to("symlink", target, "/build/mine").await;
        probe.refused(&said, target);
    }
    let name = outside.path().file_name().unwrap().to_str().unwrap().to_owned();
    for path in [
        "/build/link/secret",
        "/build/link//secret",
        "/build/./link/secret",
        "/build/file-link",
        "/build/file-link/",
        "/build/link/",
        "/build/../etc/passwd",
        &format!("/build/up/{name}/secret"),
        &format!("/build/link/../{name}/secret"),
    ] {
        for op in ["read", "open_trailing", "write", "append"] {
            let said = probe.at(op, path).await;
            assert!(said.starts_with("error"), "{op} {path}: {said}");
        }
    }
    assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "secret");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    // Removing the link itself is the mount's own business.
    assert_eq!(probe.at("unlink", "/build/file-link").await, "ok");
    assert!(outside.path().join("secret").exists());
}

#[tokio::test]
async fn d07_none_holds_under_every_spelling() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("keep/deep")).unwrap();
    fs::write(dir.path().join("keep/x"), "kept").unwrap();
    fs::write(dir.path().join("free"), "free").unwrap();
    symlink("keep", dir.path().join("alias")).unwrap();
    symlink("keep/x", dir.path().join("alias-x")).unwrap();
    fs::hard_link(dir.path().join("keep/x"), dir.path().join("hard")).unwrap();
    let mut probe = Try::new(vec![
        line("/build", dir.path(), Access::Write),
        line("/again", dir.path(), Access::Write),
        line("/build/keep", &dir.path().join("keep"), Access::None),
    ]);
    assert_eq!(probe.at("read", "/build/free").await, "ok: free");
    for path in [
        "/build/keep/x",
        "/build/./keep/x",
        "/build//keep/x",
        "/build/keep//x",
        "/build/free/../keep/x",
        "/build/alias/x",
        "/build/alias-x",
        "/again/keep/x",
        "/again/alias/x",
        "/build/keep/deep/../x",
    ] {
        for op in ["read", "write", "append", "stat", "set_times", "unlink"] {
            if path.ends_with("alias-x") && op == "unlink" {
                continue;
            }
            let said = probe.at(op, path).await;
            assert!(said.starts_with("error"), "{op} {path}: {said}");
        }
    }
    for op in ["list", "rmdir", "rmdir_all"] {
        for path in ["/build/keep", "/build/keep/", "/again/keep", "/build/keep/deep"] {
            let said = probe.at(op, path).await;
            assert!(said.starts_with("error"), "{op} {path}: {said}");
        }
    }
    for (from, to) in
        [("/build/keep", "/build/moved"), ("/again/keep", "/again/moved"), ("/build/keep/x", "/build/y"), ("/build/free", "/build/keep/free")]
    {
        for op in ["rename", "link"] {
            let said = probe.to(op, from, to).await;
            assert!(said.starts_with("error"), "{op} {from} {to}: {said}");
        }
    }
    let said = probe.to("symlink", "keep", "/build/another").await;
    probe.refused(&said, "a new alias");
    // What is shut is not shown either.
    assert_eq!(probe.at("list", "/build").await, "ok: alias\nalias-x\nfree\nhard");
    assert_eq!(fs::read_to_string(dir.path().join("keep/x")).unwrap(), "kept");
}

/// Where a file system takes two spellings for one name, that name is shut; where it takes them for two, only the shut one is.
#[tokio::test]
async fn d07_none_holds_in_any_case_and_unicode_form() {
    let dir = tempfile::tempdir().unwrap();
    // Composed, as the operator wrote it.
    for name in ["keep", "caf\u{e9}"] {
        fs::create_dir_all(dir.path().join(name)).unwrap();
        fs::write(dir.path().join(name).join("x"), "kept").unwrap();
    }
    let none = |name: &str| line(&format!("/build/{name}"), &dir.path().join(name), Access::None);
    let mut probe = Try::new(vec![line("/build", dir.path(), Access::Write), none("keep"), none("caf\u{e9}")]);
    let spelt = ["keep", "KEEP", "Keep", "\u{ff4b}eep", "ke\u{200b}ep", "keep\u{0}", "caf\u{e9}", "cafe\u{301}", "CAF\u{c9}", "CAFE\u{301}"];
    for name in spelt {
        let path = format!("/build/{name}/x");
        for op in ["read", "write", "append", "open_rw", "truncate", "set_len", "stat", "set_times", "unlink"] {
            let said = probe.at(op, &path).await;
            assert!(said.starts_with("error"), "{op} {path:?}: {said}");
        }
        for op in ["rename", "link"] {
            let said = probe.to(op, &path, "/build/moved").await;
            assert!(said.starts_with("error"), "{op} {path:?}: {said}");
        }
    }
    for name in ["keep", "caf\u{e9}"] {
        assert_eq!(fs::read_to_string(dir.path().join(name).join("x")).unwrap(), "kept", "{name}");
    }
    assert_eq!(probe.at("list", "/build").await, "ok", "nothing came of it, and what is shut is not shown");
}

#[tokio::test]
async fn none_shuts_one_file_under_all_its_names_and_its_folders_cannot_be_moved() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("sub/inner")).unwrap();
    fs::write(dir.path().join("sub/inner/x"), "kept").unwrap();
    fs::hard_link(dir.path().join("sub/inner/x"), dir.path().join("hard")).unwrap();
    let mut probe = Try::new(vec![line("/build", dir.path(), Access::Write), only("/build", dir.path(), Access::None, "/build/sub/inner/x")]);
    for (op, path) in [("read", "/build/sub/inner/x"), ("read", "/build/hard"), ("write", "/build/hard"), ("unlink", "/build/sub/inner/x")] {
        let said = probe.at(op, path).await;
        probe.refused(&said, path);
    }
    for from in ["/build/sub", "/build/sub/inner", "/build/sub/"] {
        let said = probe.to("rename", from, "/build/moved").await;
        probe.refused(&said, from);
    }
    assert_eq!(probe.at("write", "/build/sub/inner/y").await, "ok");
    assert_eq!(probe.at("rmdir_all", "/build/sub").await, "error: PermissionDenied");
    assert_eq!(fs::read_to_string(dir.path().join("sub/inner/x")).unwrap(), "kept");
}

#[tokio::test]
async fn an_exact_entry_opens_that_entry_only() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.tmp", "b.tmp", "out/c.tmp"] {
        fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
        fs::write(dir.path().join(name), name).unwrap();
    }
    symlink("b.tmp", dir.path().join("link.tmp")).unwrap();
    symlink("out", dir.path().join("way")).unwrap();
    let write = |path: &str| Try::new(vec![only("/build", dir.path(), Access::Write, path)]);
    let mut probe = write("/build/a.tmp");
    assert_eq!(probe.at("read", "/build/a.tmp").await, "ok: a.tmp");
    assert_eq!(probe.at("append", "/build/a.tmp").await, "ok");
    assert_eq!(probe.at("stat", "/build/a.tmp").await, "ok: file 11");
    for (op, path) in [
        ("read", "/build/b.tmp"),
        ("unlink", "/build/b.tmp"),
        ("list", "/build"),
        ("stat", "/build/b.tmp"),
        ("stat", "/build/nothing"),
        ("write", "/build/new"),
    ] {
        let said = probe.at(op, path).await;
        probe.refused(&said, &format!("{op} {path}"));
    }
    for (op, to) in [("rename", "/build/b.tmp"), ("link", "/build/d.tmp"), ("symlink", "/build/a.tmp")] {
        let said = probe.to(op, "/build/a.tmp", to).await;
        assert!(said.starts_with("error"), "{op} {to}: {said}");
    }
    assert_eq!(probe.at("unlink", "/build/a.tmp").await, "ok");
    assert_eq!(probe.last.as_ref().unwrap().uses.fs_writes, 1);
    assert!(!dir.path().join("a.tmp").exists() && dir.path().join("b.tmp").exists());

    // A symlink in the way, or as the entry itself, is not followed.
    let mut probe = write("/build/link.tmp");
    assert!(probe.at("read", "/build/link.tmp").await.starts_with("error"));
    assert!(probe.at("write", "/build/link.tmp").await.starts_with("error"));
    let mut probe = write("/build/way/c.tmp");
    assert!(probe.at("write", "/build/way/c.tmp").await.starts_with("error"));
    let mut probe = write("/build/out/c.tmp");
    assert_eq!(probe.at("write", "/build/out/c.tmp").await, "ok");
    assert!(probe.at("write", "/build/way/c.tmp").await.starts_with("error"));
    assert!(probe.at("list", "/build/out").await.starts_with("error"));
    assert_eq!(fs::read_to_string(dir.path().join("b.tmp")).unwrap(), "b.tmp");
}

#[tokio::test]
async fn both_ends_of_a_rename_may_be_exact_entries() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a"), "a").unwrap();
    let mut probe = Try::new(vec![only("/build", dir.path(), Access::Write, "/build/a"), only("/build", dir.path(), Access::Write, "/build/b")]);
    assert_eq!(probe.to("rename", "/build/a", "/build/b").await, "ok");
    assert!(probe.to("rename", "/build/b", "/build/c").await.starts_with("error"));
    assert_eq!(fs::read_to_string(dir.path().join("b")).unwrap(), "a");
}

#[tokio::test]
async fn lines_of_one_mount_add_up() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        fs::write(dir.path().join(name), name).unwrap();
    }
    let mut probe = Try::new(vec![line("/build", dir.path(), Access::Read), only("/build", dir.path(), Access::Write, "/build/a")]);
    assert_eq!(probe.at("list", "/build").await, "ok: a\nb");
    assert_eq!(probe.at("write", "/build/a").await, "ok");
    let said = probe.at("write", "/build/b").await;
    probe.refused(&said, "b");
}

#[tokio::test]
async fn w26_every_refusal_names_the_line_that_would_allow_it() {
    let mut probe = Try::new(Vec::new());
    let said = probe.at("read", "/build/notes.txt").await;
    probe.refused(&said, "nothing held");
    assert_eq!(
        probe.refusals(),
        [Refusal {
            attempted: "fs read /build/notes.txt".into(),
            allow_with: "[[plugins.probe.fs]]\npath = \"./build\"\nmount = \"/build\"\naccess = \"read\"".into()
        }]
    );
    let dir = tempfile::tempdir().unwrap();
    let mut probe = Try::new(vec![line("/build", dir.path(), Access::Read)]);
    probe.at("write", "/build/a").await;
    let host = dir.path().display();
    let allow_with = format!("[[plugins.probe.fs]]\npath = \"{host}\"\nmount = \"/build\"\naccess = \"write\"");
    assert_eq!(probe.refusals(), [Refusal { attempted: "fs write /build/a".into(), allow_with: allow_with.clone() }]);
    assert!(toml::from_str::<toml::Table>(&allow_with).is_ok());
    probe.lines.push(line("/build", dir.path(), Access::Write));
    assert_eq!(probe.at("write", "/build/a").await, "ok");
}

#[tokio::test]
async fn a_read_only_tool_writes_nothing_whatever_is_held() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a"), "a").unwrap();
    let mut probe = Try::new(vec![line("/build", dir.path(), Access::Write)]);
    probe.tool = "fs_as_reader";
    assert_eq!(probe.at("read", "/build/a").await, "ok: a");
    let said = probe.at("write", "/build/a").await;
    probe.refused(&said, "write");
}

#[tokio::test]
async fn a_mount_without_its_folder_holds_nothing_and_says_so() {
    let mut probe = Try::new(vec![line("/build", Path::new("/nonexistent/build"), Access::Write)]);
    assert!(probe.at("write", "/build/a").await.starts_with("error"));
    assert!(probe.refusals()[0].allow_with.contains("cannot be opened"), "{:?}", probe.refusals());
}

#[tokio::test]
async fn pipes_and_devices_are_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, dir.path().join("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let mut probe = Try::new(vec![line("/build", dir.path(), Access::Write)]);
    for op in ["read", "open_rw"] {
        assert!(probe.at(op, "/build/pipe").await.starts_with("error"), "{op}");
    }
}
