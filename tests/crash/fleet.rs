//! Several chains, up to twelve workers at once, people who race to decide, and all of it dying, freezing and waking.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pausegate::pause::{Pause, PauseKind};
use pausegate::state::ChainState;
use rustix::process::{Signal, kill_process};

use super::kill::{Fate, Kill, Plan, Random, Side};
use super::process::Process;
use super::seen::Seen;
use super::server::Server;
use super::store::{Place, Store};
use super::tally::Outcome;
use super::trial::{doubt, prepare, turns};

pub const WORKERS_MAX: u64 = 12;
const CHAINS_MAX: u64 = 4;
/// People who decide, each on all that is asked.
const PEOPLE: usize = 2;
/// Processes of one worker that something happens to; those after them are left alone.
const FATES: usize = 3;
/// Processes of one worker; one that needs more is stuck.
const PROCESSES_MAX: usize = 2000;
/// Requests at which whoever asks is struck.
const STRIKES: u64 = 5;
/// From the first worker to the last chain's end; beyond it a chain is stuck.
const TIME_MAX: Duration = Duration::from_secs(240);
/// Between two looks of a person, and between two tries of a worker that ends when there is nothing to do.
const LOOK: Duration = Duration::from_millis(60);
/// How long one that is frozen is left for others to overtake it.
const OVERTAKE: Duration = Duration::from_secs(3);

pub struct Fleet {
    place: Place,
    server: Server,
    outcome: Mutex<Outcome>,
    over: AtomicBool,
}

/// Where one thread fails, the others end, and what they started.
struct Together<'f>(&'f Fleet);

impl Drop for Together<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.over.store(true, Ordering::SeqCst);
            self.0.tell(Signal::KILL);
        }
    }
}

impl Fleet {
    pub fn run(store: Store, workers: u64, mut random: Random) -> Outcome {
        let (place, server) = (Place::new(store), Server::start());
        prepare(&place, server.port, random.below(2) == 0);
        let fleet = Self { place, server, outcome: Mutex::default(), over: AtomicBool::new(false) };
        let chains = 1 + random.below(CHAINS_MAX);
        (0..chains).for_each(|number| fleet.begin(number));
        std::thread::scope(|scope| {
            for number in 0..workers {
                let random = random.another();
                let fleet = &fleet;
                scope.spawn(move || fleet.worker(number, random));
            }
            for number in 0..PEOPLE {
                let random = random.another();
                let fleet = &fleet;
                scope.spawn(move || fleet.person(number, random));
            }
            fleet.watch(chains, &mut random);
        });
        let (seen, story) = (Seen::read(&fleet.place), fleet.story());
        seen.check(&fleet.place, &fleet.server, &story);
        let mut outcome = fleet.outcome.into_inner().unwrap();
        outcome.count(&fleet.server.asked(), &seen.states);
        outcome
    }

    /// A chain whose process dies when it has begun.
    fn begin(&self, number: u64) {
        let (old, new) = (format!("{number}.tmp"), format!("new-{number}.txt"));
        self.place.env.write(&format!("work/build/{old}"), "old");
        let turns = turns(self.server.port, &old, &new);
        self.place.env.write(&format!("work/turns-{number}.json"), &serde_json::json!({ "turns": turns }).to_string());
        let kill = Kill::Append(Side::After, 1);
        let plan = Plan { fate: Fate::Dies(kill), ..Plan::default() };
        let model = format!("script:turns-{number}.json");
        let ended = Process::start(&self.place.env, &["run", "go", "--model", &model, "--json"], plan).ended();
        assert_eq!(ended.code, None, "{}", ended.said);
        self.outcome().died.push(kill);
    }

    /// One process after the other, until all is over. Half of them stay until they are told to end.
    fn worker(&self, number: u64, mut random: Random) {
        let _together = Together(self);
        for count in 0..PROCESSES_MAX {
            if self.is_over() {
                return;
            }
            let plan = if count < FATES { random.worker() } else { Plan { clock: random.clock(), ..Plan::default() } };
            let args: &[&str] = match number.is_multiple_of(2) || random.below(2) == 0 {
                true => &["work", "--workers", "2", "--json", "--once"],
                false => &["work", "--workers", "2", "--json"],
            };
            if self.works(args, plan).is_empty() && !self.is_over() {
                std::thread::sleep(LOOK);
            }
        }
        panic!("a worker found no end; {}", self.story());
    }

