//! Files: our own layer under `wasi:filesystem`, checked at every operation against the lines that an attempt holds.
//!
//! A path is walked handle by handle (`walk`), the entry it ends at is judged (`rules`), and the operation is made on
//! that folder's handle and the entry's name, never on a path again: swapping a symlink meanwhile leads nowhere else.
//! `none` is judged on the path as written, on the resolved path and on the file's identity, so that another spelling,
//! mount or hard link of it is shut too. What remains: identities of `none` places are taken when an attempt first uses
//! files, and a folder that somebody outside moves between check and use is judged by where it stood.
//!
//! Where the operator's grants changed since the attempt started, each operation is judged by both: by what was held then
//! and by what they give now.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{Mode, OFlags, fstat, open};
use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime_wasi::filesystem::WasiFilesystemCtx;
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};

use super::ledger::{HadEffect, Ledger, too_late};
use super::state::State;
use crate::capability::frozen::{FROZEN_NAME_BYTES_MAX, FsOperation, FsUse};
use crate::capability::{Access, FrozenUse, Held, HeldFs, Limits, Refusal};

mod act;
mod budget;
mod change;
mod descriptor;
mod given;
mod node;
mod open_at;
pub mod rules;
mod stream;
mod walk;

use act::Act;
use budget::Budget;
use given::{Given, Shut};
use node::{Node, OpenFile};
use rules::{Need, covers, joined};
use walk::{Entry, Folder, Identity, Last, Lost};

type Code = types::ErrorCode;

/// The files of one attempt.
pub struct Files {
    held: Arc<HeldFiles>,
    /// wasmtime's own context: without preopens, only its streams are used.
    streams: WasiFilesystemCtx,
}

/// What the attempt held when it started, and what that stands for on this host once it is asked for.
struct HeldFiles {
    at_start: Given,
    mounts: OnceLock<Mounts>,
    ledger: Arc<Ledger>,
    budget: Budget,
}

/// The lines as one operation finds them.
struct Lines {
    held: Arc<HeldFiles>,
    /// What the operator gives by now, if that is something else.
    now: Option<(Given, Shut)>,
}

#[derive(Default)]
struct Mounts {
    mounts: Vec<Mount>,
    shut: Shut,
}

struct Mount {
    path: String,
    /// As its lines name it.
    named: PathBuf,
    host: PathBuf,
    root: Folder,
}

impl Files {
    pub fn new(held: &Held, limits: &Limits, ledger: Arc<Ledger>) -> Self {
        let held = HeldFiles { at_start: Given::of(held), mounts: OnceLock::new(), ledger, budget: Budget::of(limits) };
        Self { held: Arc::new(held), streams: WasiFilesystemCtx::default() }
    }

    fn lines(&self) -> Lines {
        Lines::of(&self.held)
    }
}

