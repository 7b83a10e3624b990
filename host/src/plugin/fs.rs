//! Files: our own layer under `wasi:filesystem`, checked at every operation against the lines that an attempt holds.
//!
//! A path is walked handle by handle (`walk`), the entry it ends at is judged (`rules`), and the operation is made on
//! that folder's handle and the entry's name, never on a path again: swapping a symlink meanwhile leads nowhere else.
//! `none` is judged on the path as written, on the resolved path and on the file's identity, so that another spelling,
//! mount or hard link of it is shut too. What remains: identities of `none` places are taken when an attempt first uses
//! files, and a folder that somebody outside moves between check and use is judged by where it stood.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{Mode, OFlags, open, stat};
use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime_wasi::filesystem::WasiFilesystemCtx;
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};

use super::ledger::{HadEffect, Ledger, too_late};
use super::state::State;
use crate::capability::frozen::{FROZEN_NAME_BYTES_MAX, FsOperation};
use crate::capability::{Access, FrozenUse, Held, HeldFs, Opening, Refusal};

mod act;
mod change;
mod descriptor;
mod node;
mod open_at;
pub mod rules;
mod walk;

use act::{Act, Approved};
use node::Node;
use rules::{Need, covers, joined, rights};
use walk::{Entry, Folder, Identity, Last, Lost};

type Code = types::ErrorCode;

/// The files of one attempt.
pub struct Files {
    held: Arc<Lines>,
    /// wasmtime's own context: without preopens, only its streams are used.
    streams: WasiFilesystemCtx,
}

/// The lines, and what they stand for on this host once it is asked for.
struct Lines {
    lines: Vec<HeldFs>,
    /// Approved-only lines: what they cover is asked about.
    reach: Vec<HeldFs>,
    uses: Vec<Approved>,
    mounts: OnceLock<Mounts>,
    ledger: Arc<Ledger>,
}

#[derive(Default)]
struct Mounts {
    mounts: Vec<Mount>,
    shut: Vec<Identity>,
    /// Host paths of `none` places.
    shut_paths: Vec<PathBuf>,
}

struct Mount {
    path: String,
    /// As its lines name it.
    named: PathBuf,
    host: PathBuf,
    root: Folder,
}

impl Files {
    pub fn new(held: Held, ledger: Arc<Ledger>) -> Self {
        let reach = held.reach.into_iter().filter_map(|opening| if let Opening::Fs(line) = opening { Some(line) } else { None });
        let uses = held.uses.into_iter().filter_map(|frozen| if let FrozenUse::Fs(frozen) = frozen { Some(frozen) } else { None });
        let lines = Lines { reach: reach.collect(), uses: uses.map(Approved::new).collect(), lines: held.fs, mounts: OnceLock::new(), ledger };
        Self { held: Arc::new(lines), streams: WasiFilesystemCtx::default() }
    }
}

impl Lines {
    fn mounts(&self) -> &Mounts {
        self.mounts.get_or_init(|| self.open_mounts())
    }

    fn open_mounts(&self) -> Mounts {
        let mut found = Mounts::default();
        for line in &self.lines {
            if line.access == Access::None {
                let host = shut_host(line);
                if let Ok(stat) = stat(&host) {
                    found.shut.push(walk::identity(&stat));
                }
                found.shut_paths.push(host.canonicalize().unwrap_or(host));
            }
        }
        for line in self.lines.iter().chain(&self.reach).filter(|line| line.access != Access::None) {
            if !found.mounts.iter().any(|mount| mount.path == line.mount) {
                found.mounts.extend(self.open_mount(line));
            }
        }
        found
    }

