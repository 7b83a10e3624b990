//! The lines of file access an attempt holds, judged on one path at a time. Pure: no file is touched here.

use crate::capability::{Access, HeldFs};

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
    pub fn permit(self, need: Access, followed: bool) -> bool {
        !self.shut && (self.whole >= need || (self.exact >= need && !followed))
    }

    pub fn is_shut(self) -> bool {
        self.shut
    }

    /// May be opened as a folder or asked for its metadata.
    pub fn permit_way(self, followed: bool) -> bool {
        !self.shut && (self.permit(Access::Read, followed) || (self.way && !followed))
    }

    pub fn permit_listing(self) -> bool {
        !self.shut && self.whole >= Access::Read
    }
}

/// Rights on `path` (absolute, in normal form) reached through the mount at `mount`.
pub fn rights(lines: &[HeldFs], mount: &str, path: &str) -> Rights {
    let shut = lines.iter().any(|line| line.access == Access::None && covers(place(line), path));
    let own = || lines.iter().filter(|line| line.mount == mount && line.access != Access::None);
    let best = |accesses: &mut dyn Iterator<Item = Access>| accesses.max().unwrap_or(Access::None);
    Rights {
        whole: best(&mut own().filter(|line| line.only.is_none()).map(|line| line.access)),
        exact: best(&mut own().filter(|line| line.only.as_deref() == Some(path)).map(|line| line.access)),
        way: own().filter_map(|line| line.only.as_deref()).any(|only| only != path && covers(path, only)),
        shut,
    }
}

/// A `none` place lies below `path`: moving `path` would take it elsewhere.
pub fn shuts_below(lines: &[HeldFs], path: &str) -> bool {
    lines.iter().any(|line| line.access == Access::None && place(line) != path && covers(path, place(line)))
}

/// Some line of the mount is not about the whole of it, or a `none` line exists: links could lead around it.
pub fn links_refused(lines: &[HeldFs], mount: &str) -> bool {
    lines.iter().any(|line| line.access == Access::None || (line.mount == mount && line.only.is_some()))
}

fn place(line: &HeldFs) -> &str {
    line.only.as_deref().unwrap_or(&line.mount)
}

/// `path` is `top` or lies below it.
pub fn covers(top: &str, path: &str) -> bool {
    path.strip_prefix(top.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
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
        HeldFs { mount: mount.into(), host: "/host".into(), access, only: only.map(Into::into) }
    }

    #[test]
    fn lines_of_one_mount_add_up_and_none_wins() {
        let lines =
            [line("/build", Access::Read, None), line("/build", Access::Write, Some("/build/a.tmp")), line("/build/keep", Access::None, None)];
        let permit = |path: &str, need, followed| rights(&lines, "/build", path).permit(need, followed);
        assert!(permit("/build/x", Access::Read, true));
        assert!(!permit("/build/x", Access::Write, false));
        assert!(permit("/build/a.tmp", Access::Write, false));
        assert!(!permit("/build/a.tmp", Access::Write, true), "a symlink led to the exact entry");
        assert!(!permit("/build/a.tmp/below", Access::Write, false));
        assert!(!permit("/build/keep", Access::Read, false));
        assert!(!permit("/build/keep/x", Access::Read, false));
        assert!(permit("/build/keeper", Access::Read, false));
        assert!(!rights(&lines, "/other", "/other/x").permit(Access::Read, false));
        assert!(shuts_below(&lines, "/build") && !shuts_below(&lines, "/build/keep") && !shuts_below(&lines, "/build/kee"));
    }

    #[test]
    fn the_way_to_an_exact_entry_can_be_passed_but_not_listed() {
        let lines = [line("/build", Access::Write, Some("/build/out/a.tmp"))];
        let at = |path: &str| rights(&lines, "/build", path);
        assert!(at("/build").permit_way(false) && at("/build/out").permit_way(false));
        assert!(!at("/build").permit_listing() && !at("/build/out").permit(Access::Read, false));
        assert!(!at("/build/other").permit_way(false) && !at("/build/out/b.tmp").permit_way(false));
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
