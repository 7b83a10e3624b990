//! Signatures as Standard Webhooks has them: whoever knows the secret can tell that a message is this host's and fresh.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use super::Undelivered;

/// Before a secret that is base64.
const PREFIX: &str = "whsec_";

/// The headers of a message: its id, when it was sent, and `v1,` with the signature over both and the body.
pub fn signed(secret: &SecretString, id: &str, now: Timestamp, body: &str) -> Result<BTreeMap<&'static str, String>, Undelivered> {
    let seconds = now.as_second();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key(secret)?).expect("any length is a key");
    mac.update(format!("{id}.{seconds}.{body}").as_bytes());
    let signature = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    Ok([("webhook-id", id.to_owned()), ("webhook-timestamp", seconds.to_string()), ("webhook-signature", signature)].into())
}

fn key(secret: &SecretString) -> Result<Vec<u8>, Undelivered> {
    match secret.expose_secret().strip_prefix(PREFIX) {
        Some(encoded) => STANDARD.decode(encoded).map_err(|_| Undelivered::Now(format!("what stands behind `{PREFIX}` in its secret is no base64"))),
        None => Ok(secret.expose_secret().as_bytes().to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's libraries.
    #[test]
    fn a_signature_is_as_standard_webhooks_has_it() {
        let secret = SecretString::from("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let headers = signed(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", Timestamp::from_second(1_614_265_330).unwrap(), r#"{"test": 2432232314}"#);
        let headers = headers.unwrap();
        assert_eq!(headers["webhook-signature"], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!((headers["webhook-timestamp"].as_str(), headers["webhook-id"].as_str()), ("1614265330", "msg_p5jXN8AQM9LWM0D4loKWxJek"));
        assert!(signed(&SecretString::from("whsec_***"), "a", Timestamp::UNIX_EPOCH, "").is_err());
        assert!(signed(&SecretString::from("a plain secret"), "a", Timestamp::UNIX_EPOCH, "").is_ok());
    }
}
