//! Where the server is, how it is spoken to, and what of it may be shown: never a password.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// How long a hold lasts that is not renewed: long enough for a pause of the network, short enough to wait for.
const LEASE: Duration = Duration::from_secs(15);
const LEASE_SECONDS: std::ops::RangeInclusive<u64> = 1..=3600;
/// As `pg_stat_activity` shows this program.
const APPLICATION: &str = "pausegate";

/// `postgres://USER@HOST/DATABASE`, read and found usable; nothing has been connected to.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub config: Config,
    pub tls: Option<Tls>,
    pub lease: Duration,
    shown: String,
}

/// Spoken only under TLS, with a certificate that is checked for the host's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Certificates of those who are believed, as PEM; else whom the operating system believes.
    pub roots: Option<PathBuf>,
}

/// What is wrong, and what to do. Neither holds a part of the URL: it may be a password in the wrong place.
#[derive(Debug, PartialEq, Eq)]
pub struct BadAddress {
    pub reason: String,
    pub hint: &'static str,
}

const FORM: &str = "such as `postgres://user@host/database?sslmode=verify-full` or `postgres:///database?host=/run/postgresql`; \
                    write other characters of a password than letters and digits as %XX";

impl Address {
    pub fn is_one(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// `password` stands in for one that is not in the URL.
    pub fn parse(text: &str, password: Option<&str>) -> Result<Self, BadAddress> {
        let (base, ours) = split(text);
        let mut config = Config::from_str(&base).map_err(|_| bad("is no PostgreSQL URL", FORM))?;
        if config.get_hosts().is_empty() {
            return Err(bad("names no host", FORM));
        }
        if config.get_dbname().is_none() {
            return Err(bad("names no database", FORM));
        }
        if let (None, Some(password)) = (config.get_password(), password) {
            config.password(password);
        }
        let tls = tls(&config, &ours)?;
        config.ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable });
        config.application_name(format!("{APPLICATION} {}", std::process::id()));
        let lease = match ours.iter().find(|(key, _)| key == "lease") {
            None => LEASE,
            Some((_, value)) => {
                let seconds = value.parse().ok().filter(|seconds| LEASE_SECONDS.contains(seconds));
                Duration::from_secs(seconds.ok_or_else(|| bad("`lease` is no number of seconds", "give a whole number from 1 to 3600"))?)
            }
        };
        let shown = shown(&config);
        Ok(Self { config, tls, lease, shown })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

fn bad(reason: &str, hint: &'static str) -> BadAddress {
    BadAddress { reason: reason.to_owned(), hint }
}

/// The parameters that are read here, and the URL without them.
fn split(text: &str) -> (String, Vec<(String, String)>) {
    const OURS: [&str; 3] = ["sslmode", "sslrootcert", "lease"];
    let Some((base, query)) = text.split_once('?') else { return (text.to_owned(), Vec::new()) };
    let (ours, others): (Vec<_>, Vec<_>) = query.split('&').partition(|pair| OURS.contains(&pair.split('=').next().unwrap_or_default()));
    let decoded = |pair: &str| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key.to_owned(), percent_decode_str(value).decode_utf8_lossy().into_owned())
    };
    (format!("{base}?{}", others.join("&")), ours.into_iter().map(decoded).collect())
}

/// Asked for TLS, it is TLS or nothing; a password goes over a network in the clear only where that was said.
fn tls(config: &Config, ours: &[(String, String)]) -> Result<Option<Tls>, BadAddress> {
    let value = |name: &str| ours.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let roots = value("sslrootcert").map(PathBuf::from);
    let is_near = config.get_hosts().iter().all(is_near);
    match value("sslmode") {
        Some("verify-full" | "require") if config.get_hosts().iter().any(is_socket) => {
            Err(bad("asks for TLS over a socket of this machine", "leave `sslmode` out: PostgreSQL has no TLS there"))
        }
        Some("verify-full" | "require") => Ok(Some(Tls { roots })),
        Some("disable") => Ok(None),
        None if is_near && roots.is_none() => Ok(None),
        None => Err(bad("does not say whether to speak TLS", "add `sslmode=verify-full`, or `sslmode=disable` to send everything in the clear")),
        Some(_) => Err(bad(
            "asks for an `sslmode` that may end without TLS or without a look at the certificate",
            "say `sslmode=verify-full`, with `sslrootcert=FILE` for a certificate of your own, or `sslmode=disable`",
        )),
    }
}

