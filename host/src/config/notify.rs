//! `[[notify]]` of the user's settings file: channels by which somebody outside is told, and of what.
//!
//! What leaves this machine is the user's to say: no file of a working directory holds it. A value that lets whoever has it
//! send or read messages comes from the environment, a file or the keyring, as secrets of grants do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use url::{Host, Url};

use super::document::{Item, Section};
use super::{ConfigError, units};
use crate::capability::Secret;
use crate::capability::secret::{NAME_BYTES_MAX, Slot, Source};
use crate::notice::{Audience, Listener, Topic};

mod email;

pub use email::{Mail, Mailbox, Security, Server};

/// Each message is sent once for each.
pub const CHANNELS_MAX: usize = 32;
/// Of a channel's name: it is a key in the journal.
const CHANNEL_BYTES_MAX: usize = 64;
/// Words of a command.
const WORDS_MAX: usize = 64;
/// How long a command may take, and where nothing is said.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(25);
const COMMAND_TIME: Duration = Duration::from_secs(10);

const TOPICS: &[&str] = &["pause", "decided", "blocked", "ended"];

/// Somebody outside, and what they are told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    pub name: String,
    pub hears: Vec<Topic>,
    /// Whether a message holds arguments and reasons, or only that something waits.
    pub details: bool,
    pub to: Receiver,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// Signed as Standard Webhooks says.
    Webhook {
        to: To,
        secret: Secret,
    },
    /// An incoming webhook of Slack; with buttons where what comes back can be checked.
    Slack {
        to: To,
        signing_secret: Option<Secret>,
    },
    /// A topic of a server of ntfy.
    Ntfy {
        to: To,
        token: Option<Secret>,
    },
    Command {
        program: PathBuf,
        arguments: Vec<String>,
        time: Duration,
    },
    Email(Box<Mail>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct To {
    pub url: Address,
    /// Addresses of this machine and its network are reached only where this is said.
    pub private: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Plain(Url),
    /// Whoever has it can send.
    Kept(Secret),
}

impl Channel {
    /// What no grant may reach.
    pub(super) fn files(&self) -> Vec<(&'static str, PathBuf)> {
        let kept = |secret: &Secret| match &secret.source {
            Source::File(path) => Some(("a secret's file", path.clone())),
            Source::Env | Source::Keyring => None,
        };
        let mut files: Vec<_> = self.secrets().into_iter().filter_map(kept).collect();
        match &self.to {
            Receiver::Command { program, .. } => files.push(("a notification's command", program.clone())),
            // Whoever writes it says which mail servers are believed.
            Receiver::Email(mail) => files.extend(mail.authority.as_ref().map(|path| ("a notification's `authority`", path.clone()))),
            Receiver::Webhook { .. } | Receiver::Slack { .. } | Receiver::Ntfy { .. } => {}
        }
        files
    }

    pub fn secrets(&self) -> Vec<&Secret> {
        let (to, own) = match &self.to {
            Receiver::Webhook { to, secret } => (Some(to), Some(secret)),
            Receiver::Slack { to, signing_secret } => (Some(to), signing_secret.as_ref()),
            Receiver::Ntfy { to, token } => (Some(to), token.as_ref()),
            Receiver::Command { .. } => (None, None),
            Receiver::Email(mail) => (None, mail.login.as_ref().map(|(_, password)| password)),
        };
        let address = to.and_then(|to| if let Address::Kept(secret) = &to.url { Some(secret) } else { None });
        address.into_iter().chain(own).collect()
    }
}

/// Who hears of what, for the journal.
pub fn audience(channels: &[Channel]) -> Audience {
    Audience(channels.iter().map(|channel| Listener { channel: channel.name.clone(), hears: channel.hears.clone() }).collect())
}

pub(super) fn read(item: &Item<'_>, folder: &Path) -> Result<Vec<Channel>, ConfigError> {
    let sections = item.sections()?;
    if sections.len() > CHANNELS_MAX {
        return Err(item.error(format!("there are more than {CHANNELS_MAX} channels")));
    }
    let mut channels: Vec<Channel> = Vec::new();
    for section in &sections {
        let channel = read_channel(section, folder)?;
        if channels.iter().any(|other| other.name == channel.name) {
            return Err(section.error(format!("the channel `{}` is there already", channel.name)).with_hint("give each a name of its own"));
        }
        channels.push(channel);
    }
    Ok(channels)
}

/// Links lead below it.
pub(super) fn read_base_url(item: &Item<'_>) -> Result<Url, ConfigError> {
    let url = item.text()?.parse::<Url>().ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let url = url.filter(|url| url.query().is_none() && url.fragment().is_none() && url.username().is_empty() && url.password().is_none());
    let mut url = url.ok_or_else(|| item.error(format!("`{}` must be a URL such as \"https://pausegate.example\"", item.name())))?;
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

fn read_channel(section: &Section<'_>, folder: &Path) -> Result<Channel, ConfigError> {
    const COMMON: [&str; 4] = ["name", "kind", "on", "details"];
    let only = |own: &[&str]| section.only(&[&COMMON, own].concat(), &[]);
    let to = match section.require("kind")?.word(&["webhook", "slack", "ntfy", "command", "email"])? {
        "webhook" => {
            only(&["url", "private", "secret"])?;
            Receiver::Webhook { to: read_to(section, folder)?, secret: read_secret(&section.require("secret")?, folder)? }
        }
        "slack" => {
            only(&["url", "private", "signing_secret"])?;
            Receiver::Slack { to: read_to(section, folder)?, signing_secret: optional_secret(section, "signing_secret", folder)? }
        }
        "ntfy" => {
            only(&["url", "private", "token"])?;
            Receiver::Ntfy { to: read_to(section, folder)?, token: optional_secret(section, "token", folder)? }
        }
        "command" => {
            only(&["command", "time"])?;
            read_command(section, folder)?
        }
        _ => {
            only(email::KEYS)?;
            Receiver::Email(Box::new(email::read(section, folder)?))
        }
    };
    let details = section.get("details").map_or(Ok(true), |item| item.boolean())?;
    Ok(Channel { name: read_name(&section.require("name")?)?, hears: read_topics(section)?, details, to })
}

fn read_name(item: &Item<'_>) -> Result<String, ConfigError> {
    let name = item.text()?;
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    match plain && !name.is_empty() && name.len() <= CHANNEL_BYTES_MAX {
        true => Ok(name.to_owned()),
        false => Err(item.error(format!("`{}` must be letters, digits, `_` and `-`, at most {CHANNEL_BYTES_MAX}, such as \"ops\"", item.name()))),
    }
}

/// Left out, what waits for somebody.
fn read_topics(section: &Section<'_>) -> Result<Vec<Topic>, ConfigError> {
    let Some(item) = section.get("on") else { return Ok(vec![Topic::Pause, Topic::Blocked]) };
    let mut topics = Vec::new();
    for item in item.elements()? {
        let topic = match item.word(TOPICS)? {
            "pause" => Topic::Pause,
            "decided" => Topic::Decided,
            "blocked" => Topic::Blocked,
            _ => Topic::Ended,
        };
        if !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    if topics.is_empty() { Err(item.error("`on` is empty").with_hint("take the channel out, or name what it hears of")) } else { Ok(topics) }
}

fn read_to(section: &Section<'_>, folder: &Path) -> Result<To, ConfigError> {
    let private = section.get("private").map_or(Ok(false), |item| item.boolean())?;
    let item = section.require("url")?;
    if item.section().is_ok() {
        return Ok(To { url: Address::Kept(read_secret(&item, folder)?), private });
    }
    let url = checked(item.text()?, private).map_err(|reason| item.error(format!("`{}` {reason}", item.name())))?;
    Ok(To { url: Address::Plain(url), private })
}

/// The same for an address that is kept elsewhere, once it is read.
pub fn checked(text: &str, private: bool) -> Result<Url, &'static str> {
    let url: Url = text.parse().map_err(|_| "is no URL")?;
    match url.scheme() {
        "https" => {}
        // Whoever listens on the way reads what waits, and may take part.
        "http" if private => {}
        "http" => return Err("must begin with `https://`; `http://` only together with `private = true`"),
        _ => return Err("must begin with `https://`"),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("may hold no name and password; a value that is to be kept comes from `{ source = \"env\", name = \"…\" }`");
    }
    match url.host() {
        Some(Host::Domain(name)) if !name.is_empty() => Ok(url),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => Ok(url),
        _ => Err("names no host"),
    }
}

fn optional_secret(section: &Section<'_>, key: &str, folder: &Path) -> Result<Option<Secret>, ConfigError> {
    section.get(key).map(|item| read_secret(&item, folder)).transpose()
}

/// `{ source = "env" | "file" | "keyring", name = "…", path = "…" }`
fn read_secret(item: &Item<'_>, folder: &Path) -> Result<Secret, ConfigError> {
    let section = item.section().map_err(|error| error.with_hint("write `{ source = \"env\", name = \"NAME\" }`: no value stands in this file"))?;
    section.only(&["source", "name", "path"], &[])?;
    let source = section.require("source")?;
    let source = match (source.word(&["env", "file", "keyring"])?, section.get("path")) {
        ("env", None) => Source::Env,
        ("keyring", None) if cfg!(feature = "keyring") => Source::Keyring,
        ("keyring", None) => return Err(source.error("this program was built without the feature `keyring`")),
        ("env" | "keyring", Some(path)) => return Err(path.error(format!("`{}` needs `source = \"file\"`", path.name()))),
        (_, Some(path)) if !path.text()?.is_empty() => Source::File(folder.join(path.text()?)),
        (_, _) => return Err(source.error("a secret from a file lacks `path`")),
    };
    let name = match (section.get("name"), &source) {
        (Some(name), _) => name.text()?.to_owned(),
        (None, Source::File(_)) => item.name().to_owned(),
        (None, _) => return Err(section.error(format!("`{}` lacks `name`", item.name()))),
    };
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(|c| c.is_whitespace() || c.is_control() || c == '=') {
        return Err(section.error(format!("`{}` has no usable `name`", item.name())));
    }
    // It is used in many ways; where it goes says the channel's kind.
    Ok(Secret { name, source, slot: Slot::Header(String::new()), format: "{}".to_owned() })
}

/// A program and its arguments; no shell reads them.
fn read_command(section: &Section<'_>, folder: &Path) -> Result<Receiver, ConfigError> {
    let item = section.require("command")?;
    let hint = "write `command = [\"/usr/local/bin/tell\", \"--urgent\"]`; no shell reads it";
    let mut words = item.texts().map_err(|error| error.with_hint(hint))?.into_iter();
    let program = words.next().unwrap_or_default();
    let arguments: Vec<_> = words.map(str::to_owned).collect();
    if !program.contains('/')
        || program.starts_with('~')
        || arguments.len() > WORDS_MAX
        || program.contains('\0')
        || arguments.iter().any(|word| word.contains('\0'))
    {
        return Err(item.error("`command` must begin with the path of a program").with_hint(hint));
    }
    let time = match section.get("time") {
        Some(item) => {
            let time = units::duration(item.text()?).map_err(|reason| item.error(format!("`time`: {reason}")))?;
            if time > COMMAND_TIME_MAX {
                return Err(item.error(format!("`time` is more than {} s", COMMAND_TIME_MAX.as_secs())));
            }
            time
        }
        None => COMMAND_TIME,
    };
    Ok(Receiver::Command { program: folder.join(program), arguments, time })
}

#[cfg(test)]
mod tests;
