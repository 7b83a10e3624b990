//! Who may speak to the server: tokens, one-time login codes and browser sessions, in one file beside the journal.
//!
//! Promises: what is secret is shown once and kept as its hash; the file is this user's alone (0600) and changes whole or
//! not at all, under a lock; a token that is revoked takes its codes and sessions along. All of a person's sessions are
//! the person's token: they may what it may, no longer than it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::access::Scope;
use crate::clock::{self, Clock};
use crate::digest::Digest;

/// Bytes of the store: all that fits below, with room.
const FILE_BYTES_MAX: u64 = 4 << 20;
const VERSION: u32 = 1;
const NAME_BYTES_MAX: usize = 64;
pub const TOKENS_MAX: usize = 1000;
/// Open at the same time; the oldest goes first.
const CODES_MAX: usize = 100;
const SESSIONS_MAX: usize = 1000;
/// Of a login link.
pub const CODE_LASTS: Duration = Duration::from_secs(600);
/// Of a browser's session: a working day.
pub const SESSION_LASTS: Duration = Duration::from_secs(12 * 3600);

/// The store, read again whenever its file is another.
pub struct Tokens {
    path: PathBuf,
    clock: Clock,
    read: Mutex<Option<(Mark, Arc<Kept>)>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    pub name: String,
    hash: Digest,
    pub scopes: Vec<Scope>,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A login code or a session of the token `name`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lent {
    name: String,
    hash: Digest,
    expires_at: Timestamp,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    version: u32,
    tokens: Vec<Token>,
    codes: Vec<Lent>,
    sessions: Vec<Lent>,
}

/// Tells one file from the next.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark(u64, i64, i64, u64);

#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    #[error("cannot use the token store `{path}`")]
    Unusable { path: String, source: io::Error },
    #[error("the token store `{path}` cannot be read: {message}")]
    Damaged { path: String, message: String },
    #[error("`{0}` is no name of a token: lower-case letters, digits, `.`, `_` and `-`, at most {NAME_BYTES_MAX}")]
    Name(String),
    #[error("there is a token `{0}` already")]
    Taken(String),
    #[error("there is no token `{0}`")]
    Unknown(String),
    #[error("there are {TOKENS_MAX} tokens, the limit")]
    Full,
}

impl Token {
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}

impl Tokens {
    pub fn new(path: PathBuf, clock: Clock) -> Self {
        Self { path, clock, read: Mutex::default() }
    }

    /// A new token's text, which nobody can read again.
    pub fn create(&self, name: &str, scopes: Vec<Scope>, lasts: Option<Duration>) -> Result<String, TokensError> {
        check_name(name)?;
        let (text, now) = (secret("pgt_"), self.clock.now());
        let expires_at = lasts.map(|lasts| later(now, lasts));
        let token = Token { name: name.to_owned(), hash: hash(&text), scopes, created_at: now, expires_at };
        self.change(|kept| {
            // One whose time is over makes room for the next of its name.
            if kept.tokens.iter().any(|other| other.name == name && !other.is_over(now)) {
                return Err(TokensError::Taken(name.to_owned()));
            }
            kept.drop_token(name);
            if kept.tokens.len() >= TOKENS_MAX {
                return Err(TokensError::Full);
            }
            kept.tokens.push(token.clone());
            Ok(())
        })?;
        Ok(text)
    }

    /// By name.
    pub fn list(&self) -> Result<Vec<Token>, TokensError> {
        let mut tokens = self.kept()?.tokens.clone();
        tokens.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(tokens)
    }

    /// With its codes and sessions.
    pub fn revoke(&self, name: &str) -> Result<(), TokensError> {
        self.change(|kept| if kept.drop_token(name) { Ok(()) } else { Err(TokensError::Unknown(name.to_owned())) })
    }

    /// A code that makes one session of the token.
    pub fn code(&self, name: &str) -> Result<String, TokensError> {
        let (text, now) = (secret("pgl_"), self.clock.now());
        self.change(|kept| {
            if !kept.tokens.iter().any(|token| token.name == name && !token.is_over(now)) {
                return Err(TokensError::Unknown(name.to_owned()));
            }
            let code = Lent { name: name.to_owned(), hash: hash(&text), expires_at: later(now, CODE_LASTS) };
            lend(&mut kept.codes, code, CODES_MAX, now);
            Ok(())
        })?;
        Ok(text)
    }

    /// The session that a code stands for, once. `None` for a code that was used, is over or never was.
    pub fn log_in(&self, code: &str) -> Result<Option<String>, TokensError> {
        let (text, now, wanted) = (secret("pgs_"), self.clock.now(), hash(code));
        // Without a lock: whoever guesses does not keep others waiting.
        if find(&self.kept()?.codes, &wanted, now).is_none() {
            return Ok(None);
        }
        self.change(|kept| {
            let Some(code) = find(&kept.codes, &wanted, now).cloned() else { return Ok(None) };
            kept.codes.retain(|other| other.hash != code.hash);
            let session = Lent { name: code.name, hash: hash(&text), expires_at: later(now, SESSION_LASTS) };
            lend(&mut kept.sessions, session, SESSIONS_MAX, now);
            Ok(Some(text.clone()))
        })
    }

