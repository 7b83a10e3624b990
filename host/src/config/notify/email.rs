//! `kind = "email"`: which server takes mail, for whom, and how it is spoken to.
//!
//! Addresses are the plain ASCII ones that every server takes, so that none can carry more than itself into a header or a
//! command. A password goes over TLS or not at all.

use std::path::{Path, PathBuf};

use url::{Host, Url};

use super::optional_secret;
use crate::capability::Secret;
use crate::config::ConfigError;
use crate::config::document::{Item, Section};

pub(super) const KEYS: &[&str] = &["url", "private", "plain", "from", "to", "user", "password", "authority"];
/// People of one channel; each message goes to all of them at once.
const PEOPLE_MAX: usize = 50;
/// Of an address, and of its part before the `@`, as RFC 5321 has it.
const ADDRESS_BYTES_MAX: usize = 254;
const LOCAL_BYTES_MAX: usize = 64;
/// Of the name beside an address.
const NAME_BYTES_MAX: usize = 100;
const USER_BYTES_MAX: usize = 255;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    pub server: Server,
    /// Addresses of this machine and its network are reached only where this is said.
    pub private: bool,
    pub from: Mailbox,
    /// At least one.
    pub to: Vec<Mailbox>,
    pub login: Option<(String, Secret)>,
    /// In place of whom the operating system trusts: certificates, as PEM.
    pub authority: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub host: Host,
    pub port: u16,
    pub security: Security,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// From the first byte, `smtps://`.
    Tls,
    /// After `STARTTLS`, without which nothing is sent, `smtp://`.
    StartTls,
    /// None: a relay on this machine or its network.
    Plain,
}

/// `NAME <LOCAL@DOMAIN>`, or the address alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mailbox {
    pub name: Option<String>,
    pub address: String,
}

impl Mailbox {
    pub fn domain(&self) -> &str {
        self.address.rsplit_once('@').map_or("", |(_, domain)| domain)
    }
}

pub(super) fn read(section: &Section<'_>, folder: &Path) -> Result<Mail, ConfigError> {
    if !cfg!(feature = "email") {
        return Err(section.error("this program was built without the feature `email`"));
    }
    let flag = |key: &str| section.get(key).map_or(Ok(false), |item| item.boolean());
    let (private, plain) = (flag("private")?, flag("plain")?);
    let server = read_server(&section.require("url")?, private, plain)?;
    let password = optional_secret(section, "password", folder)?;
    let login = match (section.get("user"), password) {
        (Some(user), Some(password)) => Some((read_user(&user)?, password)),
        (None, None) => None,
        (Some(item), None) => return Err(item.error(format!("`{}` lacks `password` beside it", item.name()))),
        (None, Some(_)) => return Err(section.error("`password` lacks `user` beside it")),
    };
    if login.is_some() && server.security == Security::Plain {
        return Err(section.error("`plain` and `password` do not go together: whoever listens on the way would have the password"));
    }
    let authority = section.get("authority").map(|item| item.text().map(|path| folder.join(path))).transpose()?;
    Ok(Mail { server, private, from: read_mailbox(&section.require("from")?)?, to: read_people(&section.require("to")?)?, login, authority })
}

fn read_server(item: &Item<'_>, private: bool, plain: bool) -> Result<Server, ConfigError> {
    let wrong = |what: &str| item.error(format!("`{}` {what}", item.name())).with_hint("write `smtps://mail.example` or `smtp://mail.example:587`");
    let url: Url = item.text()?.parse().map_err(|_| wrong("is no URL"))?;
    let security = match (url.scheme(), plain) {
        ("smtps", false) => Security::Tls,
        ("smtps", true) => return Err(wrong("begins with `smtps://`, which `plain` contradicts")),
        ("smtp", false) => Security::StartTls,
        ("smtp", true) if private => Security::Plain,
        ("smtp", true) => return Err(wrong("is spoken to without TLS; `plain` needs `private = true`")),
        _ => return Err(wrong("must begin with `smtps://` or `smtp://`")),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("may hold no name and password; they are `user` and `password`"));
    }
    if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("may hold nothing behind its host and port"));
    }
    let host = url.host_str().filter(|host| !host.is_empty()).and_then(|host| Host::parse(host).ok()).ok_or_else(|| wrong("names no host"))?;
    let usual = if security == Security::Tls { 465 } else { 587 };
    Ok(Server { host, port: url.port().unwrap_or(usual), security })
}

fn read_user(item: &Item<'_>) -> Result<String, ConfigError> {
    let user = item.text()?;
    match !user.is_empty() && user.len() <= USER_BYTES_MAX && !user.chars().any(char::is_control) {
        true => Ok(user.to_owned()),
        false => Err(item.error(format!("`{}` is 1 to {USER_BYTES_MAX} bytes without line breaks", item.name()))),
    }
}

fn read_people(item: &Item<'_>) -> Result<Vec<Mailbox>, ConfigError> {
    let people = item.elements()?.iter().map(read_mailbox).collect::<Result<Vec<_>, _>>()?;
    match people.len() {
        1..=PEOPLE_MAX => Ok(people),
        count => Err(item.error(format!("`{}` names {count} people; it takes 1 to {PEOPLE_MAX}", item.name()))),
    }
}

fn read_mailbox(item: &Item<'_>) -> Result<Mailbox, ConfigError> {
    let mailbox = mailbox(item.text()?);
    mailbox.ok_or_else(|| {
        item.error(format!("`{}` is no address", item.name())).with_hint("write `\"alice@example.com\"` or `\"Alice <alice@example.com>\"`")
    })
}

fn mailbox(text: &str) -> Option<Mailbox> {
    let (name, address) = match text.strip_suffix('>').and_then(|text| text.split_once('<')) {
        Some((name, address)) => (Some(name.trim()).filter(|name| !name.is_empty()), address),
        None => (None, text),
    };
    let plain =
        |name: &str| name.len() <= NAME_BYTES_MAX && !name.contains(['<', '>', '"']) && !name.chars().any(crate::capability::pattern::is_invisible);
    (is_address(address) && name.is_none_or(plain)).then(|| Mailbox { name: name.map(str::to_owned), address: address.to_owned() })
}

/// A dot-atom on either side of the `@`.
fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let atom = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
    let label = |label: &str| !label.is_empty() && !label.starts_with('-') && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    text.len() <= ADDRESS_BYTES_MAX
        && local.len() <= LOCAL_BYTES_MAX
        && local.split('.').all(|atoms| !atoms.is_empty() && atoms.bytes().all(atom))
        && domain.split('.').all(label)
}
