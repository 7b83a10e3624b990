//! Who sits at this command line: `os:USER@HOST`, as the operating system says, never as the environment says.

use crate::chain::Actor;

/// A user without a name in the passwd database is its number.
pub fn os_user() -> Actor {
    let user = whoami::username().unwrap_or_else(|_| rustix::process::getuid().as_raw().to_string());
    Actor(format!("os:{user}@{}", host()))
}

/// This machine's name.
pub fn host() -> String {
    whoami::hostname().unwrap_or_else(|_| "localhost".to_owned())
}