    pub fn log_out(&self, session: &str) -> Result<(), TokensError> {
        let hash = hash(session);
        self.change(|kept| {
            kept.sessions.retain(|other| other.hash != hash);
            Ok(())
        })
    }

    /// The token with this text, in force now.
    pub fn by_text(&self, text: &str) -> Result<Option<Token>, TokensError> {
        let (kept, wanted, now) = (self.kept()?, hash(text), self.clock.now());
        let mut found = None;
        // All are compared, each in the same time.
        for token in &kept.tokens {
            if is_same(&token.hash, &wanted) {
                found = Some(token);
            }
        }
        Ok(found.filter(|token| !token.is_over(now)).cloned())
    }

    /// The token of a browser's session, both in force now.
    pub fn by_session(&self, session: &str) -> Result<Option<Token>, TokensError> {
        let (kept, now) = (self.kept()?, self.clock.now());
        let found = find(&kept.sessions, &hash(session), now);
        let token = found.and_then(|session| kept.tokens.iter().find(|token| token.name == session.name));
        Ok(token.filter(|token| !token.is_over(now)).cloned())
    }

    fn kept(&self) -> Result<Arc<Kept>, TokensError> {
        let mark = match fs::metadata(&self.path) {
            Ok(found) => Mark(found.ino(), found.mtime(), found.mtime_nsec(), found.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(self.unusable(error)),
        };
        let mut read = self.read.lock().expect("no panic under this lock");
        match &*read {
            Some((known, kept)) if *known == mark => Ok(Arc::clone(kept)),
            _ => {
                let kept = Arc::new(self.load()?);
                *read = Some((mark, Arc::clone(&kept)));
                Ok(kept)
            }
        }
    }

    fn load(&self) -> Result<Kept, TokensError> {
        let damaged = |message: String| TokensError::Damaged { path: self.path.display().to_string(), message };
        let text = match crate::file::read_text(&self.path, FILE_BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::default()),
            Err(error) => return Err(self.unusable(error)),
        };
        let kept: Kept = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if kept.version != VERSION {
            return Err(damaged(format!("it is of version {}; this program reads version {VERSION}", kept.version)));
        }
        Ok(kept)
    }

    /// Reads, changes and writes under a lock that others wait for.
    fn change<T>(&self, change: impl FnOnce(&mut Kept) -> Result<T, TokensError>) -> Result<T, TokensError> {
        let _lock = self.lock().map_err(|error| self.unusable(error))?;
        let mut kept = self.load()?;
        let value = change(&mut kept)?;
        let now = self.clock.now();
        kept.codes.retain(|lent| lent.expires_at > now);
        kept.sessions.retain(|lent| lent.expires_at > now);
        kept.version = VERSION;
        write_whole(&self.path, &kept).map_err(|error| self.unusable(error))?;
        Ok(value)
    }

    fn lock(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut name = self.path.as_os_str().to_owned();
        name.push(".lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(PathBuf::from(name))?;
        file.lock()?;
        Ok(file)
    }

    fn unusable(&self, source: io::Error) -> TokensError {
        TokensError::Unusable { path: self.path.display().to_string(), source }
    }
}

impl Kept {
    /// With what was lent of it; false where there is none.
    fn drop_token(&mut self, name: &str) -> bool {
        let before = self.tokens.len();
        self.tokens.retain(|token| token.name != name);
        self.codes.retain(|lent| lent.name != name);
        self.sessions.retain(|lent| lent.name != name);
        self.tokens.len() < before
    }
}

fn lend(all: &mut Vec<Lent>, new: Lent, max: usize, now: Timestamp) {
    all.retain(|lent| lent.expires_at > now);
    if all.len() >= max {
        all.remove(0);
    }
    all.push(new);
}

fn find<'l>(all: &'l [Lent], wanted: &Digest, now: Timestamp) -> Option<&'l Lent> {
    let mut found = None;
    for lent in all {
        if is_same(&lent.hash, wanted) {
            found = Some(lent);
        }
    }
    found.filter(|lent| lent.expires_at > now)
}

/// In a time that does not tell how much of it fits.
fn is_same(one: &Digest, other: &Digest) -> bool {
    let differing = one.as_bytes().iter().zip(other.as_bytes()).fold(0, |differing, (a, b)| differing | (a ^ b));
    std::hint::black_box(differing) == 0
}

/// Of 256 random bits one plain hash is enough: there is nothing to guess from it.
fn hash(text: &str) -> Digest {
    Digest::of_bytes(format!("pausegate-token/1{text}").as_bytes())
}

fn secret(prefix: &str) -> String {
    format!("{prefix}{}", hex::encode(clock::secret()))
}

fn later(now: Timestamp, lasts: Duration) -> Timestamp {
    let lasts = jiff::SignedDuration::try_from(lasts).unwrap_or(jiff::SignedDuration::MAX);
    now.checked_add(lasts).unwrap_or(Timestamp::MAX)
}

fn check_name(name: &str) -> Result<(), TokensError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    let fits = !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.bytes().all(plain) && !name.starts_with(['.', '-']);
    if fits { Ok(()) } else { Err(TokensError::Name(name.to_owned())) }
}

/// `tempfile` makes its files for this user alone.
fn write_whole(path: &Path, kept: &Kept) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&serde_json::to_vec_pretty(kept)?)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests;