    /// `None` where the host has no such folder, or lines of one mount do not agree on it: the mount holds nothing.
    fn open_mount(&self, line: &HeldFs) -> Option<Mount> {
        let attempted = format!("fs open {}", line.mount);
        let told = |why: String| self.ledger.refuse(Refusal { attempted: attempted.clone(), allow_with: format!("# {why}") });
        if self.lines.iter().any(|other| other.mount == line.mount && other.access != Access::None && other.host != line.host) {
            told(format!("lines of mount {} name different paths", line.mount));
            return None;
        }
        match open(&line.host, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(handle) => {
                let root = Folder { handle: Arc::new(handle.into()), path: line.mount.clone(), followed: false };
                let host = line.host.canonicalize().unwrap_or_else(|_| line.host.clone());
                Some(Mount { path: line.mount.clone(), named: line.host.clone(), host, root })
            }
            Err(errno) => {
                told(format!("`{}` cannot be opened: {errno}", line.host.display()));
                None
            }
        }
    }

    /// The entry at `path` seen from `node`, if the lines permit the act on it, as written and as resolved.
    fn enter(&self, node: &Node, path: &str, last: Last, act: &Act) -> Result<(usize, Entry), Code> {
        let (mount, start, path) = self.start(node, path, act)?;
        let written = joined(&start.path, &path).ok_or(Code::NotPermitted)?;
        // Where only exact entries are held, what else exists is not even looked at.
        if !self.permits(mount, act, &written, start.followed) && !self.permits_below(mount) {
            return Err(self.hold_back(act, &written, start.followed));
        }
        let entry = match walk::walk(&start, &path, last, &self.mounts().shut) {
            Ok(entry) => entry,
            Err(Lost::Outside) => return Err(self.refuse_outside(act.need(), &written)),
            Err(Lost::Shut) => return Err(self.refuse(act.need(), &written)),
            Err(Lost::Os(errno)) => return Err(code(errno)),
        };
        if !self.mounts().shut.is_empty() && entry.stat().is_ok_and(|stat| self.mounts().shut.contains(&walk::identity(&stat))) {
            return Err(self.refuse(act.need(), &entry.path));
        }
        if !self.permits(mount, act, &entry.path, entry.followed) {
            return Err(self.hold_back(act, &entry.path, entry.followed));
        }
        Ok((mount, entry))
    }

    /// The folder that a way starts in; from the root it starts at the mount that the path leads to.
    fn start(&self, node: &Node, path: &str, act: &Act) -> Result<(usize, Folder, String), Code> {
        match node {
            Node::Folder { mount, folder } => Ok((*mount, folder.clone(), path.to_owned())),
            Node::File(_) => Err(Code::NotDirectory),
            Node::Root => {
                let written = joined("/", path).ok_or(Code::NotPermitted)?;
                let mounts = self.mounts().mounts.iter().enumerate();
                let deepest = mounts.filter(|(_, mount)| covers(&mount.path, &written)).max_by_key(|(_, mount)| mount.path.len());
                let Some((index, mount)) = deepest else { return Err(self.refuse(act.need(), &written)) };
                let rest = written[mount.path.len()..].trim_start_matches('/');
                let slash = if path.ends_with('/') && !rest.is_empty() { "/" } else { "" };
                let rest = if rest.is_empty() { ".".to_owned() } else { format!("{rest}{slash}") };
                Ok((index, mount.root.clone(), rest))
            }
        }
    }

    fn permits(&self, mount: usize, act: &Act, path: &str, followed: bool) -> bool {
        let rights = self.rights(mount, path);
        rights.permits(act.need(), followed) || (!followed && !rights.is_shut() && self.uses.iter().any(|approved| approved.admits(act, path)))
    }

    /// Whether a listing of `folder` shows the entry. One that a person approved shows all but what is shut.
    fn lists(&self, mount: usize, folder: &str, entry: &str, followed: bool) -> bool {
        match self.rights(mount, folder).permits(Need::List, false) {
            true => self.permits(mount, &Act::new(FsOperation::Look), entry, followed),
            false => !self.rights(mount, entry).is_shut(),
        }
    }

    /// Not what is done to it, which approved uses open one by one.
    fn permits_change(&self, mount: usize, path: &str, followed: bool) -> bool {
        self.rights(mount, path).permits(Need::Write, followed)
    }

    fn rights(&self, mount: usize, path: &str) -> rules::Rights {
        rights(&self.lines, self.place(mount), path)
    }

    /// A mount's guest path, and the host path that its lines name.
    fn place(&self, mount: usize) -> (&str, &Path) {
        let mount = &self.mounts().mounts[mount];
        (&mount.path, &mount.named)
    }

