//! The one decision on a call in doubt: what became of it.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::digest::Digest;

/// `{"decision":"settle","outcome":"happened","result":…}`: `result` is there with `happened`, and with nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Settle {
    pub outcome: Settled,
    pub note: Option<String>,
    pub digest: Option<Digest>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It took effect, and this was its result.
    Happened(Value),
    /// It may be made again, whether or not it took effect.
    RunAgain,
    /// Nobody can tell: the model is told just that.
    GiveUp,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    outcome: Outcome,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Happened,
    RunAgain,
    GiveUp,
}

/// `null` is a result like any other.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl TryFrom<Written> for Settle {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let outcome = match (written.outcome, written.result) {
            (Outcome::Happened, Some(result)) => Settled::Happened(result),
            (Outcome::RunAgain, None) => Settled::RunAgain,
            (Outcome::GiveUp, None) => Settled::GiveUp,
            (Outcome::Happened, None) => return Err("`happened` needs a `result`"),
            (Outcome::RunAgain | Outcome::GiveUp, Some(_)) => return Err("`result` goes with `happened` alone"),
        };
        Ok(Self { outcome, note: written.note, digest: written.digest })
    }
}

impl From<Settle> for Written {
    fn from(settle: Settle) -> Self {
        let (outcome, result) = match settle.outcome {
            Settled::Happened(result) => (Outcome::Happened, Some(result)),
            Settled::RunAgain => (Outcome::RunAgain, None),
            Settled::GiveUp => (Outcome::GiveUp, None),
        };
        Self { outcome, result, note: settle.note, digest: settle.digest }
    }
}

#[cfg(test)]
mod tests {
    use crate::pause::Decision;

    #[test]
    fn s03_a_settlement_says_what_happened_and_nothing_more() {
        for text in [
            r#"{"decision":"settle"}"#,
            r#"{"decision":"settle","outcome":true}"#,
            r#"{"decision":"settle","outcome":{"run-again":null}}"#,
            r#"["settle","run-again"]"#,
            r#"{"decision":"settle","outcome":"happened"}"#,
            r#"{"decision":"settle","outcome":"Happened","result":1}"#,
            r#"{"decision":"settle","outcome":"run-again","result":1}"#,
            r#"{"decision":"settle","outcome":"run-again","result":null}"#,
            r#"{"decision":"settle","outcome":"give-up","then":"stop"}"#,
            r#"{"decision":"settle","outcome":"give-up","value":1}"#,
            r#"{"decision":"approve","outcome":"happened"}"#,
        ] {
            assert!(Decision::read(text).is_err(), "{text} was taken for a decision");
        }
        for text in [
            r#"{"decision":"settle","outcome":"happened","result":null}"#,
            r#"{"decision":"settle","outcome":"happened","result":{"id":7},"note":"looked"}"#,
            r#"{"decision":"settle","outcome":"run-again"}"#,
            r#"{"decision":"settle","outcome":"give-up","note":"who knows"}"#,
        ] {
            let read = Decision::read(text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text, "it is stored as it was said");
        }
    }
}
