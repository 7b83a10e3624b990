//! SHA-256 over canonical JSON (RFC 8785): what people see, decisions carry and approvals hang on.
//!
//! Every digest names its domain, so that no two kinds of digest can be mistaken for each other.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// `sha256:` and 64 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of bytes as they stand: plugin files.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// `sha256(domain ‖ JCS(value))`.
    pub fn of_json(domain: &str, value: &impl Serialize) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(domain.as_bytes());
        hasher.update(canonical(value).as_bytes());
        Self(hasher.finalize().into())
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }
}

/// The one canonical text of a JSON value (RFC 8785).
pub fn canonical(value: &impl Serialize) -> String {
    serde_json_canonicalizer::to_string(value).expect("a value built from JSON serializes")
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

/// A text that is not `sha256:` and 64 hex digits.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a digest (`sha256:` and 64 hex digits)")]
pub struct NotADigest(String);

impl TryFrom<String> for Digest {
    type Error = NotADigest;

    fn try_from(text: String) -> Result<Self, NotADigest> {
        let mut bytes = [0; 32];
        match text.strip_prefix("sha256:") {
            Some(digits) if hex::decode_to_slice(digits, &mut bytes).is_ok() => Ok(Self(bytes)),
            _ => Err(NotADigest(text)),
        }
    }
}

impl std::str::FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        Self::try_from(text.to_owned())
    }
}

/// The digest a pause shows: what is asked, about which call, with what the host froze.
pub fn pause_digest(parts: &Value) -> Digest {
    Digest::of_json("pausegate-pause/1", parts)
}

/// The digest an approval hangs on: what would run, under which grants and rules.
pub fn call_digest(parts: &Value) -> Digest {
    Digest::of_json("pausegate-call/1", parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn key_order_does_not_change_a_digest() {
        let a = call_digest(&json!({"a": 1, "b": [1.0, "x"]}));
        let b = call_digest(&json!({"b": [1, "x"], "a": 1}));
        assert_eq!(a, b);
        assert_ne!(a, pause_digest(&json!({"a": 1, "b": [1, "x"]})));
    }

    #[test]
    fn a_digest_reads_back_from_its_text() {
        let digest = Digest::of_bytes(b"wasm");
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        assert!("sha256:12".parse::<Digest>().is_err());
    }
}
