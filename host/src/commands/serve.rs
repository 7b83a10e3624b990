//! `serve`: the HTTP API and the page, with workers beside it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;
use url::Url;

use super::failure::Failure;
use super::setup::{Flags, Setup};
use super::work::{LOOK_FILE, LOOK_SERVER, WORKERS, WORKERS_MAX, Watching};
use super::{exit, identity, interrupt, runtime};
use crate::chain;
use crate::report;
use crate::report::work::Lines;
use crate::runner::{Host, Work};
use crate::server::changes::{Changes, Poking};
use crate::server::tokens::Tokens;
use crate::server::{self, Operator, Serving, State};

const LISTEN: &str = "127.0.0.1:7411";
/// After a worker could not go on.
const AGAIN: Duration = Duration::from_secs(5);

/// Serve the HTTP API and the page, and carry chains on
#[derive(Args)]
#[command(after_help = "Examples:
  pausegate serve --model claude-sonnet-4-5
  pausegate token create alice --can read,approve     # who may speak to it
  pausegate token login alice                         # a link for alice's browser
  pausegate serve --listen 0.0.0.0:7411 --allow-remote --public-url https://gate.example   # behind a proxy with TLS

SIGTERM or Ctrl-C lets requests and chains go in order; once more exits at once.")]
pub struct Serve {
    /// Address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = LISTEN)]
    listen: SocketAddr,
    /// Chains carried on side by side; 0 leaves them to `work` elsewhere
    #[arg(long, value_name = "N", default_value_t = WORKERS as u64, value_parser = clap::value_parser!(u64).range(..=WORKERS_MAX))]
    workers: u64,
    /// Listen on an address that other machines reach; without TLS in front of it, tokens can be read on the way
    #[arg(long)]
    allow_remote: bool,
    /// The address that people use, where a proxy stands in front
    #[arg(long, value_name = "URL")]
    public_url: Option<Url>,
    /// A model that clients may start chains with, the first one unless they name another; may be given more than once
    #[arg(long = "model", value_name = "NAME")]
    models: Vec<String>,
    /// Carry on chains of this place too; this machine's name always is one
    #[arg(long = "place", value_name = "LABEL")]
    places: Vec<String>,
    /// Print events as NDJSON
    #[arg(long)]
    json: bool,
}

impl Serve {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        self.check()?;
        let setup = Setup::read_with_model(flags, self.models.first().map(String::as_str))?;
        let models = self.models(&setup)?;
        runtime::full(async {
            let stop = interrupt::on_signal()?;
            // A port that is taken is said before plugins are loaded.
            let unusable = |error| Failure::new(exit::UNAVAILABLE, format!("cannot listen on {}", self.listen)).because(error);
            let listener = TcpListener::bind(self.listen).await.map_err(unusable)?;
            let listen = listener.local_addr().map_err(unusable)?;
            let lines = Arc::new(Lines::new(self.json));
            let changes = Changes::default();
            let observer = Arc::new(Poking { changes: changes.clone(), observer: lines.clone() });
            let (host, _following) = setup.following_host(observer).await?;
            let settings = self.settings(&setup, &host, models.first())?;
            let tokens = Tokens::new(setup.settings.places.tokens(), setup.clock.clone());
            let nobody = tokens.list()?.is_empty();
            let serving = Serving {
                host: host.clone(),
                tokens,
                settings,
                models,
                public: self.public_url.clone(),
                channels: setup.settings.notify.clone(),
                changes,
                operator: Operator { places: setup.settings.places.clone(), machine: identity::host() },
                stop: stop.clone(),
            };
            let state = State::new(serving, listen);
            if nobody {
                report::note("nobody may speak to it yet: `pausegate token create NAME --can read,approve`");
            }
            report::note(&format!("serving on http://{listen}"));
            let look = if setup.settings.postgres.is_some() { LOOK_SERVER } else { LOOK_FILE };
            let places = self.places.iter().cloned().chain([identity::host()]).collect();
            let work = Work { workers: usize::try_from(self.workers).unwrap_or(WORKERS), once: false, places, look };
            let workers = async {
                while work.workers > 0 && !stop.is_cancelled() {
                    // It ends only when it is told to; what cannot be reached is tried again.
                    if let Err(error) = host.work(&work, &Watching(lines.clone()), stop.clone()).await {
                        report::note(&format!("{}; trying again", report::escape::line(&error.to_string())));
                        tokio::select! { () = stop.cancelled() => {}, () = tokio::time::sleep(AGAIN) => {} }
                    }
                }
            };
            let mut delivery = setup.delivery(host.journal.clone());
            // Links lead to the page that is served here.
            delivery.base_url = delivery.base_url.or_else(|| self.public_url.clone());
            tokio::join!(server::serve(listener, state), workers, delivery.deliver(stop.clone()));
            Ok(exit::COMPLETED)
        })
    }

    fn check(&self) -> Result<(), Failure> {
        if !self.listen.ip().is_loopback() && !self.allow_remote {
            return Err(Failure::usage(format!("{} is reached by other machines", self.listen))
                .hint("put a proxy with TLS in front of a loopback address")
                .hint("or say `--allow-remote` where something else keeps others from reading along"));
        }
        let usable = |url: &Url| matches!(url.scheme(), "http" | "https") && url.host().is_some() && url.path() == "/" && url.query().is_none();
        match &self.public_url {
            Some(url) if !usable(url) => {
                Err(Failure::usage(format!("`--public-url {url}` is no address of a site")).hint("such as https://gate.example"))
            }
            _ => Ok(()),
        }
    }

    /// Names, scripts and keys that do not open are said at once.
    fn models(&self, setup: &Setup) -> Result<Vec<String>, Failure> {
        let named = if self.models.is_empty() { setup.settings.model.iter().cloned().collect() } else { self.models.clone() };
        let named: Vec<_> = named.into_iter().map(absolute).collect::<Result<_, _>>()?;
        for model in &named {
            setup.models(None)(model)?;
            setup.check_files(Some(model), None, 0)?;
        }
        Ok(named)
    }

    fn settings(&self, setup: &Setup, host: &Host, model: Option<&String>) -> Result<chain::Settings, Failure> {
        let mut settings = chain::Settings { model: model.cloned(), ..setup.chain_settings() };
        setup.settle_place(&mut settings, host, None);
        Ok(settings)
    }
}

/// The chain may be carried on from another directory.
fn absolute(model: String) -> Result<String, Failure> {
    let Some(file) = model.strip_prefix("script:") else { return Ok(model) };
    let path = std::path::absolute(file).map_err(|error| Failure::usage("`script:` needs a file").because(error))?;
    Ok(format!("script:{}", path.display()))
}