    /// Returns what it said.
    fn works(&self, args: &[&str], plan: Plan) -> String {
        self.outcome().clocks += u64::from(plan.clock.is_some());
        let process = Process::start(&self.place.env, args, plan);
        self.server.lives(process.pid());
        if self.is_over() {
            process.signal(Signal::TERM);
        }
        process.struck_in_time(plan);
        let mut planned = plan.fate.kill();
        while process.freezes() {
            self.frozen(&process, &mut planned);
        }
        let struck = self.server.is_gone(process.pid());
        let ended = process.ended();
        let died = struck.iter().find(|fate| matches!(fate, Fate::Dies(_))).unwrap_or(&plan.fate);
        match (ended.code, died) {
            (None, Fate::Dies(kill)) => self.outcome().died.push(*kill),
            // Told to end before it listened.
            (None, _) if self.is_over() => {}
            (Some(0 | 130), _) => {}
            (code, _) => panic!("`{}` ended with {code:?}: {}; {}", args.join(" "), ended.said, self.story()),
        }
        ended.said
    }

    /// Stopped, by plan or at a request: it wakes when others have what it held, if they take it.
    fn frozen(&self, process: &Process, planned: &mut Option<Kill>) {
        let at = planned.take().unwrap_or(Kill::Request(Side::After, 1));
        self.outcome().froze.push(at);
        let held = self.place.held_by(process.id());
        self.place.leases_are_over(process.id());
        let began = Instant::now();
        while held > 0 && began.elapsed() < OVERTAKE && !self.is_over() {
            if self.place.held_by(process.id()) < held {
                self.outcome().overtaken += 1;
                break;
            }
            std::thread::sleep(LOOK);
        }
        process.signal(Signal::CONT);
    }

    fn person(&self, number: usize, mut random: Random) {
        let _together = Together(self);
        while !self.is_over() {
            for state in self.place.states() {
                for pause in state.open_pauses() {
                    self.decide(number, &state, pause, &mut random);
                }
            }
            std::thread::sleep(LOOK);
        }
    }

    /// One approves what the other denies; about what is in doubt they say what they see.
    fn decide(&self, number: usize, state: &ChainState, pause: &Pause, random: &mut Random) {
        let id = pause.id.0.as_str();
        let args: &[&str] = if pause.kind == PauseKind::InDoubt {
            let doubt = doubt(&self.place, &self.server, state, pause, "of workers that died or froze");
            let happened = doubt.1;
            // Both may be asked; it is one question.
            if number == 0 {
                self.outcome().doubts.push(doubt);
            }
            if happened { &["settle", id, "--happened", "--text", "it is there"] } else { &["settle", id, "--run-again"] }
        } else if number == 0 {
            &["approve", id]
        } else {
            &["deny", id, "--note", "no"]
        };
        let kill = Kill::Append(random.side(), 1);
        let fate = if random.below(4) == 0 { Fate::Dies(kill) } else { Fate::Lives };
        let ended = Process::start(&self.place.env, args, Plan { fate, clock: random.clock(), ..Plan::default() }).ended();
        match (ended.code, fate) {
            (None, Fate::Dies(kill)) => self.outcome().died.push(kill),
            (Some(0), _) => {}
            (Some(2), _) => self.outcome().beaten += 1,
            (code, _) => panic!("`{}` ended with {code:?}: {}; {}", args.join(" "), ended.said, self.story()),
        }
    }

    /// Strikes at requests now and then, until every chain has ended.
    fn watch(&self, chains: u64, random: &mut Random) {
        let _together = Together(self);
        let (began, mut strikes) = (Instant::now(), 0);
        loop {
            assert!(!self.is_over(), "another part of it failed");
            let states = self.place.states();
            if states.iter().filter(|state| state.status.is_terminal()).count() as u64 == chains {
                break;
            }
            assert!(began.elapsed() < TIME_MAX, "8: stuck: {:?}; {}", states.iter().map(where_it_is).collect::<Vec<_>>(), self.story());
            if strikes < STRIKES && !self.server.aims() {
                strikes += 1;
                let count = 1 + random.below(2);
                self.server.aim(
                    None,
                    match random.below(4) {
                        // Where no lease ends while it sleeps, it has its answer when it wakes.
                        0 => Fate::Freezes(Kill::Request(Side::After, count)),
                        _ => Fate::Dies(Kill::Request(random.side(), count)),
                    },
                );
            }
            std::thread::sleep(LOOK);
        }
        self.server.aim(None, Fate::Lives);
        self.over.store(true, Ordering::SeqCst);
        self.tell(Signal::TERM);
    }

    /// All who work, as far as they are alive.
    fn tell(&self, signal: Signal) {
        for process in self.server.alive() {
            let _: Result<(), _> = kill_process(process, signal);
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn outcome(&self) -> std::sync::MutexGuard<'_, Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn story(&self) -> String {
        format!("{:?}: {:?}", self.place.store, self.outcome())
    }
}

fn where_it_is(state: &ChainState) -> String {
    let calls: Vec<_> = state.calls.values().map(|call| format!("{} {:?}", call.tool, call.status)).collect();
    format!("{} {}: {}", state.id, state.status, calls.join(", "))
}
