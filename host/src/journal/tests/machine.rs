//! Invariants 4, 9, 11 and 14: a chain that processes take, let go of, go on writing to all the same, and decide about, against
//! a model of what each is told; both stores side by side.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use super::sample::{Chain, Home, Tested, said};
use crate::chain::{Epoch, Seq};
use crate::event::Stamped;
use crate::journal::{Hold, JournalError};
use crate::state::ChainState;

const PROCESSES: usize = 3;

/// Made once: it takes longer than a case.
static DATABASE: LazyLock<Home> = LazyLock::new(Home::postgres);
static CHAINS: AtomicU64 = AtomicU64::new(0);

/// What a process does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Take(usize),
    /// It forgets nothing by that, and may write on: a zombie.
    LetGo(usize),
    Read(usize),
    Write(usize),
    Decide(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Done,
    Held,
    Moved,
    Fenced,
}

#[derive(Clone, Debug)]
struct Model {
    holder: Option<usize>,
    epoch: Epoch,
    head: Seq,
    knows: [Known; PROCESSES],
    /// Of the last step.
    told: Told,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    epoch: Option<Epoch>,
    head: Seq,
}

impl Model {
    fn writes(&mut self, process: usize, epoch: Option<Epoch>) -> Told {
        if epoch.is_some_and(|epoch| epoch != self.epoch) {
            return Told::Fenced;
        }
        if self.knows[process].head != self.head {
            return Told::Moved;
        }
        self.head += 1;
        self.knows[process].head = self.head;
        Told::Done
    }

    fn takes(&mut self, process: usize) -> Told {
        if self.holder.is_some() {
            return Told::Held;
        }
        self.epoch += 1;
        self.holder = Some(process);
        self.knows[process].epoch = Some(self.epoch);
        Told::Done
    }
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        let knows = [Known { epoch: None, head: 1 }; PROCESSES];
        Just(Self { holder: None, epoch: 0, head: 1, knows, told: Told::Done }).boxed()
    }

    fn transitions(_: &Self) -> BoxedStrategy<Step> {
        let process = 0..PROCESSES;
        prop_oneof![
            3 => process.clone().prop_map(Step::Take),
            2 => process.clone().prop_map(Step::LetGo),
            3 => process.clone().prop_map(Step::Read),
            4 => process.clone().prop_map(Step::Write),
            2 => process.prop_map(Step::Decide),
        ]
        .boxed()
    }

    fn apply(mut model: Self, step: &Step) -> Self {
        model.told = match *step {
            Step::Take(process) => model.takes(process),
            Step::LetGo(process) => {
                model.holder = model.holder.filter(|holder| *holder != process);
                Told::Done
            }
            Step::Read(process) => {
                model.knows[process].head = model.head;
                Told::Done
            }
            Step::Write(process) => model.writes(process, model.knows[process].epoch),
            Step::Decide(process) => model.writes(process, None),
        };
        model
    }

    /// Who never held it writes as one who decides.
    fn preconditions(state: &Self, step: &Step) -> bool {
        !matches!(step, Step::Write(process) if state.knows[*process].epoch.is_none())
    }
}

struct Process {
    journal: Arc<dyn Tested>,
    chain: Chain,
    hold: Option<Hold>,
}

impl Process {
    async fn does(&mut self, step: Step) -> Told {
        match step {
            Step::Take(_) => match self.journal.take(&self.chain.id).await {
                Ok(hold) => {
                    self.chain.epoch = Some(hold.epoch);
                    self.hold = Some(hold);
                    Told::Done
                }
                Err(error) => told(&error),
            },
            Step::LetGo(_) => {
                if let Some(hold) = self.hold.take() {
                    hold.let_go().await;
                }
                Told::Done
            }
            Step::Read(_) => {
                self.chain.state = ChainState::fold(self.chain.id.clone(), &self.journal.events(&self.chain.id, 0).await.unwrap());
                Told::Done
            }
            Step::Write(_) => self.writes(self.chain.epoch).await,
            Step::Decide(_) => self.writes(None).await,
        }
    }

    async fn writes(&mut self, epoch: Option<Epoch>) -> Told {
        let known = std::mem::replace(&mut self.chain.epoch, epoch);
        let written = self.chain.write(&*self.journal, vec![said("on")]).await;
        self.chain.epoch = known;
        written.map_or_else(|error| told(&error), |_| Told::Done)
    }
}

fn told(error: &JournalError) -> Told {
    match error {
        JournalError::Held { .. } => Told::Held,
        JournalError::Moved { .. } => Told::Moved,
        JournalError::Fenced { .. } => Told::Fenced,
        other => panic!("{other}"),
    }
}

/// Of each store.
struct Stores {
    runtime: tokio::runtime::Runtime,
    processes: [Vec<Process>; 2],
    _file: Home,
}

impl Stores {
    fn events(&self) -> [Vec<Stamped>; 2] {
        self.processes.each_ref().map(|processes| {
            let process = &processes[0];
            self.runtime.block_on(process.journal.events(&process.chain.id, 0)).unwrap()
        })
    }
}

impl StateMachineTest for Stores {
    type SystemUnderTest = Self;
    type Reference = Model;

    fn init_test(_: &Model) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let id = format!("ch_{}", CHAINS.fetch_add(1, Ordering::Relaxed));
        let file = Home::sqlite();
        let processes = [&file, &*DATABASE].map(|home| {
            let chain = runtime.block_on(Chain::started(&*home.open(), &id));
            (0..PROCESSES).map(|_| Process { journal: home.open(), chain: chain.clone(), hold: None }).collect()
        });
        Self { runtime, processes, _file: file }
    }

    fn apply(mut stores: Self, model: &Model, step: Step) -> Self {
        let (Step::Take(at) | Step::LetGo(at) | Step::Read(at) | Step::Write(at) | Step::Decide(at)) = step;
        for processes in &mut stores.processes {
            assert_eq!(stores.runtime.block_on(processes[at].does(step)), model.told, "4 and 9: one is told what the model says");
        }
        stores
    }

    fn check_invariants(stores: &Self, model: &Model) {
        let [sqlite, postgres] = stores.events();
        assert_eq!(sqlite, postgres, "14: the same trace");
        assert_eq!(sqlite.len() as u64, model.head, "9: who was fenced changed nothing");
        let epochs: Vec<_> = sqlite.iter().map(|event| event.epoch).filter(|epoch| *epoch > 0).collect();
        assert!(epochs.is_sorted(), "9: {epochs:?}");
        for processes in &stores.processes {
            let process = &processes[0];
            assert_eq!(stores.runtime.block_on(process.journal.difference(&process.chain.id)).unwrap(), None, "11: projections are the fold");
        }
    }

    fn teardown(stores: Self, _: Model) {
        for process in stores.processes.into_iter().flatten() {
            if let Some(hold) = process.hold {
                stores.runtime.block_on(hold.let_go());
            }
        }
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_process_is_told_what_the_model_says_on_both_stores(sequential 1..30 => Stores);
}
