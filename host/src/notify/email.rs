//! Mail: one letter to all people of a channel, handed to the operator's mail server.
//!
//! The server is looked up once and spoken to at an address that was looked at, over TLS unless the channel says that it is
//! a relay nearby. What a server says is read in bounds; what it refuses for good is not tried again.
//!
//! The conversation is our own. lettre was tried in its place: its 0.11 takes what came in the clear behind `STARTTLS` for
//! said over TLS, reads a line whole before it looks how long it is, and waits for the answer to `QUIT`; what guards against
//! that came to more than the conversation.

use std::net::SocketAddr;
use std::time::Duration;

use secrecy::SecretString;
use tokio::net::TcpStream;
use url::Host;

use super::Undelivered;
use super::send::{SEND_MAX, reachable, too_late};
use crate::config::notify::Mail;
use crate::plugin::Resolve;

mod letter;
mod smtp;
mod tls;

pub use letter::{Letter, letter};

/// For one address of several.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Nothing is said of it where it fails but the server's name and what the server answered.
pub async fn send(resolver: &dyn Resolve, mail: &Mail, login: Option<(&str, SecretString)>, letter: &Letter) -> Result<(), Undelivered> {
    let place = mail.server.host.to_string();
    let sent = tokio::time::timeout(SEND_MAX, sent(resolver, mail, login, letter)).await;
    sent.unwrap_or_else(|_| Err(too_late())).map_err(|undelivered| undelivered.of(&place))
}

async fn sent(resolver: &dyn Resolve, mail: &Mail, login: Option<(&str, SecretString)>, letter: &Letter) -> Result<(), Undelivered> {
    let host = match &mail.server.host {
        Host::Domain(name) => Host::Domain(name.as_str()),
        Host::Ipv4(address) => Host::Ipv4(*address),
        Host::Ipv6(address) => Host::Ipv6(*address),
    };
    let stream = connected(&reachable(resolver, host, mail.server.port, mail.private).await?).await?;
    smtp::converse(stream, mail, login, letter).await
}

async fn connected(addresses: &[SocketAddr]) -> Result<TcpStream, Undelivered> {
    let mut why = "cannot be reached".to_owned();
    for address in addresses {
        why = match tokio::time::timeout(CONNECT_MAX, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => format!("cannot be reached: {}", error.kind()),
            Err(_) => format!("cannot be reached within {} s", CONNECT_MAX.as_secs()),
        };
    }
    Err(Undelivered::Now(why))
}
