//! `[plugins.NAME]`: what the bytes with that digest hold.

use std::path::{Path, PathBuf};

use super::enclosure::{Enclosure, resolve};
use super::{LATER, keyvalue, read_limits, tool, units};
use crate::capability::pattern::UrlTemplate;
use crate::capability::{Access, Binding, FsGrant, HttpGrant, Limits, OnMissing, Pin, PluginGrants, Reconcile, When, guest_path};
use crate::config::ConfigError;
use crate::config::document::{Item, Section};

pub(super) fn read(
    section: &Section<'_>,
    name: &str,
    (limits, on_missing): (&Limits, OnMissing),
    file: &Path,
    enclosure: &Enclosure,
) -> Result<PluginGrants, ConfigError> {
    section.only(&["digest", "adapt", "fs", "http", "kv", "env", "config", "tools", "reconcile", "limits", "on_missing"], LATER)?;
    let on_missing = read_on_missing(section, on_missing)?;
    // Read where plugins are loaded, by `adapt::names`.
    section.get("adapt").map(|item| item.boolean()).transpose()?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let fs = match section.get("fs") {
        Some(lines) => read_all_fs(&lines.sections()?, folder, enclosure, on_missing)?,
        None => Vec::new(),
    };
    let http = match section.get("http") {
        Some(lines) => lines.sections()?.iter().map(|line| read_http(line, folder, on_missing)).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let kv = match section.get("kv") {
        Some(kv) => keyvalue::read(&kv, on_missing)?,
        None => Vec::new(),
    };
    let env = match section.get("env") {
        Some(env) => env.section()?.items().into_iter().map(read_variable).collect::<Result<_, _>>()?,
        None => Default::default(),
    };
    let config = match section.get("config") {
        Some(config) => config.section()?.items().into_iter().map(read_setting).collect::<Result<_, _>>()?,
        None => Default::default(),
    };
    let tools = match section.get("tools") {
        Some(tools) => tools.section()?.items().into_iter().map(tool::read).collect::<Result<_, _>>()?,
        None => Default::default(),
    };
    let reconcile = match section.get("reconcile") {
        Some(item) => read_reconcile(&item)?,
        None => Reconcile::default(),
    };
    let limits = match section.get("limits") {
        Some(own) => read_limits(&own.section()?, limits)?,
        None => limits.clone(),
    };
    Ok(PluginGrants { digest: read_pin(section, name)?, fs, http, kv, env, config, tools, reconcile, limits, line: section.line() })
}

fn read_pin(section: &Section<'_>, name: &str) -> Result<Pin, ConfigError> {
    let hint = format!("run `pausegate trust {name}`, which writes the digest of the file that is there");
    let item = section.require("digest").map_err(|error| error.with_hint(&hint))?;
    match item.text()? {
        "any" => Ok(Pin::Any),
        text => Ok(Pin::Exact(text.parse().map_err(|error| item.error(format!("`{}`: {error}", item.name())).with_hint(hint))?)),
    }
}

fn read_reconcile(item: &Item<'_>) -> Result<Reconcile, ConfigError> {
    Ok(if item.word(&["show", "believe"])? == "believe" { Reconcile::Believe } else { Reconcile::Show })
}

fn read_variable((name, item): (&str, Item<'_>)) -> Result<(String, String), ConfigError> {
    let value = item.text()?;
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        return Err(item.error(format!("`{}` cannot be a variable of the environment", item.name().escape_debug())));
    }
    Ok((name.to_owned(), value.to_owned()))
}

fn read_setting((name, item): (&str, Item<'_>)) -> Result<(String, String), ConfigError> {
    match name {
        "" => Err(item.error(format!("`{}` has no name", item.name()))),
        _ => Ok((name.to_owned(), item.text()?.to_owned())),
    }
}

fn read_all_fs(sections: &[Section<'_>], folder: &Path, enclosure: &Enclosure, on_missing: OnMissing) -> Result<Vec<FsGrant>, ConfigError> {
    let mut lines: Vec<FsGrant> = Vec::new();
    // A `none` line may stand before the mount it lies in, so the others are read first.
    let (none, others): (Vec<_>, Vec<_>) =
        sections.iter().partition(|section| section.get("access").is_some_and(|access| matches!(access.text(), Ok("none"))));
    for section in others.into_iter().chain(none) {
        let line = FsGrant { on_missing: read_on_missing(section, on_missing)?, ..read_fs(section, folder, &lines, enclosure)? };
        lines.push(line);
    }
    lines.sort_by_key(|line| line.line);
    Ok(lines)
}

fn read_fs(section: &Section<'_>, folder: &Path, before: &[FsGrant], enclosure: &Enclosure) -> Result<FsGrant, ConfigError> {
    section.only(&["path", "mount", "access", "quota", "when", "within", "scope", "on_missing", "tools"], LATER)?;
    let access = match section.require("access")?.word(&["none", "read", "write"])? {
        "none" => Access::None,
        "read" => Access::Read,
        _ => Access::Write,
    };
    let mount = read_mount(section)?;
    let path = read_path(section, folder, access, &mount, before)?;
    let when = read_when(section, access)?;
    let quota = match section.get("quota") {
        Some(item) if access != Access::Write => return Err(item.error(format!("`{}` is of a line with `access = \"write\"`", item.name()))),
        Some(item) => Some(units::bytes(item.text()?).map_err(|reason| item.error(format!("`{}`: {reason}", item.name())))?),
        None => None,
    };
    let one_file = access != Access::None && path.is_file();
    if access != Access::None {
        let item = section.require("path")?;
        if let Some(what) = enclosure.reached_by(&path) {
            return Err(item
                .error(format!("`{}` would reach {what} ({})", item.name(), path.display()))
                .with_hint("grant a folder of its own, apart from what runs the host"));
        }
        if one_file && path.file_name() != Path::new(&mount).file_name() {
            let item = section.require("mount")?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            return Err(item
                .error(format!("`{}`: {} is one file, which keeps its name", item.name(), path.display()))
                .with_hint(format!("end the mount in it, such as \"/{}\"", name.escape_debug())));
        }
        if let Some(other) = before.iter().find(|other| disagrees(other, &mount, &path, one_file)) {
            let reason = format!("mount {mount} is {} here, and line {} makes it another folder", path.display(), other.line);
            return Err(item.error(reason).with_hint("one guest path is one host path; give the second folder a mount outside the first"));
        }
    }
    let tools = tool::read_names(section)?;
    Ok(FsGrant { path, mount, access, when, on_missing: OnMissing::default(), tools, one_file, quota, line: section.line() })
}

fn read_mount(section: &Section<'_>) -> Result<String, ConfigError> {
    let item = section.require("mount")?;
    let mount = item.text()?;
    match guest_path::is_normal(mount) {
        true => Ok(mount.to_owned()),
        false => {
            Err(item.error(format!("`{}` must be an absolute path in normal form such as /build (no `.`, `..`, `//` or final slash)", item.name())))
        }
    }
}

/// Resolved now, so that a link changed later points nowhere new.
fn read_path(section: &Section<'_>, folder: &Path, access: Access, mount: &str, before: &[FsGrant]) -> Result<PathBuf, ConfigError> {
    let Some(item) = section.get("path") else {
        let enclosing = before.iter().filter(|line| line.access != Access::None).find_map(|line| beside(line, mount));
        return match (access, enclosing) {
            (Access::None, Some(path)) => Ok(path),
            _ => Err(section.require("path").err().expect("it is not there")),
        };
    };
    let text = item.text()?;
    if text.is_empty() || text.contains('\0') {
        return Err(item.error(format!("`{}` is no path", item.name())));
    }
    if text.starts_with('~') {
        let hint = "write the whole path, such as `/home/me/build`; a folder that is really named so is `./~`";
        return Err(item.error(format!("`{}`: `~` is not expanded", item.name())).with_hint(hint));
    }
    resolve(&folder.join(text)).map_err(|error| item.error(format!("`{}`: {text} cannot be resolved: {error}", item.name())))
}

/// The host path that a line gives to a guest path at or below its mount.
fn beside(line: &FsGrant, mount: &str) -> Option<PathBuf> {
    match guest_path::below(&line.mount, mount) {
        Some(rest) => Some(line.path.join(rest)),
        None => (line.mount == mount).then(|| line.path.clone()),
    }
}

fn disagrees(line: &FsGrant, mount: &str, path: &Path, one_file: bool) -> bool {
    let outer = beside(line, mount).is_some_and(|wanted| wanted != path);
    let inner = guest_path::below(mount, &line.mount).is_some_and(|rest| path.join(rest) != line.path);
    // One folder of the guest's holds files of one folder here.
    let siblings = one_file && line.one_file && guest_path::parent(mount) == guest_path::parent(&line.mount) && path.parent() != line.path.parent();
    line.access != Access::None && (outer || inner || siblings)
}

fn read_when(section: &Section<'_>, access: Access) -> Result<When, ConfigError> {
    let within = section.get("within");
    if !is_approved(section)? {
        return match within {
            Some(item) => Err(item.error(format!("`{}` needs `when = \"approved\"`", item.name()))),
            None => Ok(When::Always),
        };
    }
    if access == Access::None {
        return Err(section.require("when")?.error("a `none` line is always in force; no approval lifts it"));
    }
    match (within, section.get("scope")) {
        (Some(within), None) => Ok(When::Approved(Binding::Within(argument_path(&within)?))),
        (None, Some(_)) => Ok(When::Approved(Binding::Whole)),
        (Some(within), Some(_)) => Err(within.error("`within` and `scope = \"whole\"` exclude each other")),
        (None, None) => Err(section
            .require("when")?
            .error("an approved-only line does not say for what")
            .with_hint("add `within = \"args.path\"` for the entry an argument names, or `scope = \"whole\"` for all of the line")),
    }
}

fn is_approved(section: &Section<'_>) -> Result<bool, ConfigError> {
    if let Some(scope) = section.get("scope") {
        scope.word(&["whole"])?;
    }
    match section.get("when") {
        Some(when) => Ok(when.word(&["approved"])? == "approved"),
        None => match section.get("scope") {
            Some(scope) => Err(scope.error(format!("`{}` needs `when = \"approved\"`", scope.name()))),
            None => Ok(false),
        },
    }
}

/// Of a line, else of its section, else of the defaults.
pub(super) fn read_on_missing(section: &Section<'_>, inherited: OnMissing) -> Result<OnMissing, ConfigError> {
    match section.get("on_missing") {
        Some(item) => Ok(if item.word(&["pause", "refuse"])? == "pause" { OnMissing::Pause } else { OnMissing::Refuse }),
        None => Ok(inherited),
    }
}

fn argument_path(item: &Item<'_>) -> Result<Vec<String>, ConfigError> {
    let path: Option<Vec<String>> = item.text()?.strip_prefix("args.").map(|rest| rest.split('.').map(str::to_owned).collect());
    match path {
        Some(path) if path.iter().all(|key| !key.is_empty()) => Ok(path),
        _ => Err(item.error(format!("`{}` must name an argument, such as \"args.path\"", item.name()))),
    }
}

fn read_http(section: &Section<'_>, folder: &Path, on_missing: OnMissing) -> Result<HttpGrant, ConfigError> {
    section.only(&["url", "methods", "private", "secret", "when", "scope", "on_missing", "tools"], LATER)?;
    let item = section.require("url")?;
    let template = UrlTemplate::parse(item.text()?).map_err(|error| {
        let refused = item.error(format!("`{}`: {error}", item.name()));
        error.hint.into_iter().fold(refused, ConfigError::with_hint)
    })?;
    let methods = section.require("methods")?;
    let methods = methods.texts()?.into_iter().map(|method| read_method(&methods, method)).collect::<Result<_, _>>()?;
    let private = section.get("private").map_or(Ok(false), |private| private.boolean())?;
    let when = match (is_approved(section)?, section.get("scope"), template.is_bound()) {
        (false, ..) => When::Always,
        (true, None, true) => When::Approved(Binding::Url),
        (true, Some(_), false) => When::Approved(Binding::Whole),
        (true, Some(scope), true) => return Err(scope.error("an argument in the URL and `scope = \"whole\"` exclude each other")),
        (true, None, false) => {
            let reason = "an approved-only line does not say for what";
            return Err(section
                .require("when")?
                .error(reason)
                .with_hint("put an argument into the URL's path, such as `/v1/{args.id}`, or add `scope = \"whole\"` for all of the line"));
        }
    };
    let secret = super::secret::read(section, &template, folder)?;
    let (on_missing, tools) = (read_on_missing(section, on_missing)?, tool::read_names(section)?);
    Ok(HttpGrant { url: template.to_string(), methods, private, secret, when, on_missing, tools, line: section.line() })
}

fn read_method(item: &Item<'_>, method: &str) -> Result<String, ConfigError> {
    let method = method.to_ascii_uppercase();
    let token = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    match method.as_str() {
        "CONNECT" | "TRACE" => Err(item.error(format!("method {method} cannot be granted"))),
        _ if token => Ok(method),
        _ => Err(item
            .error(format!("`{}`: \"{}\" is no method", item.name(), method.escape_debug()))
            .with_hint("name each, such as [\"GET\", \"POST\"]")),
    }
}
