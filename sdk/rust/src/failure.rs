//! Why a tool could not do its work, in words the model can act on.

use std::fmt;
use std::io;
use std::time::Duration;

use crate::bindings::pausegate::plugin::types;

/// Whether a call that failed took effect all the same: the plugin's word, shown to model and operator.
pub use types::EffectState as Effect;

/// What sort of failure it is. The model decides by it whether to correct, wait or give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The arguments, or an answer, do not fit.
    InvalidInput,
    /// The thing asked for is not there.
    NotFound,
    /// Not allowed, by a grant or by the other side.
    Denied,
    /// The other side wants to know who asks.
    AuthRequired,
    /// It took too long.
    Timeout,
    /// Too many requests; see [`Failure::retry_after`].
    RateLimited,
    /// The other side is not there now.
    Unavailable,
    /// More bytes than are handled.
    TooLarge,
    /// Something else changed it first, or it exists already.
    Conflict,
    /// Anything else.
    Failed,
}

impl Kind {
    /// The name that crosses to the host.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid-input",
            Self::NotFound => "not-found",
            Self::Denied => "denied",
            Self::AuthRequired => "auth-required",
            Self::Timeout => "timeout",
            Self::RateLimited => "rate-limited",
            Self::Unavailable => "unavailable",
            Self::TooLarge => "too-large",
            Self::Conflict => "conflict",
            Self::Failed => "failed",
        }
    }

    fn of_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::Denied,
            io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => Self::Conflict,
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => Self::InvalidInput,
            io::ErrorKind::TimedOut => Self::Timeout,
            io::ErrorKind::FileTooLarge | io::ErrorKind::QuotaExceeded | io::ErrorKind::StorageFull => Self::TooLarge,
            _ => Self::Failed,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failed call. An ordinary error: it travels through `anyhow` and keeps its kind.
///
/// ```
/// use pausegate_sdk::{Failure, Kind};
///
/// fn look_up(city: &str) -> anyhow::Result<u32> {
///     Err(Failure::new(Kind::NotFound, format!("no city named `{city}`")).into())
/// }
/// assert_eq!(Failure::from(look_up("Atlantis").unwrap_err()).kind(), Kind::NotFound);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    kind: Kind,
    message: String,
    retry_after: Option<Duration>,
    effect: Effect,
}

impl Failure {
    /// `message` says what happened to what, for the model.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None, effect: Effect::None }
    }

    /// Trying again may help after this long.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Says whether something was changed before it failed; [`Effect::None`] unless told otherwise.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// What sort of failure it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What happened to what.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// A `Failure` anywhere in the chain gives kind, wait and effect, an `io::Error` gives its kind; the message is the
/// whole chain's.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        let message = without_numbers(&format!("{error:#}"));
        // `downcast_ref` on the whole also finds a failure attached as context, the chain finds one further down.
        if let Some(inner) = error.downcast_ref::<Self>().or_else(|| error.chain().find_map(|cause| cause.downcast_ref())) {
            return Self { message, ..inner.clone() };
        }
        let io = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
        Self::new(io.map_or(Kind::Failed, Kind::of_io), message)
    }
}

/// ` (os error 44)` counts errors of WASI, which mean other things on every other system; the words before it stay.
fn without_numbers(message: &str) -> String {
    const MARK: &str = " (os error ";
    let mut kept = String::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(MARK) {
        kept.push_str(before);
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        rest = match after[digits..].strip_prefix(')') {
            Some(after) if digits > 0 => after,
            _ => {
                kept.push_str(MARK);
                after
            }
        };
    }
    kept + rest
}

impl From<Failure> for types::Failure {
    fn from(failure: Failure) -> Self {
        Self {
            kind: failure.kind.as_str().into(),
            message: failure.message,
            retry_after_ms: failure.retry_after.map(|wait| wait.as_millis().try_into().unwrap_or(u32::MAX)),
            effect: failure.effect,
            meta: Vec::new(),
        }
    }
}
