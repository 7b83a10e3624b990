//! The lines of file access an attempt holds, judged on one path at a time. Pure: no file is touched here.

use std::path::Path;

use crate::capability::frozen::{FsOperation, FsUse, covered, covered_by_none};
pub use crate::capability::guest_path::covers;
use crate::capability::{Access, HeldFs, guest_path};

/// What an operation needs of the entry it is made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Its metadata, or a way through it.
    Look,
    Read,
    /// The names in it.
    List,
    Write,
}

impl Need {
    pub fn of(operation: FsOperation) -> Self {
        match operation {
            FsOperation::Look => Self::Look,
            FsOperation::Read => Self::Read,
            FsOperation::List => Self::List,
            _ => Self::Write,
        }
    }

    pub fn access(self) -> &'static str {
        match self {
            Self::Look | Self::Read | Self::List => "read",
            Self::Write => "write",
        }
    }
}

/// What the lines say about one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// From lines of the whole mount.
    whole: Access,
    /// From lines of exactly this entry: no symlink may have been followed to it, and nothing below it is covered.
    exact: Access,
    /// On the way to an entry with a line of its own: may be passed through and looked at, not listed.
    way: bool,
    /// A `none` line covers it.
    shut: bool,
}

impl Rights {
    pub fn permits(self, need: Need, followed: bool) -> bool {
        match need {
            Need::Look => self.permit_way(followed),
            Need::Read => self.permit(Access::Read, followed),
            Need::List => self.permit_listing(),
            Need::Write => self.permit(Access::Write, followed),
        }
    }

    fn permit(self, need: Access, followed: bool) -> bool {
        !self.shut && (self.whole >= need || (self.exact >= need && !followed))
    }

    /// What both give.
    pub fn and(self, other: Self) -> Self {
        let way = |rights: Self| rights.way || rights.whole.max(rights.exact) >= Access::Read;
        Self {
            whole: self.whole.min(other.whole),
            exact: self.whole.max(self.exact).min(other.whole.max(other.exact)),
            way: way(self) && way(other),
            shut: self.shut || other.shut,
        }
    }

    pub fn is_shut(self) -> bool {
        self.shut
    }

    /// May be opened as a folder or asked for its metadata.
    fn permit_way(self, followed: bool) -> bool {
        !self.shut && (self.permit(Access::Read, followed) || (self.way && !followed))
    }

    pub fn permit_listing(self) -> bool {
        !self.shut && self.whole >= Access::Read
    }
}

/// Rights on `path` (absolute, in normal form) reached through the mount at `mount`, which is `host` here. Lines of other
/// mounts count where they are about the same entry: by whichever mount it is reached, it is held in the same way.
pub fn rights(lines: &[HeldFs], (mount, host): (&str, &Path), path: &str) -> Rights {
    let about = |line: &&HeldFs| line.access != Access::None && covers(&line.mount, path) && same_place(line, mount, host);
    let own = || lines.iter().filter(about);
    let best = |accesses: &mut dyn Iterator<Item = Access>| accesses.max().unwrap_or(Access::None);
    Rights {
        whole: best(&mut own().filter(|line| line.only.is_none()).map(|line| line.access)),
        exact: best(&mut own().filter(|line| line.only.as_deref() == Some(path)).map(|line| line.access)),
        way: own().filter_map(|line| line.only.as_deref()).any(|only| only != path && covers(path, only)),
        shut: covered_by_none(lines, path),
    }
}

/// Whether a person could open this use: each end of it is in reach or held, and not all are held already.
pub fn can_be_asked(lines: &[HeldFs], reach: &[HeldFs], frozen: &FsUse) -> bool {
    is_within_reach(lines, reach, frozen) && frozen.ends().any(|end| is_open(lines, reach, end, frozen.operation))
}

/// Each end of it is in reach or held.
pub fn is_within_reach(lines: &[HeldFs], reach: &[HeldFs], frozen: &FsUse) -> bool {
    let moves = matches!(frozen.operation, FsOperation::Rename | FsOperation::RemoveFolder);
    frozen.ends().all(|end| is_open(lines, reach, end, frozen.operation) || covered(lines, end, frozen.operation))
        && !(moves && frozen.ends().any(|end| shuts_below(lines, end)))
}

/// To a person's approval.
fn is_open(lines: &[HeldFs], reach: &[HeldFs], end: &str, operation: FsOperation) -> bool {
    covered(reach, end, operation) && !covered_by_none(lines, end)
}

/// The whole of this mount is held in some way.
pub fn holds_whole(lines: &[HeldFs], (mount, host): (&str, &Path)) -> bool {
    lines.iter().any(|line| line.only.is_none() && line.access != Access::None && same_place(line, mount, host))
}

/// A `none` place lies below `path`: moving `path` would take it elsewhere.
pub fn shuts_below(lines: &[HeldFs], path: &str) -> bool {
    lines.iter().any(|line| line.access == Access::None && place(line) != path && covers(path, place(line)))
}

/// Some line of the mount is not about the whole of it, or a `none` line exists: links could lead around it.
pub fn links_refused(lines: &[HeldFs], (mount, host): (&str, &Path)) -> bool {
    lines.iter().any(|line| line.access == Access::None || (line.only.is_some() && same_place(line, mount, host)))
}

/// A guest path below both mounts is one entry of the host.
fn same_place(line: &HeldFs, mount: &str, host: &Path) -> bool {
    match (guest_path::below(mount, &line.mount), guest_path::below(&line.mount, mount)) {
        (Some(rest), _) => host.join(rest) == line.host,
        (None, Some(rest)) => line.host.join(rest) == host,
        (None, None) => mount == line.mount && line.host == host,
    }
}

