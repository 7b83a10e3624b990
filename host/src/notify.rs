//! Tells people outside what waits for them: takes notices out of the journal's outbox and delivers them.
//!
//! Off the path of any request: whoever works or serves delivers what is due, whoever wrote it. At least once, under one id
//! over all tries; what fails is tried again after longer and longer, and parked in the end. A message only shows: nothing
//! is decided by opening a link in it. The `[people]`-checked buttons of Slack end at `Host::decide` like every other door.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::clock::{Clock, since_boot};
use crate::config::notify::{Address, Channel, Mail, Receiver, To, checked};
use crate::digest::Digest;
use crate::journal::outbox::{Claimed, Settled};
use crate::journal::{Journal, JournalError};
use crate::notice::{Facts, Happening};
use crate::plugin::{ReadSecret, Resolve, SystemResolver, SystemSecrets};

mod command;
#[cfg(feature = "email")]
mod email;
mod message;
mod send;
pub mod slack;
mod webhook;

use message::Message;
use send::{Post, Sender};

/// Nobody else delivers what was claimed for so long; more than a try may take.
const HOLD: Duration = Duration::from_secs(60);
/// Between two looks for what is due.
pub const LOOK: Duration = Duration::from_secs(1);
/// For what is under way when delivering ends.
const LAST_MOMENT: Duration = Duration::from_secs(3);
/// After the first try that failed, doubled with each, up to the other.
const AGAIN: Duration = Duration::from_secs(5);
const AGAIN_MAX: Duration = Duration::from_secs(3600);
/// With the waits above nearly two days: a receiver may be down over a night, and a weekend is the operator's to see.
pub const TRIES_MAX: u32 = 54;
/// Rounds of claims in one bounded delivery; each is as large as a claim.
const ROUNDS_MAX: u32 = 64;

/// What delivering needs.
#[derive(Clone)]
pub struct Delivery {
    pub journal: Arc<dyn Journal>,
    pub channels: Arc<[Channel]>,
    /// Links in messages lead below it.
    pub base_url: Option<Url>,
    pub clock: Clock,
    pub secrets: Arc<dyn ReadSecret>,
    pub resolver: Arc<dyn Resolve>,
    /// Hears of tries that failed.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Why a message did not arrive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undelivered {
    /// Another try may find it better.
    #[error("{0}")]
    Now(String),
    /// No other try would.
    #[error("{0}")]
    Ever(String),
}

impl Undelivered {
    /// Where it was to go, in front of why.
    fn of(self, place: &str) -> Self {
        match self {
            Self::Now(why) => Self::Now(format!("{place}: {why}")),
            Self::Ever(why) => Self::Ever(format!("{place}: {why}")),
        }
    }
}

impl Delivery {
    /// By this machine's secrets and resolver.
    pub fn new(journal: Arc<dyn Journal>, channels: &[Channel], base_url: Option<Url>, clock: Clock, tell: Arc<dyn Fn(&str) + Send + Sync>) -> Self {
        Self { journal, channels: channels.into(), base_url, clock, secrets: Arc::new(SystemSecrets), resolver: Arc::new(SystemResolver), tell }
    }

    /// Delivers what comes due until `ended`. What is under way then is tried again by somebody else.
    pub async fn deliver(&self, ended: CancellationToken) {
        if self.channels.is_empty() {
            return;
        }
        loop {
            // What is under way at the end gets a moment: dropped, it would be sent again.
            let over = async {
                ended.cancelled().await;
                tokio::time::sleep(LAST_MOMENT).await;
            };
            let found = tokio::select! { () = over => return, found = self.round() => found };
            if ended.is_cancelled() {
                return;
            }
            // The journal's own trouble is told by those who work with it.
            if !matches!(found, Ok(delivered) if delivered > 0) {
                tokio::select! { () = ended.cancelled() => return, () = tokio::time::sleep(LOOK) => {} }
            }
        }
    }

    /// Delivers what is due now, for `at_most` so long.
    pub async fn deliver_due(&self, at_most: Duration) {
        if self.channels.is_empty() {
            return;
        }
        let rounds = async {
            for _ in 0..ROUNDS_MAX {
                if !matches!(self.round().await, Ok(delivered) if delivered > 0) {
                    break;
                }
            }
        };
        tokio::time::timeout(at_most, rounds).await.ok();
    }

    /// Claims once and delivers that; how many there were.
    async fn round(&self) -> Result<usize, JournalError> {
        let names: Vec<String> = self.channels.iter().map(|channel| channel.name.clone()).collect();
        // A hold is counted from before the claim: it is over here before it is over there.
        let before = since_boot();
        let claimed = self.journal.claim_notices(&names, HOLD).await?;
        let settled = join_all(claimed.iter().map(async |claimed| {
            let left = HOLD.saturating_sub(since_boot().saturating_sub(before)) / 2;
            let tried = tokio::time::timeout(left, self.one(claimed)).await;
            let tried = tried.unwrap_or_else(|_| Err(Undelivered::Now("it took too long".to_owned())));
            self.journal.settle_notice(claimed, &self.settled(claimed, tried)).await
        }));
        settled.await.into_iter().collect::<Result<Vec<()>, _>>()?;
        Ok(claimed.len())
    }

