//! A PostgreSQL of the tests' own: in a temporary folder, on a socket there, gone with the process that started it.
//!
//! Made of the machine's binaries. PostgreSQL refuses to run as root, so root starts it as somebody who owns nothing.
#![allow(dead_code, reason = "each of those who include this file uses a part of it")]

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

const USER: &str = "pausegate";
/// What tests have no use for: they lose no power.
const HASTE: &str = "-c fsync=off -c full_page_writes=off";

pub struct Server {
    folder: PathBuf,
    binaries: PathBuf,
    /// As whom it runs, where this process is root.
    owner: Option<u32>,
    options: String,
    /// Stops the server and removes the folder when its standard input ends, however this process does.
    guard: Child,
    databases: AtomicU32,
}

/// The one that tests of this process share.
pub fn shared() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(HASTE))
}

impl Server {
    /// `options` as `postgres` takes them.
    pub fn start(options: &str) -> Self {
        Self::start_in(&std::env::temp_dir(), options)
    }

    /// The same below `parent`: a benchmark chooses the disk.
    pub fn start_in(parent: &Path, options: &str) -> Self {
        let binaries = binaries().expect("PostgreSQL is installed (Debian's package `postgresql`)");
        let folder = tempfile::Builder::new().prefix("pausegate-pg-").tempdir_in(parent).expect("a temporary folder").keep();
        let owner = rustix::process::geteuid().is_root().then(nobody);
        if let Some(owner) = owner {
            chown(&folder, Some(owner), None).expect("root gives away a folder");
        }
        let script = r#"read _; "$0/pg_ctl" -D "$1/data" -m immediate stop >/dev/null 2>&1; rm -rf "$1""#;
        let mut guard = as_owner(owner, Path::new("sh"));
        let guard = guard.args(["-c", script]).arg(&binaries).arg(&folder).current_dir("/").process_group(0);
        let guard = guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a shell");
        let server = Self { folder, binaries, owner, options: options.to_owned(), guard, databases: AtomicU32::new(0) };
        server.run("initdb", &["-D", server.data().as_str(), "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]);
        server.go_on();
        server
    }

    /// Starts it again after [`Server::halt`].
    pub fn go_on(&self) {
        let folder = self.folder.display();
        let options = format!("-k {folder} -c listen_addresses= -c max_connections=200 -c shared_buffers=32MB {}", self.options);
        let log = self.folder.join("log").display().to_string();
        self.run("pg_ctl", &["-D", self.data().as_str(), "-w", "-l", &log, "-o", &options, "start"]);
    }

    /// Stops it as a crash would, or in order.
    pub fn halt(&self, mode: &str) {
        self.run("pg_ctl", &["-D", self.data().as_str(), "-w", "-m", mode, "stop"]);
    }

    /// A new database's URL.
    pub fn database(&self) -> String {
        let name = format!("t{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.run("createdb", &["-h", self.folder.to_str().expect("UTF-8"), "-U", USER, &name]);
        self.url(&name)
    }

    /// Of one that [`Server::database`] made, whoever is still connected.
    pub fn drop_database(&self, url: &str) {
        let name = url.trim_start_matches(&format!("postgres://{USER}@/")).split('?').next().expect("one part at least");
        self.run("dropdb", &["-h", self.folder.to_str().expect("UTF-8"), "-U", USER, "--force", name]);
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@/{database}?host={}", self.folder.display())
    }

    /// Where its socket and its `data` are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn data(&self) -> String {
        self.folder.join("data").display().to_string()
    }

    fn run(&self, program: &str, args: &[&str]) {
        let mut command = as_owner(self.owner, &self.binaries.join(program));
        command.args(args).current_dir("/").env("LC_ALL", "C").env_remove("PGHOST").stdin(Stdio::null());
        // Files, not pipes: the server that `pg_ctl` starts would hold a pipe open.
        let (out, err) = (self.folder.join(format!("{program}.out")), self.folder.join(format!("{program}.err")));
        let file = |path: &Path| std::fs::File::create(path).expect("a file in the server's folder");
        let status = command.stdout(file(&out)).stderr(file(&err)).status().expect("PostgreSQL's program starts");
        let said = || [out.clone(), err.clone(), self.folder.join("log")].map(|file| std::fs::read_to_string(file).unwrap_or_default()).join("\n");
        assert!(status.success(), "{program} {args:?}: {}", said());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

fn as_owner(owner: Option<u32>, program: &Path) -> Command {
    let mut command = Command::new(program);
    if let Some(owner) = owner {
        command.uid(owner);
    }
    command
}

/// On the path, or where Debian has them; the newest of several.
fn binaries() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut debian: Vec<_> = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    debian.sort_by_key(|folder| folder.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()));
    let places = debian.into_iter().rev().map(|folder| folder.join("bin")).chain(std::env::split_paths(&path));
    let mut whole = places.filter(|place| ["initdb", "pg_ctl", "postgres", "createdb"].iter().all(|program| place.join(program).is_file()));
    whole.next()
}

fn nobody() -> u32 {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let id = |name: &str| users.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.split(':').nth(1)?.parse().ok());
    id("postgres").or_else(|| id("nobody")).unwrap_or(65_534)
}