fn place(line: &HeldFs) -> &str {
    line.only.as_deref().unwrap_or(&line.mount)
}

/// `path` seen from `folder`, both as the guest wrote them, in normal form; `None` where it would leave the root.
pub fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(mount: &str, access: Access, only: Option<&str>) -> HeldFs {
        HeldFs { mount: mount.into(), host: format!("/host{mount}").into(), access, only: only.map(Into::into), quota: None }
    }

    #[test]
    fn lines_of_one_mount_add_up_and_none_wins() {
        let lines =
            [line("/build", Access::Read, None), line("/build", Access::Write, Some("/build/a.tmp")), line("/build/keep", Access::None, None)];
        let permit = |path: &str, need, followed| rights(&lines, ("/build", Path::new("/host/build")), path).permit(need, followed);
        assert!(permit("/build/x", Access::Read, true));
        assert!(!permit("/build/x", Access::Write, false));
        assert!(permit("/build/a.tmp", Access::Write, false));
        assert!(!permit("/build/a.tmp", Access::Write, true), "a symlink led to the exact entry");
        assert!(!permit("/build/a.tmp/below", Access::Write, false));
        assert!(!permit("/build/keep", Access::Read, false));
        assert!(!permit("/build/keep/x", Access::Read, false));
        assert!(permit("/build/keeper", Access::Read, false));
        assert!(!rights(&lines, ("/other", Path::new("/host/other")), "/other/x").permit(Access::Read, false));
        assert!(shuts_below(&lines, "/build") && !shuts_below(&lines, "/build/keep") && !shuts_below(&lines, "/build/kee"));
    }

    #[test]
    fn w68_what_two_sides_give_is_what_both_permit() {
        let accesses = [Access::None, Access::Read, Access::Write];
        let mut every = Vec::new();
        for (whole, exact) in accesses.into_iter().flat_map(|whole| accesses.map(|exact| (whole, exact))) {
            every.extend([(false, false), (false, true), (true, false), (true, true)].map(|(way, shut)| Rights { whole, exact, way, shut }));
        }
        for (one, other) in every.iter().flat_map(|one| every.iter().map(move |other| (*one, *other))) {
            for (need, followed) in [Need::Look, Need::Read, Need::List, Need::Write].into_iter().flat_map(|need| [(need, false), (need, true)]) {
                let both = one.permits(need, followed) && other.permits(need, followed);
                assert_eq!(one.and(other).permits(need, followed), both, "{need:?} {followed}: {one:?}, {other:?}");
            }
        }
    }

    #[test]
    fn the_way_to_an_exact_entry_can_be_passed_but_not_listed() {
        let lines = [line("/build", Access::Write, Some("/build/out/a.tmp"))];
        let at = |path: &str| rights(&lines, ("/build", Path::new("/host/build")), path);
        assert!(at("/build").permit_way(false) && at("/build/out").permit_way(false));
        assert!(!at("/build").permit_listing() && !at("/build/out").permit(Access::Read, false));
        assert!(!at("/build/other").permit_way(false) && !at("/build/out/b.tmp").permit_way(false));
    }

    #[test]
    fn an_entry_is_held_alike_by_whichever_mount_it_is_reached() {
        let lines = [line("/", Access::Write, None), line("/build", Access::Read, None)];
        let nested = [line("/", Access::Read, None), line("/build", Access::Write, None)];
        for (mount, host) in [("/", "/host/"), ("/build", "/host/build")] {
            for lines in [&lines, &nested] {
                assert!(rights(lines, (mount, Path::new(host)), "/build/x").permits(Need::Write, true), "{mount} {lines:?}");
            }
            assert!(!rights(&nested, (mount, Path::new(host)), "/other").permits(Need::Write, true), "{mount}");
        }
        // Another folder that only the guest sees there.
        assert!(!rights(&lines, ("/build", Path::new("/elsewhere")), "/build/x").permits(Need::Look, false));
    }

    #[test]
    fn nobody_is_asked_about_what_is_held_or_what_no_approval_opens() {
        let reach = [line("/build", Access::Write, None)];
        let lines = [line("/build/keep/x", Access::None, None), line("/out", Access::Write, None)];
        let asked =
            |operation, path: &str, to: Option<&str>| can_be_asked(&lines, &reach, &FsUse { operation, path: path.into(), to: to.map(Into::into) });
        assert!(asked(FsOperation::Write, "/build/a", None) && asked(FsOperation::Rename, "/build/a", Some("/out/a")));
        assert!(!asked(FsOperation::Write, "/out/a", None), "it is held");
        assert!(!asked(FsOperation::Write, "/build/keep/x", None) && !asked(FsOperation::Rename, "/build/a", Some("/build/keep/x/a")));
        assert!(!asked(FsOperation::Rename, "/build/keep", Some("/out/keep")), "a shut place would move with it");
        assert!(asked(FsOperation::Write, "/build/keep", None) && !asked(FsOperation::Write, "/other", None));
    }

    #[test]
    fn d07_paths_have_one_normal_form() {
        let form = |path: &str| joined("/build", path).unwrap();
        for path in ["keep/x", "./keep/x", "keep//x", "keep/./x", "keep/x/", "a/../keep/x", "keep/y/../x"] {
            assert_eq!(form(path), "/build/keep/x", "{path}");
        }
        assert_eq!(form("../etc"), "/etc");
        assert_eq!(joined("/build", "../../etc"), None);
        assert_eq!(joined("/", "."), Some("/".into()));
    }
}