impl HeldFiles {
    fn open_mounts(&self) -> Mounts {
        let Given { lines, reach, .. } = &self.at_start;
        let mut found = Mounts { shut: self.at_start.shut(), ..Mounts::default() };
        for line in lines.iter().chain(reach).filter(|line| line.access != Access::None) {
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
        if self.at_start.lines.iter().any(|other| other.mount == line.mount && other.access != Access::None && other.host != line.host) {
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
}

impl Lines {
    fn of(held: &Arc<HeldFiles>) -> Self {
        let now = held.ledger.now().map(|now| Given::of(&now));
        Self { held: Arc::clone(held), now: now.map(|now| (now.shut(), now)).map(|(shut, now)| (now, shut)) }
    }

    fn mounts(&self) -> &Mounts {
        self.held.mounts.get_or_init(|| self.held.open_mounts())
    }

    /// All of these must permit what is done.
    fn given(&self) -> impl Iterator<Item = &Given> {
        std::iter::once(&self.held.at_start).chain(self.now.as_ref().map(|(given, _)| given))
    }

    /// Places that no way may enter.
    fn shut(&self) -> impl Iterator<Item = &Shut> {
        std::iter::once(&self.mounts().shut).chain(self.now.as_ref().map(|(_, shut)| shut))
    }

    fn is_shut(&self, place: Identity) -> bool {
        self.shut().any(|shut| shut.identities.contains(&place))
    }

    fn shuts_any(&self) -> bool {
        self.shut().any(|shut| !shut.identities.is_empty())
    }

    /// The entry at `path` seen from `node`, if the lines permit the act on it, as written and as resolved.
    fn enter(&self, node: &Node, path: &str, last: Last, act: &Act) -> Result<(usize, Entry), Code> {
        let (mount, start, path) = self.start(node, path, act)?;
        let written = joined(&start.path, &path).ok_or(Code::NotPermitted)?;
        // Where only exact entries are held, what else exists is not even looked at.
        if !self.permits(mount, act, &written, start.followed) && !self.permits_below(mount) {
            return Err(self.hold_back(act, &written, start.followed));
        }
        let entry = match walk::walk(&start, &path, last, &|place| Ok(self.shuts_any() && self.is_shut(walk::identity(&fstat(place)?)))) {
            Ok(entry) => entry,
            Err(Lost::Outside) => return Err(self.refuse_outside(act.need(), &written)),
            Err(Lost::Shut) => return Err(self.refuse(act.need(), &written)),
            Err(Lost::Os(errno)) => return Err(code(errno)),
        };
        if self.shuts_any() && entry.stat().is_ok_and(|stat| self.is_shut(walk::identity(&stat))) {
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
        let place = self.place(mount);
        self.given().all(|given| given.permits(place, act, path, followed))
    }

    /// Whether what was opened may still be read or changed: only what the operator gives now is asked, since opening it
    /// spent the approval that there may have been.
    fn still(&self, file: &OpenFile, operation: FsOperation) -> Result<(), Code> {
        let Some((now, shut)) = &self.now else { return Ok(()) };
        let place = self.place(file.mount);
        let permits = |operation| now.permits(place, &Act::new(operation), &file.path, file.followed);
        // An approved write may read what it writes.
        let permitted = permits(operation) || (operation == FsOperation::Read && file.writable && permits(FsOperation::Write));
        let is_shut = !shut.identities.is_empty() && fstat(&file.file).is_ok_and(|stat| shut.identities.contains(&walk::identity(&stat)));
        if permitted && !is_shut { Ok(()) } else { Err(self.refuse(Need::of(operation), &file.path)) }
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
        let place = self.place(mount);
        let now = self.now.as_ref().map(|(now, _)| now.rights(place, path));
        let at_start = self.held.at_start.rights(place, path);
        now.map_or(at_start, |now| at_start.and(now))
    }

    /// A mount's guest path, and the host path that its lines name.
    fn place(&self, mount: usize) -> (&str, &Path) {
        let mount = &self.mounts().mounts[mount];
        (&mount.path, &mount.named)
    }

    /// The whole mount is held in some way, so that a symlink may lead from a refused spelling to a held entry.
    fn permits_below(&self, mount: usize) -> bool {
        let place = self.place(mount);
        self.given().all(|given| rules::holds_whole(&given.lines, place))
    }

    /// Moving `path` would move a shut place.
    fn moves_shut(&self, mount: usize, path: &str) -> bool {
        let mounts = self.mounts();
        let mount = &mounts.mounts[mount];
        let host = mount.host.join(path[mount.path.len().min(path.len())..].trim_start_matches('/'));
        self.given().any(|given| rules::shuts_below(&given.lines, path))
            || self.shut().flat_map(|shut| &shut.paths).any(|shut| shut.starts_with(&host))
    }

    /// Ends the attempt with this use where an approval could open it; else refuses it.
    fn hold_back(&self, act: &Act, path: &str, followed: bool) -> Code {
        let frozen = act.frozen(path);
        // A symlink on the way is nothing that a person could see in the path.
        if followed || path.len() > FROZEN_NAME_BYTES_MAX || !self.can_be_asked(&frozen) {
            return self.refuse(act.need(), path);
        }
        let frozen = FrozenUse::Fs(frozen);
        if let Err(HadEffect) = self.held.ledger.hold_back(frozen.clone()) {
            self.held.ledger.refuse(too_late(&frozen, &self.allowing(act.need().access(), path)));
        }
        Code::Access
    }

    fn can_be_asked(&self, frozen: &FsUse) -> bool {
        self.given().all(|given| given.is_within_reach(frozen)) && self.given().any(|given| given.can_be_asked(frozen))
    }

    fn spend(&self, act: &Act, path: &str) {
        let frozen = act.frozen(path);
        self.held.at_start.uses.iter().for_each(|approved| approved.spend(&frozen));
    }

    fn refuse(&self, need: Need, path: &str) -> Code {
        let access = need.access();
        let refusal = Refusal { attempted: format!("fs {access} {path}"), allow_with: self.allowing(access, path) };
        self.held.ledger.refuse(refusal);
        Code::Access
    }

    fn refuse_outside(&self, need: Need, path: &str) -> Code {
        let attempted = format!("fs {} {path}, which leads out of its mount", need.access());
        self.held.ledger.refuse(Refusal { attempted, allow_with: "# nothing allows a path that leaves its mount".to_owned() });
        Code::NotPermitted
    }

    fn allowing(&self, access: &str, path: &str) -> String {
        let shuts = |line: &&HeldFs| line.access == Access::None && covers(line.only.as_deref().unwrap_or(&line.mount), path);
        if let Some(line) = self.given().flat_map(|given| &given.lines).find(shuts) {
            return format!("# the line `access = \"none\"` at mount {:?} shuts it; take that line out", line.mount);
        }
        let held = self.held.at_start.lines.iter().filter(|line| covers(&line.mount, path)).max_by_key(|line| line.mount.len());
        let (host, mount) = match held {
            Some(line) => (line.host.display().to_string(), line.mount.clone()),
            None => match path.split('/').nth(1) {
                Some(first) if !first.is_empty() => (format!("./{first}"), format!("/{first}")),
                _ => ("./folder".to_owned(), "/".to_owned()),
            },
        };
        let text = |text: String| toml::Value::String(text).to_string();
        format!("[[plugins.{}.fs]]\npath = {}\nmount = {}\naccess = \"{access}\"", self.held.ledger.plugin, text(host), text(mount))
    }
}

fn code(errno: rustix::io::Errno) -> Code {
    Code::from(std::io::Error::from(errno))
}

/// What the interfaces of `wasi:filesystem` are implemented on.
pub struct View<'a> {
    files: &'a mut Files,
    table: &'a mut ResourceTable,
}

/// Judges a write of one entry as an attempt with these lines does, without making it; for the benchmark.
pub fn judging(lines: &[HeldFs]) -> impl Fn(&str) -> bool + use<> {
    let given = Given::of(&Held { fs: lines.to_vec(), ..Held::default() });
    move |path| {
        let mount = given.lines.iter().find(|line| covers(&line.mount, path));
        mount.is_some_and(|line| given.permits((&line.mount, &line.host), &Act::new(FsOperation::Write), path, false))
    }
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