    /// The whole mount is held in some way, so that a symlink may lead from a refused spelling to a held entry.
    fn permits_below(&self, mount: usize) -> bool {
        rules::holds_whole(&self.lines, self.place(mount))
    }

    /// Moving `path` would move a shut place.
    fn moves_shut(&self, mount: usize, path: &str) -> bool {
        let mounts = self.mounts();
        let mount = &mounts.mounts[mount];
        let host = mount.host.join(path[mount.path.len().min(path.len())..].trim_start_matches('/'));
        rules::shuts_below(&self.lines, path) || mounts.shut_paths.iter().any(|shut| shut.starts_with(&host))
    }

    /// Ends the attempt with this use where an approval could open it; else refuses it.
    fn hold_back(&self, act: &Act, path: &str, followed: bool) -> Code {
        let frozen = act.frozen(path);
        // A symlink on the way is nothing that a person could see in the path.
        if followed || path.len() > FROZEN_NAME_BYTES_MAX || !rules::can_be_asked(&self.lines, &self.reach, &frozen) {
            return self.refuse(act.need(), path);
        }
        let frozen = FrozenUse::Fs(frozen);
        if let Err(HadEffect) = self.ledger.hold_back(frozen.clone()) {
            self.ledger.refuse(too_late(&frozen, &self.allowing(act.need().access(), path)));
        }
        Code::Access
    }

    fn spend(&self, act: &Act, path: &str) {
        let frozen = act.frozen(path);
        self.uses.iter().for_each(|approved| approved.spend(&frozen));
    }

    fn refuse(&self, need: Need, path: &str) -> Code {
        let access = need.access();
        let refusal = Refusal { attempted: format!("fs {access} {path}"), allow_with: self.allowing(access, path) };
        self.ledger.refuse(refusal);
        Code::Access
    }

    fn refuse_outside(&self, need: Need, path: &str) -> Code {
        let attempted = format!("fs {} {path}, which leads out of its mount", need.access());
        self.ledger.refuse(Refusal { attempted, allow_with: "# nothing allows a path that leaves its mount".to_owned() });
        Code::NotPermitted
    }

    fn allowing(&self, access: &str, path: &str) -> String {
        if let Some(line) = self.lines.iter().find(|line| line.access == Access::None && covers(line.only.as_deref().unwrap_or(&line.mount), path)) {
            return format!("# the line `access = \"none\"` at mount {:?} shuts it; take that line out", line.mount);
        }
        let held = self.lines.iter().filter(|line| covers(&line.mount, path)).max_by_key(|line| line.mount.len());
        let (host, mount) = match held {
            Some(line) => (line.host.display().to_string(), line.mount.clone()),
            None => match path.split('/').nth(1) {
                Some(first) if !first.is_empty() => (format!("./{first}"), format!("/{first}")),
                _ => ("./folder".to_owned(), "/".to_owned()),
            },
        };
        let text = |text: String| toml::Value::String(text).to_string();
        format!("[[plugins.{}.fs]]\npath = {}\nmount = {}\naccess = \"{access}\"", self.ledger.plugin, text(host), text(mount))
    }
}

fn shut_host(line: &HeldFs) -> PathBuf {
    let below = line.only.as_deref().and_then(|only| only.strip_prefix(line.mount.trim_end_matches('/'))).unwrap_or("");
    line.host.join(below.trim_start_matches('/'))
}

fn code(errno: rustix::io::Errno) -> Code {
    Code::from(std::io::Error::from(errno))
}

/// What the interfaces of `wasi:filesystem` are implemented on.
pub struct View<'a> {
    files: &'a mut Files,
    table: &'a mut ResourceTable,
}

struct OurFiles;

impl HasData for OurFiles {
    type Data<'a> = View<'a>;
}

pub fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    fn view(state: &mut State) -> View<'_> {
        View { files: &mut state.files, table: &mut state.table }
    }
    types::add_to_linker::<State, OurFiles>(linker, view)?;
    preopens::add_to_linker::<State, OurFiles>(linker, view)
}
