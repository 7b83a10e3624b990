//! The lines that a refusal prints, made such that the grants file takes them where they are pasted.
//!
//! The host call knows only what its attempt held. The section may know the folder better, there may be no section, and
//! a tool that says it only reads is given no more by any line.

use std::fmt::Write;

use serde::Deserialize;

use crate::call::{Effects, ToolSpec};
use crate::capability::{Access, Grants, PluginGrants, Refusal, guest_path, is_safe};

pub fn pasteable(grants: &Grants, tool: &ToolSpec, refusals: Vec<Refusal>) -> Vec<Refusal> {
    refusals.into_iter().map(|refusal| Refusal { allow_with: lines(grants, tool, &refusal), attempted: refusal.attempted }).collect()
}

/// The one line of a refusal, as the host call wrote it.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Fs([FsLine; 1]),
    Http([HttpLine; 1]),
    #[serde(untagged)]
    Other(toml::Value),
}

#[derive(Deserialize)]
struct FsLine {
    path: String,
    mount: String,
    access: Access,
}

#[derive(Deserialize)]
struct HttpLine {
    methods: Vec<String>,
}

fn lines(grants: &Grants, tool: &ToolSpec, refusal: &Refusal) -> String {
    let text = &refusal.allow_with;
    // A comment says what to do where no line does it.
    let Some(line) = line(text, &tool.plugin) else { return text.clone() };
    if grants.effects(tool) == Effects::ReadOnly && line.has_effect() {
        return format!("# no line allows it: {} is read-only, and is held to it", tool.name);
    }
    match (grants.plugins.get(&tool.plugin), line) {
        (None, _) => format!("[plugins.{}]\ndigest = \"{}\"\n{text}", tool.plugin, tool.plugin_digest),
        (Some(section), _) if !section.digest.matches(&tool.plugin_digest) => {
            format!("# after `pausegate trust {}`, since its section is for other bytes\n{text}", tool.plugin)
        }
        (Some(section), Line::Fs([fs])) => placed(section, &tool.plugin, fs, refusal),
        (Some(_), Line::Http(_) | Line::Other(_)) => text.clone(),
    }
}

fn line(text: &str, plugin: &str) -> Option<Line> {
    let mut table: toml::Table = text.parse().ok()?;
    let section = table.get_mut("plugins")?.get_mut(plugin)?.clone();
    section.try_into().ok()
}

impl Line {
    fn has_effect(&self) -> bool {
        match self {
            Self::Fs([fs]) => fs.access == Access::Write,
            Self::Http([http]) => !http.methods.iter().any(|method| is_safe(method)),
            Self::Other(line) => line.get("kv").is_some_and(|kv| kv.to_string().contains("\"write\"")),
        }
    }
}

/// One guest path is one host path: a mount that the section has keeps its folder, and none is put around another.
fn placed(section: &PluginGrants, plugin: &str, line: FsLine, refusal: &Refusal) -> String {
    let wanted = path(refusal).unwrap_or(&line.mount);
    let folders = || section.fs.iter().filter(|grant| grant.access != Access::None);
    let around = folders().filter(|grant| guest_path::covers(&grant.mount, wanted)).max_by_key(|grant| grant.mount.len());
    let (host, mount) = match around {
        Some(grant) => (grant.path.display().to_string(), grant.mount.clone()),
        None => {
            let free = |mount: &&str| !folders().any(|grant| guest_path::covers(mount, &grant.mount));
            let from = if guest_path::covers(&line.mount, wanted) { line.mount.len() } else { wanted.len() };
            let ends = wanted.match_indices('/').map(|(at, _)| at).chain([wanted.len()]).filter(|end| *end >= from && *end > 0);
            let Some(mount) = ends.map(|end| &wanted[..end]).find(free) else {
                return format!("# other folders are mounted below {wanted}, so none is mounted there; take those lines out, or name one in them");
            };
            let host = if mount == line.mount { line.path } else { format!("./{}", mount.rsplit('/').next().unwrap_or(mount)) };
            (host, mount.to_owned())
        }
    };
    let text = |text: String| toml::Value::String(text).to_string();
    let access = line.access.as_str();
    let mut lines = format!("[[plugins.{plugin}.fs]]\npath = {}\nmount = {}\naccess = \"{access}\"", text(host), text(mount));
    for remark in refusal.allow_with.lines().filter(|line| line.starts_with('#')) {
        write!(lines, "\n{remark}").expect("strings take all");
    }
    lines
}