fn is_socket(host: &Host) -> bool {
    matches!(host, Host::Unix(_))
}

fn is_near(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => ["localhost", "127.0.0.1", "::1"].contains(&name.as_str()),
        Host::Unix(_) => true,
    }
}

fn shown(config: &Config) -> String {
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    let database = config.get_dbname().unwrap_or_default();
    match config.get_hosts().first() {
        Some(Host::Unix(folder)) => format!("postgres://{user}/{database}?host={}", folder.display()),
        Some(Host::Tcp(host)) => {
            let port = config.get_ports().first().map(|port| format!(":{port}")).unwrap_or_default();
            format!("postgres://{user}{host}{port}/{database}")
        }
        None => format!("postgres:///{database}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(&str, bool), &str>) {
        let found = Address::parse(text, None);
        let found = found.as_ref().map(|address| (address.shown.as_str(), address.tls.is_some())).map_err(|bad| bad.reason.as_str());
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn tls_is_never_left_out_unsaid() {
        check("postgres://u@db.example/d?sslmode=verify-full", Ok(("postgres://u@db.example:5432/d", true)));
        check("postgresql://u@db.example:6000/d?sslmode=require&connect_timeout=3", Ok(("postgres://u@db.example:6000/d", true)));
        check("postgres://u@db.example/d?sslmode=disable", Ok(("postgres://u@db.example:5432/d", false)));
        check("postgres://u@db.example/d", Err("does not say whether to speak TLS"));
        check("postgres://u@localhost/d?sslrootcert=/ca.pem", Err("does not say whether to speak TLS"));
        for mode in ["prefer", "allow", "verify-ca", "REQUIRE", ""] {
            let odd = "asks for an `sslmode` that may end without TLS or without a look at the certificate";
            check(&format!("postgres://u@db.example/d?sslmode={mode}"), Err(odd));
        }
        check("postgres://u@localhost/d", Ok(("postgres://u@localhost:5432/d", false)));
        check("postgres://u@/d?host=/run/postgresql", Ok(("postgres://u@/d?host=/run/postgresql", false)));
        check("postgres:///d?host=/run/postgresql&sslmode=verify-full", Err("asks for TLS over a socket of this machine"));
    }

    #[test]
    fn what_is_no_address_is_said_without_its_text() {
        check("postgres://u:pass word@h:x/d?a", Err("is no PostgreSQL URL"));
        check("postgres://u@h:port/d", Err("is no PostgreSQL URL"));
        check("postgres:///d", Err("names no host"));
        check("postgres://u@localhost", Err("names no database"));
        check("postgres://u@localhost/d?lease=0", Err("`lease` is no number of seconds"));
        check("postgres://u@localhost/d?service=x", Err("is no PostgreSQL URL"));
    }

    #[test]
    fn a_password_is_taken_along_and_never_shown() {
        let address = Address::parse("postgres://u:s%40cret@localhost/d?lease=2", Some("other")).unwrap();
        assert_eq!((address.config.get_password(), address.lease), (Some(b"s@cret".as_slice()), Duration::from_secs(2)));
        assert_eq!(format!("{address} {address:?}"), "postgres://u@localhost:5432/d postgres://u@localhost:5432/d");
        let address = Address::parse("postgres://u@localhost/d", Some("s3cret")).unwrap();
        assert_eq!(address.config.get_password(), Some(b"s3cret".as_slice()));
    }
}
