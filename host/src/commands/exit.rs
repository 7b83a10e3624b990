//! Exit codes: what a script may rely on. No code stands anywhere else.

/// Completed; decided, or the identical decision again.
pub const COMPLETED: u8 = 0;
/// The chain failed or was cancelled; the called tool failed; an audit found damage.
pub const FAILED: u8 = 1;
/// Already decided otherwise, expired or superseded; the chain is held by another process or has ended.
pub const CONFLICT: u8 = 2;
/// The command line itself is wrong.
pub const USAGE: u8 = 64;
/// A value does not fit, a digest differs, a decision that is not offered.
pub const DATA: u8 = 65;
/// No such chain, pause, tool or plugin.
pub const UNKNOWN: u8 = 66;
/// The model or a service is away, or its key is missing.
pub const UNAVAILABLE: u8 = 69;
/// A bug of ours.
pub const INTERNAL: u8 = 70;
/// Paused or blocked; the journal is busy or away.
pub const PAUSED: u8 = 75;
/// Rejected; not an eligible approver; `explain` says denied.
pub const DENIED: u8 = 77;
/// Configuration or grants file.
pub const CONFIG: u8 = 78;
/// Ctrl-C or a request to terminate.
pub const INTERRUPTED: u8 = 130;
