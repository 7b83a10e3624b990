//! `token`: who may speak to `serve`.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;
use url::Url;

use super::exit;
use super::failure::Failure;
use super::setup::{Flags, Setup};
use crate::report::{self, age, table};
use crate::server::access::Scope;
use crate::server::login;
use crate::server::tokens::{CODE_LASTS, Token as Known, Tokens, TokensError};

const SERVER: &str = "http://127.0.0.1:7411";
/// A token that never ends is one that nobody looks at again.
const LASTS: &str = "90d";
const DAYS_MAX: u64 = 3650;

/// Who may speak to `serve`: make, list and revoke tokens, and log a browser in
#[derive(Args)]
#[command(after_help = "Examples:
  pausegate token create alice --can approve --expires 90d
  pausegate token login alice        # a link that works once
  pausegate token list
  pausegate token revoke alice

The grants file names who decides with a token as `token:alice`; `[people]` joins it with `os:alice`.")]
pub struct Token {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Make a token; it is shown once and cannot be read again
    Create {
        /// Whose it is: what chains and decisions store as `token:NAME`
        name: String,
        /// What it may do
        #[arg(long, value_name = "SCOPES", value_delimiter = ',', required = true)]
        can: Vec<Scope>,
        /// How long it lasts: `12h`, `90d`, or `never`
        #[arg(long, value_name = "TIME", default_value = LASTS)]
        expires: String,
        /// Print an object
        #[arg(long)]
        json: bool,
    },
    /// List tokens: names and what they may, never the tokens themselves
    List {
        /// Print an array of objects
        #[arg(long)]
        json: bool,
    },
    /// End a token, and the browser sessions that stand on it
    Revoke { name: String },
    /// Make a link that logs a browser in once
    Login {
        name: String,
        /// Where the server is reached
        #[arg(long, value_name = "URL", default_value = SERVER)]
        url: Url,
    },
}

impl Token {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        let tokens = Tokens::new(setup.settings.places.tokens(), setup.clock.clone());
        match &self.what {
            What::Create { name, can, expires, json } => {
                let mut scopes = can.clone();
                scopes.sort();
                scopes.dedup();
                let text = tokens.create(name, scopes, lasts(expires)?)?;
                match json {
                    true => report::json(&json!({"name": name, "token": text})),
                    false => {
                        report::data(&text);
                        report::note(&format!("this is the only time the token of {name} is shown"));
                    }
                }
            }
            What::List { json } => {
                let (known, now) = (tokens.list()?, setup.clock.now());
                if *json {
                    report::json(&known.iter().map(|token| as_json(token, now)).collect::<Vec<_>>());
                } else if known.is_empty() {
                    report::note("there are no tokens; make one with `pausegate token create NAME --can read,approve`");
                } else {
                    table::print(&["NAME", "MAY", "MADE", "EXPIRES"], known.iter().map(|token| row(token, now)).collect());
                }
            }
            What::Revoke { name } => {
                tokens.revoke(name)?;
                report::note(&format!("the token of {name} and its sessions are revoked"));
            }
            What::Login { name, url } => {
                report::data(&login::link(url.as_str(), &tokens.code(name)?));
                report::note(&format!("it logs {name} in once, within {} minutes", CODE_LASTS.as_secs() / 60));
            }
        }
        Ok(exit::COMPLETED)
    }
}

/// `None` for one that never ends.
fn lasts(text: &str) -> Result<Option<Duration>, Failure> {
    let wrong = || Failure::usage(format!("`--expires {text}` is no time")).hint("a number of hours or days such as `12h` or `90d`, or `never`");
    if text == "never" {
        return Ok(None);
    }
    let hours = match (text.strip_suffix('d'), text.strip_suffix('h')) {
        (Some(days), _) => days.parse::<u64>().ok().and_then(|days| days.checked_mul(24)),
        (_, Some(hours)) => hours.parse().ok(),
        _ => None,
    };
    let hours = hours.filter(|hours| (1..=DAYS_MAX * 24).contains(hours)).ok_or_else(wrong)?;
    Ok(Some(Duration::from_secs(hours * 3600)))
}

fn as_json(token: &Known, now: jiff::Timestamp) -> serde_json::Value {
    json!({
        "name": token.name, "scopes": token.scopes, "created_at": token.created_at, "expires_at": token.expires_at,
        "expired": token.is_over(now),
    })
}

fn row(token: &Known, now: jiff::Timestamp) -> Vec<String> {
    let expires = match token.expires_at {
        None => "never".to_owned(),
        Some(_) if token.is_over(now) => "expired".to_owned(),
        Some(at) => format!("in {}", age::age(now, at)),
    };
    let scopes: Vec<_> = token.scopes.iter().map(|scope| scope.as_str()).collect();
    vec![token.name.clone(), scopes.join(","), format!("{} ago", age::age(token.created_at, now)), expires]
}

impl From<TokensError> for Failure {
    fn from(error: TokensError) -> Self {
        let code = match &error {
            TokensError::Unusable { .. } | TokensError::Damaged { .. } => exit::CONFIG,
            TokensError::Name(_) => exit::USAGE,
            TokensError::Taken(_) | TokensError::Full => exit::CONFLICT,
            TokensError::Unknown(_) => exit::UNKNOWN,
        };
        let failure = Self::of(code, &error);
        match &error {
            TokensError::Taken(name) => failure.hint(format!("`pausegate token revoke {name}` first")),
            TokensError::Unknown(_) => failure.hint("`pausegate token list` lists them"),
            TokensError::Damaged { .. } => failure.hint("move it away and make the tokens anew; nobody is let in until then"),
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_lasts_as_long_as_was_said() {
        let hours = |text: &str| lasts(text).map(|lasts| lasts.map(|lasts| lasts.as_secs() / 3600)).ok();
        assert_eq!((hours("90d"), hours("12h"), hours("never")), (Some(Some(2160)), Some(Some(12)), Some(None)));
        for text in ["", "90", "0d", "-1d", "9999999999999999999d", "1w", "d"] {
            assert_eq!(hours(text), None, "{text}");
        }
    }
}
