//! The values of the secrets that one attempt holds: read when first needed, gone with the attempt, never shown.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use secrecy::zeroize::Zeroize;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::scrub::{Scrubber, Sieve};
#[cfg(feature = "keyring")]
use crate::capability::secret::KEYRING_SERVICE;
use crate::capability::secret::{BYTES_MAX, BYTES_MIN, Source};
use crate::capability::{Held, Opening, Refusal, Secret};

/// Where values come from; tests have one of their own.
pub trait ReadSecret: Send + Sync {
    /// Must not block: it is read on the attempt's thread.
    fn read(&self, secret: &Secret) -> Result<SecretString, SecretError>;
}

/// Why a secret cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    #[error("is missing")]
    Missing,
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error("is empty")]
    Empty,
    #[error("has {0} bytes, and a secret needs at least {BYTES_MIN}")]
    TooShort(usize),
    #[error("has more than {BYTES_MAX} bytes")]
    TooLong,
    #[error("is no one line of UTF-8 text")]
    NotText,
}

/// The host's environment and files.
pub struct SystemSecrets;

impl ReadSecret for SystemSecrets {
    fn read(&self, secret: &Secret) -> Result<SecretString, SecretError> {
        match &secret.source {
            Source::Env => checked(std::env::var_os(&secret.name).ok_or(SecretError::Missing)?.into_vec()),
            Source::File(path) => checked(read_file(path)?),
            Source::Keyring => checked(read_keyring(&secret.name)?),
        }
    }
}

/// A regular file, opened so that nothing else (a pipe, a device) can make the host wait.
fn read_file(path: &Path) -> Result<Vec<u8>, SecretError> {
    let told = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => SecretError::Missing,
        _ => SecretError::Unreadable(error.to_string()),
    };
    let file = OpenOptions::new().read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed()).open(path).map_err(told)?;
    if !file.metadata().map_err(told)?.is_file() {
        return Err(SecretError::Unreadable("it is no regular file".into()));
    }
    let mut bytes = Vec::new();
    // White space around the value does not count.
    file.take(2 * BYTES_MAX as u64).read_to_end(&mut bytes).map_err(told)?;
    Ok(bytes)
}

/// The kernel's keyring of this user: a system call, which waits for nothing.
#[cfg(feature = "keyring")]
fn read_keyring(name: &str) -> Result<Vec<u8>, SecretError> {
    let entry = keyring::Entry::new(KEYRING_SERVICE, name);
    entry.and_then(|entry| entry.get_secret()).map_err(|error| match error {
        keyring::Error::NoEntry => SecretError::Missing,
        error => SecretError::Unreadable(error.to_string()),
    })
}

/// Reading the grants file refuses such a source.
#[cfg(not(feature = "keyring"))]
fn read_keyring(_name: &str) -> Result<Vec<u8>, SecretError> {
    Err(SecretError::Unreadable("this program was built without the feature `keyring`".into()))
}

/// Without the white space around it, which no header keeps.
fn checked(bytes: Vec<u8>) -> Result<SecretString, SecretError> {
    let mut text = String::from_utf8(bytes).map_err(|error| {
        error.into_bytes().zeroize();
        SecretError::NotText
    })?;
    let value = match text.trim() {
        "" => Err(SecretError::Empty),
        value if value.len() < BYTES_MIN => Err(SecretError::TooShort(value.len())),
        value if value.len() > BYTES_MAX => Err(SecretError::TooLong),
        value if value.chars().any(char::is_control) => Err(SecretError::NotText),
        value => Ok(SecretString::from(value)),
    };
    text.zeroize();
    value
}

/// What is wrong with a secret, for the operator; `None` when it can be used.
pub fn trouble(secret: &Secret, reader: &dyn ReadSecret) -> Option<String> {
    reader.read(secret).err().map(|error| lacking(secret, &error))
}

fn lacking(secret: &Secret, error: &SecretError) -> String {
    format!("secret `{}`: {} {error}", secret.name, secret.place())
}

