//! Starting chains and carrying them on.

use tokio_util::sync::CancellationToken;

use super::family::drive_family;
use super::open::OpenChain;
use super::{Host, HostError, Report, redact};
use crate::call::{AskedCall, CallStatus, ToolSpec};
use crate::capability::children::chain_tool;
use crate::chain::message::Message;
use crate::chain::{Actor, ChainId, Settings};
use crate::event::{Event, Origin};
use crate::state::accept::{accept, changed};
use crate::state::admit::{finished, request, with_admission};
use crate::state::import::{Trailing, import};
use crate::state::{ChainState, Rules};

/// What a chain starts from.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub by: Actor,
    pub settings: Settings,
    /// Imported history, then the new message. Unresolved calls at its end are newly requested.
    pub messages: Vec<Message>,
    pub continues: Option<ChainId>,
    /// One tool called by a person, without a model.
    pub call: Option<AskedCall>,
}

/// The operator's fixes when a chain is taken up.
#[derive(Clone, Debug, Default)]
pub struct Resume {
    pub accept_plugin: bool,
    pub max_turns: Option<u32>,
    /// Another model, from the next turn on.
    pub model: Option<String>,
}

/// A chain that this process holds and has not driven yet; let go where it is dropped.
pub struct TakenUp(pub(super) OpenChain);

impl TakenUp {
    pub fn state(&self) -> &ChainState {
        &self.0.state
    }

    /// Until it rests, and with it the chains that it starts.
    pub async fn drive(self, interrupt: CancellationToken) -> Result<Report, HostError> {
        drive_family(self.0, interrupt).await
    }
}

impl Host {
    /// What plugins offer and the operator lets them, and the host's own tool where the operator turned it on.
    pub fn catalog(&self) -> Vec<ToolSpec> {
        let (mut tools, grants) = (self.plugins.catalog(), self.grants.latest());
        tools.push(chain_tool());
        tools.retain(|tool| grants.offers(tool));
        tools
    }

    /// Writes a new chain down; [`Host::resume`] carries it on, and so may a worker.
    pub async fn start(&self, prompt: Prompt) -> Result<ChainId, HostError> {
        let id = ChainId(self.clock.id("ch_"));
        self.start_as(&id, prompt).await?;
        Ok(id)
    }

    /// The same under an id that the caller keeps: a chain that is there already stays as it is.
    pub async fn start_as(&self, id: &ChainId, prompt: Prompt) -> Result<(), HostError> {
        let chain = OpenChain::read(self, id).await?;
        let chain = if chain.state.seq == 0 { self.begun(chain, prompt).await? } else { chain };
        self.recent.keep(chain.state);
        Ok(())
    }

    /// Writes a new chain down and drives it until it rests.
    pub async fn run(&self, prompt: Prompt, interrupt: CancellationToken) -> Result<Report, HostError> {
        self.begin(prompt).await?.drive(interrupt).await
    }

    /// Writes a new chain down. It is held before its first event: no worker finds it first.
    pub(super) async fn begin(&self, prompt: Prompt) -> Result<TakenUp, HostError> {
        let id = ChainId(self.clock.id("ch_"));
        let hold = self.journal.take(&id).await?;
        let chain = OpenChain::new(self, id).holding(hold);
        self.begun(chain, prompt).await.map(TakenUp)
    }