/// Of `fs write /build/a.tmp`.
fn path(refusal: &Refusal) -> Option<&str> {
    let (_, path) = refusal.attempted.strip_prefix("fs ")?.split_once(" /")?;
    let path = &refusal.attempted[refusal.attempted.len() - path.len() - 1..];
    guest_path::is_normal(path).then_some(path)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;
    use crate::capability::{Binding, FsGrant, OnMissing, Pin, When};
    use crate::digest::Digest;

    fn tool(effects: Effects) -> ToolSpec {
        ToolSpec {
            name: "p__t".into(),
            plugin: "p".into(),
            tool: "t".into(),
            title: None,
            description: "Does.".into(),
            input_schema: json!({"type": "object"}).into(),
            output_schema: None,
            effects,
            plugin_digest: Digest::of_bytes(b"p"),
        }
    }

    fn mounted(mounts: &[&str]) -> Grants {
        let grant = |mount: &&str| FsGrant {
            path: PathBuf::from(format!("/host{mount}")),
            mount: (*mount).into(),
            access: Access::Write,
            when: When::Approved(Binding::Within(vec!["path".into()])),
            on_missing: OnMissing::Refuse,
            tools: Default::default(),
            one_file: false,
            quota: None,
            line: 1,
        };
        let section = PluginGrants { fs: mounts.iter().map(grant).collect(), ..PluginGrants::holding_nothing(Pin::Any, 1) };
        Grants { plugins: [("p".to_owned(), section)].into(), ..Grants::default() }
    }

    fn refused(path: &str, grants: &Grants, effects: Effects) -> String {
        let first = path.split('/').nth(1).unwrap();
        let allow_with = format!("[[plugins.p.fs]]\npath = \"./{first}\"\nmount = \"/{first}\"\naccess = \"write\"");
        let refusal = Refusal { attempted: format!("fs write {path}"), allow_with };
        pasteable(grants, &tool(effects), vec![refusal]).remove(0).allow_with
    }

    #[test]
    fn a_line_takes_the_folder_that_its_section_has_for_the_mount() {
        let shown = |path: &str, mounts: &[&str]| {
            let text = refused(path, &mounted(mounts), Effects::Once);
            text.lines().filter(|line| line.starts_with("path") || line.starts_with("mount") || line.starts_with('#')).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown("/a/x", &[]), "path = \"./a\" mount = \"/a\"");
        assert_eq!(shown("/a/x", &["/a"]), "path = \"/host/a\" mount = \"/a\"");
        assert_eq!(shown("/a/b/x", &["/a/b", "/c"]), "path = \"/host/a/b\" mount = \"/a/b\"");
        assert_eq!(shown("/a/c/x", &["/a/b"]), "path = \"./c\" mount = \"/a/c\"");
        assert!(shown("/a", &["/a/b"]).starts_with("# other folders are mounted below /a"));
    }

    #[test]
    fn a_section_is_brought_along_and_a_reader_is_told() {
        let none = refused("/a/x", &Grants::default(), Effects::Once);
        assert!(none.starts_with("[plugins.p]\ndigest = \"sha256:"), "{none}");
        assert!(refused("/a/x", &mounted(&[]), Effects::ReadOnly).starts_with("# no line allows it"));
        let http = |method: &str| {
            let allow_with = format!("[[plugins.p.http]]\nurl = \"https://a.test/\"\nmethods = [\"{method}\"]");
            let refusal = Refusal { attempted: format!("http {method} https://a.test/"), allow_with };
            pasteable(&mounted(&[]), &tool(Effects::ReadOnly), vec![refusal]).remove(0).allow_with
        };
        assert!(http("POST").starts_with("# no line allows it") && http("GET").starts_with("[[plugins.p.http]]"));
        let told = Refusal { attempted: "fs open /a".into(), allow_with: "# take it out".into() };
        assert_eq!(pasteable(&Grants::default(), &tool(Effects::ReadOnly), vec![told.clone()]), [told]);
    }
}
