//! What a call got from outside before it paused. Its next attempt gets the same again in the outside's place, so that an
//! effect that came before a question is had once, however often the call is made again.
//!
//! A stored format, inside the event of a pause: what is written here must stay readable for ever.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// Bytes of the answers that are kept of one call, as they are stored. What is over is asked for anew, if it is no effect.
pub const RECORDED_BYTES_MAX: usize = 1 << 20;
/// Exchanges kept of one call.
pub const EXCHANGES_MAX: usize = 1024;
/// Readings of the clock kept of one call; later ones tell the time.
pub const TIMES_MAX: usize = 1024;

/// Of the attempts of one call so far, or what one of them adds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// In the order asked: the place of each is its ordinal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<Exchange>,
    /// Readings of the wall clock, in nanoseconds since 1970.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<u64>,
    /// Base64; what the call drew at random comes from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
}

/// A request, or a use of values, and what came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// Over all that was asked.
    pub request: Digest,
    /// It may have changed something outside.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub effect: bool,
    pub answer: Answer,
}

/// Without the values of secrets, as the guest got it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    Response(Response),
    /// Base64 of each value that was there.
    Values {
        values: Vec<Option<String>>,
    },
    Keys {
        keys: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<u64>,
    },
    Changed {
        number: u64,
    },
    /// The interface's own error.
    Error {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// There was none yet, or it was too large.
    Unkept,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    pub status: u16,
    /// Each byte of a value as the character of that number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// Base64.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trailers: Vec<(String, String)>,
    /// The guest did not wait for the end of the body.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl Recording {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn has_effects(&self) -> bool {
        self.exchanges.iter().any(|exchange| exchange.effect)
    }

    /// With what a later attempt adds.
    pub fn extend(&mut self, more: &Self) {
        self.exchanges.extend_from_slice(&more.exchanges);
        self.times.extend_from_slice(&more.times);
        if more.seed.is_some() {
            self.seed.clone_from(&more.seed);
        }
    }

    pub fn bytes(&self) -> usize {
        self.exchanges.iter().map(|exchange| exchange.answer.bytes()).sum()
    }
}

impl Answer {
    /// As it is stored, about.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Response(response) => {
                let fields = response.headers.iter().chain(&response.trailers);
                response.body.len() + fields.map(|(name, value)| name.len() + value.len()).sum::<usize>()
            }
            Self::Values { values } => values.iter().flatten().map(String::len).sum(),
            Self::Keys { keys, .. } => keys.iter().map(String::len).sum(),
            Self::Error { name, text } => name.len() + text.as_ref().map_or(0, String::len),
            Self::Changed { .. } | Self::Unkept => 0,
        }
    }
}