/// The secrets of one attempt.
pub struct Vault {
    secrets: Vec<Secret>,
    reader: Arc<dyn ReadSecret>,
    opened: OnceLock<Opened>,
    lacking: OnceLock<String>,
}

struct Opened {
    /// One for each secret.
    values: Vec<Result<SecretString, SecretError>>,
    scrubber: Option<Arc<Scrubber>>,
}

impl Vault {
    pub fn new(held: &Held, reader: Arc<dyn ReadSecret>) -> Self {
        let reach = held.reach.iter().filter_map(|opening| if let Opening::Http(line) = opening { Some(line) } else { None });
        Self::of(held.http.iter().chain(reach).filter_map(|line| line.secret.as_ref()), reader)
    }

    /// Of these, each value once.
    pub fn of<'a>(named: impl Iterator<Item = &'a Secret>, reader: Arc<dyn ReadSecret>) -> Self {
        let mut secrets: Vec<Secret> = Vec::new();
        for secret in named {
            if !secrets.iter().any(|known| same(known, secret)) {
                secrets.push(secret.clone());
            }
        }
        Self { secrets, reader, opened: OnceLock::new(), lacking: OnceLock::new() }
    }

    /// The value to send, or what the operator is told; a missing one is noted.
    pub fn value(&self, secret: &Secret, attempted: &str) -> Result<&SecretString, Refusal> {
        let index = self.secrets.iter().position(|known| same(known, secret));
        let value = match index {
            Some(index) => self.opened().values[index].as_ref().map_err(Clone::clone),
            None => Err(SecretError::Missing),
        };
        value.map_err(|error| {
            self.lacking.get_or_init(|| secret.name.clone());
            Refusal { attempted: attempted.to_owned(), allow_with: format!("# {}", lacking(secret, &error)) }
        })
    }

    /// The first secret that a request needed and that could not be used.
    pub fn lacking(&self) -> Option<&str> {
        self.lacking.get().map(String::as_str)
    }

    /// `None` without any value: nothing is copied or searched then.
    pub fn scrubber(&self) -> Option<&Arc<Scrubber>> {
        if self.secrets.is_empty() {
            return None;
        }
        self.opened().scrubber.as_ref()
    }

    pub fn sieve(&self) -> Option<Sieve> {
        self.scrubber().map(|scrubber| Sieve::new(Arc::clone(scrubber)))
    }

    pub fn text(&self, text: String) -> String {
        match self.scrubber().map(|scrubber| scrubber.text(&text)) {
            Some(Cow::Owned(scrubbed)) => scrubbed,
            _ => text,
        }
    }

    pub fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self.scrubber().map(|scrubber| scrubber.bytes(&bytes)) {
            Some(Cow::Owned(scrubbed)) => scrubbed,
            _ => bytes,
        }
    }

    pub fn json(&self, value: Value) -> Value {
        match self.scrubber() {
            Some(scrubber) => scrubber.json(value),
            None => value,
        }
    }

    fn opened(&self) -> &Opened {
        self.opened.get_or_init(|| {
            let values: Vec<_> = self.secrets.iter().map(|secret| self.reader.read(secret)).collect();
            let known = self.secrets.iter().zip(&values).filter_map(|(secret, value)| Some((&*secret.name, value.as_ref().ok()?.expose_secret())));
            let known: Vec<_> = known.collect();
            if known.is_empty() {
                return Opened { values, scrubber: None };
            }
            match Scrubber::new(known.into_iter()) {
                Ok(scrubber) => Opened { values, scrubber: Some(Arc::new(scrubber)) },
                // A value that could not be found again is not sent.
                Err(error) => Opened { values: vec![Err(SecretError::Unreadable(error.to_string())); values.len()], scrubber: None },
            }
        })
    }
}