    async fn begun(&self, mut chain: OpenChain, prompt: Prompt) -> Result<OpenChain, HostError> {
        let prompt = redact::prompt(&self.redactor(), prompt);
        let imported = import(prompt.messages)?;
        let started = Event::ChainStarted {
            started_by: prompt.by,
            settings: prompt.settings,
            tools: self.catalog(),
            messages: imported.messages,
            continues: prompt.continues,
            forked: None,
            parent: None,
        };
        let direct = prompt.call.map(|call| (Origin::Person, Trailing { parts: Vec::new(), calls: vec![(call, None)] }));
        let first = direct.or(imported.trailing.map(|trailing| (Origin::Imported, trailing)));
        // Somebody else may have begun it under this id meanwhile.
        let begun = |state: &ChainState, _: &Rules<'_>| {
            let is_new = state.seq == 0;
            Ok((if is_new { vec![started.clone()] } else { Vec::new() }, is_new))
        };
        let asked = |state: &ChainState, rules: &Rules<'_>, is_new: &mut bool| {
            (first.as_ref().filter(|_| *is_new).map(|(origin, trailing)| first_turn(state, rules, *origin, trailing)).unwrap_or_default(), ())
        };
        match chain.transact_then(begun, asked).await {
            Ok(_) => Ok(chain),
            Err(error) => {
                chain.let_go().await;
                Err(error)
            }
        }
    }

    /// Takes the chain and drives it until it rests.
    pub async fn resume(&self, id: &ChainId, by: &Actor, fixes: Resume, interrupt: CancellationToken) -> Result<Report, HostError> {
        self.take_up(id, by, fixes).await?.drive(interrupt).await
    }

    /// Takes the chain, with the operator's fixes; whoever asked can be told of it before it is driven.
    pub async fn take_up(&self, id: &ChainId, by: &Actor, fixes: Resume) -> Result<TakenUp, HostError> {
        let mut chain = OpenChain::take(self, id).await?;
        if let Err(error) = self.mend(&mut chain, by, fixes).await {
            chain.let_go().await;
            return Err(error);
        }
        Ok(TakenUp(chain))
    }

    /// Whether the chain can go on, after the operator's fixes.
    async fn mend(&self, chain: &mut OpenChain, by: &Actor, fixes: Resume) -> Result<(), HostError> {
        let id = chain.state.id.clone();
        if chain.state.status.is_terminal() {
            return Err(HostError::Ended { chain: id.clone(), status: chain.state.status });
        }
        if let Some(given) = fixes.max_turns {
            let used = chain.state.model_calls;
            if given <= used {
                return Err(HostError::TurnLimit { given, used });
            }
            chain.record(|_, _| vec![Event::TurnLimitRaised { by: by.clone(), max_turns: given }]).await?;
        }
        if let Some(model) = fixes.model {
            match &chain.state.settings.model {
                None => return Err(HostError::BadCall(format!("chain {id} is a call without a model; none can be given to it"))),
                Some(same) if *same == model => {}
                Some(_) => chain.record(|_, _| vec![Event::ModelChanged { by: by.clone(), model: model.clone() }]).await?,
            }
        }
        if fixes.accept_plugin {
            self.accept_plugins(chain, by).await?;
        }
        Ok(())
    }

    async fn accept_plugins(&self, chain: &mut OpenChain, by: &Actor) -> Result<(), HostError> {
        let loaded = self.plugins.loaded();
        let catalog = self.catalog();
        chain
            .record(|state, _| {
                let plugins = changed(state, &loaded);
                let tools = |plugin: &str| catalog.iter().filter(|tool| tool.plugin == plugin).cloned().collect();
                plugins.iter().flat_map(|plugin| accept(state, by, plugin, &loaded[*plugin], tools(plugin))).collect()
            })
            .await
    }
}

/// The turn that a chain starts with, and the results that came along with it.
fn first_turn(state: &ChainState, rules: &Rules<'_>, origin: Origin, trailing: &Trailing) -> Vec<Event> {
    let asked: Vec<_> = trailing.calls.iter().map(|(call, _)| call.clone()).collect();
    let calls = request(1, &asked, rules.id);
    let results = calls
        .iter()
        .zip(&trailing.calls)
        .filter_map(|(call, (_, result))| result.clone().map(|result| finished(call.call, CallStatus::Succeeded, result)));
    let results: Vec<_> = results.collect();
    let received = Event::TurnReceived { turn: 1, origin, parts: trailing.parts.clone(), verbatim: None, usage: None, calls };
    let (mut events, _) = with_admission(state, rules, received);
    events.splice(1..1, results);
    events
}