    fn settled(&self, claimed: &Claimed, tried: Result<(), Undelivered>) -> Settled {
        let told = |what: &str, why: &str| (self.tell)(&format!("notice {} to `{}` {what}: {why}", claimed.message_id(), claimed.channel));
        match tried {
            Ok(()) => Settled::Delivered,
            Err(Undelivered::Now(why)) if claimed.tries < TRIES_MAX => {
                told("is tried again", &why);
                Settled::Again { after: wait(&claimed.id, claimed.tries), why }
            }
            Err(Undelivered::Now(why) | Undelivered::Ever(why)) => {
                told("is parked", &why);
                Settled::Parked { why }
            }
        }
    }

    async fn one(&self, claimed: &Claimed) -> Result<(), Undelivered> {
        let channel = self.channels.iter().find(|channel| channel.name == claimed.channel);
        let channel = channel.ok_or_else(|| Undelivered::Now("no such channel is set up here".to_owned()))?;
        let facts: Facts =
            serde_json::from_str(&claimed.body).map_err(|error| Undelivered::Ever(format!("this version of the program cannot read it: {error}")))?;
        // Nobody can decide it any more, and whoever closes it has not come by yet.
        let is_later = matches!(facts.what, Happening::PauseReminder | Happening::PauseEscalated);
        if is_later && facts.pause.as_ref().and_then(|asked| asked.expires_at).is_some_and(|at| at <= self.clock.now()) {
            return Ok(());
        }
        let message = Message { id: claimed.message_id(), facts: &facts, details: channel.details, base_url: self.base_url.as_ref() };
        let sender = Sender { resolver: &*self.resolver };
        match &channel.to {
            Receiver::Webhook { to, secret } => {
                let key = self.secrets.read(secret).map_err(|error| lacking(secret, &error))?;
                let body = message.json().to_string();
                let signed = webhook::signed(&key, &message.id, self.clock.now(), &body)?;
                sender.post(Post { url: &self.address(to)?, private: to.private, headers: signed, body }).await
            }
            Receiver::Slack { to, signing_secret } => {
                let body = slack::message(&message, signing_secret.is_some()).to_string();
                sender.post(Post { url: &self.address(to)?, private: to.private, headers: BTreeMap::new(), body }).await
            }
            Receiver::Ntfy { to, token } => {
                let mut headers = BTreeMap::new();
                if let Some(token) = token {
                    let value = self.secrets.read(token).map_err(|error| lacking(token, &error))?;
                    headers.insert("authorization", format!("Bearer {}", secrecy::ExposeSecret::expose_secret(&value)));
                }
                let (url, body) = message.ntfy(&self.address(to)?)?;
                sender.post(Post { url: &url, private: to.private, headers, body: body.to_string() }).await
            }
            Receiver::Command { program, arguments, time } => command::run(program, arguments, message.json().to_string(), *time).await,
            Receiver::Email(mail) => self.email(mail, &message).await,
        }
    }

    #[cfg(feature = "email")]
    async fn email(&self, mail: &Mail, message: &Message<'_>) -> Result<(), Undelivered> {
        let login = match &mail.login {
            Some((user, secret)) => Some((user.as_str(), self.secrets.read(secret).map_err(|error| lacking(secret, &error))?)),
            None => None,
        };
        email::send(&*self.resolver, mail, login, &email::letter(mail, message, self.clock.now())).await
    }

    /// The settings refuse such a channel.
    #[cfg(not(feature = "email"))]
    async fn email(&self, _: &Mail, _: &Message<'_>) -> Result<(), Undelivered> {
        Err(Undelivered::Now("this program was built without the feature `email`".to_owned()))
    }

    fn address(&self, to: &To) -> Result<Url, Undelivered> {
        match &to.url {
            Address::Plain(url) => Ok(url.clone()),
            Address::Kept(secret) => {
                let text = self.secrets.read(secret).map_err(|error| lacking(secret, &error))?;
                let url = checked(secrecy::ExposeSecret::expose_secret(&text), to.private);
                url.map_err(|reason| Undelivered::Now(format!("the address in {} {reason}", secret.place())))
            }
        }
    }
}

fn lacking(secret: &crate::capability::Secret, error: &crate::plugin::SecretError) -> Undelivered {
    Undelivered::Now(format!("{} {error}", secret.place()))
}

/// Longer with each try, and up to a quarter more, which spreads those that failed together.
fn wait(id: &str, tries: u32) -> Duration {
    let wait = AGAIN_MAX.min(AGAIN.saturating_mul(2_u32.saturating_pow(tries.saturating_sub(1))));
    let spread = Digest::of_bytes(format!("{id} {tries}").as_bytes()).as_bytes()[0];
    wait + wait.mul_f64(f64::from(spread) / 255.0 / 4.0)
}

#[cfg(test)]
mod tests;