/// The same value, wherever it is put.
fn same(one: &Secret, other: &Secret) -> bool {
    one.name == other.name && one.source == other.source
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vault").field("secrets", &self.secrets).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::HeldHttp;
    use crate::capability::secret::Slot;

    fn from_file(bytes: &[u8]) -> Result<String, SecretError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        SystemSecrets.read(&secret(file.path())).map(|value| value.expose_secret().to_owned())
    }

    fn secret(path: &Path) -> Secret {
        Secret { name: "K".into(), source: Source::File(path.to_owned()), slot: Slot::Query("k".into()), format: "{}".into() }
    }

    /// limit: capability/secret::BYTES_MIN, capability/secret::BYTES_MAX
    #[test]
    fn a_value_is_one_line_of_at_least_twelve_bytes() {
        assert_eq!(from_file(b"0123456789ab\r\n").unwrap(), "0123456789ab");
        assert_eq!(from_file(b"  0123456789ab").unwrap(), "0123456789ab");
        assert_eq!(from_file(b"0123456789a\n"), Err(SecretError::TooShort(11)));
        assert_eq!(from_file(b" \n"), Err(SecretError::Empty));
        assert_eq!(from_file(b"0123456789ab\ncdef"), Err(SecretError::NotText));
        assert_eq!(from_file(b"0123456789ab\xff"), Err(SecretError::NotText));
        assert_eq!(from_file(&[b'x'; BYTES_MAX]).unwrap().len(), BYTES_MAX);
        assert_eq!(from_file(&[b'x'; BYTES_MAX + 1]), Err(SecretError::TooLong));
    }

    #[test]
    fn what_is_missing_is_named_with_where_it_was_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let told = |path: &Path| trouble(&secret(path), &SystemSecrets).unwrap().replace(folder.path().to_str().unwrap(), "[TMP]");
        assert_eq!(told(&folder.path().join("k")), "secret `K`: file `[TMP]/k` is missing");
        assert_eq!(told(folder.path()), "secret `K`: file `[TMP]` cannot be read: it is no regular file");
        let variable = Secret { name: "PAUSEGATE_TEST_NO_SUCH".into(), source: Source::Env, ..secret(Path::new("")) };
        assert_eq!(
            trouble(&variable, &SystemSecrets).unwrap(),
            "secret `PAUSEGATE_TEST_NO_SUCH`: environment variable `PAUSEGATE_TEST_NO_SUCH` is missing"
        );
    }

    #[cfg(feature = "keyring")]
    #[test]
    fn a_value_is_read_from_the_keyring_of_the_user() {
        let secret = Secret { name: format!("PAUSEGATE_TEST_{}", std::process::id()), source: Source::Keyring, ..secret(Path::new("")) };
        let missing = format!("secret `{0}`: keyring entry `{0}` of service `pausegate` is missing", secret.name);
        assert_eq!(trouble(&secret, &SystemSecrets), Some(missing));
        let entry = keyring::Entry::new(KEYRING_SERVICE, &secret.name).unwrap();
        entry.set_password("0123456789ab").unwrap();
        let read = SystemSecrets.read(&secret).map(|value| value.expose_secret().to_owned());
        entry.delete_credential().unwrap();
        assert_eq!(read.unwrap(), "0123456789ab");
    }

    #[test]
    fn w35_a_vault_shows_no_value() {
        struct Fixed;
        impl ReadSecret for Fixed {
            fn read(&self, _: &Secret) -> Result<SecretString, SecretError> {
                Ok("0123456789ab".into())
            }
        }
        let line = HeldHttp { url: "https://a.test".into(), methods: vec![], private: false, secret: Some(secret(Path::new("/k"))) };
        let vault = Vault::new(&Held { http: vec![line], ..Held::default() }, Arc::new(Fixed));
        let value = vault.value(vault.secrets.first().unwrap(), "").unwrap();
        assert!(!format!("{vault:?}{value:?}").contains("0123456789ab"));
        assert_eq!(vault.text("is 0123456789ab".into()), "is [secret K]");
    }
}
