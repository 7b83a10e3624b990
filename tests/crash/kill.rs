//! What becomes of a process, and when.

use std::time::Duration;

use rustix::process::Signal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kill {
    /// At the process's n-th append.
    Append(Side, u64),
    /// At the n-th request that it sends, as the server has it: before it counts, or before it is answered.
    Request(Side, u64),
    /// After so long: somewhere in the midst of it.
    Time(Duration),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    #[default]
    Lives,
    Dies(Kill),
    /// Stops, and wakes when what it held is another's.
    Freezes(Kill),
}

impl Kill {
    pub fn append(side: Side, count: u64) -> Self {
        Self::Append(side, count)
    }

    pub fn request(side: Side, count: u64) -> Self {
        Self::Request(side, count)
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Append(Side::Before, _) => "before a write",
            Self::Append(Side::After, _) => "after a write",
            Self::Request(Side::Before, _) => "before an effect",
            Self::Request(Side::After, _) => "after an effect",
            Self::Time(_) => "at some time",
        }
    }
}

impl Fate {
    pub fn kill(self) -> Option<Kill> {
        match self {
            Self::Lives => None,
            Self::Dies(kill) | Self::Freezes(kill) => Some(kill),
        }
    }

    pub fn signal(self) -> Signal {
        if matches!(self, Self::Freezes(_)) { Signal::STOP } else { Signal::KILL }
    }

    /// For the door that the host has for this.
    pub fn variable(self) -> Option<String> {
        let ending = if matches!(self, Self::Freezes(_)) { ":stop" } else { "" };
        match self.kill()? {
            Kill::Append(Side::Before, count) => Some(format!("before:{count}{ending}")),
            Kill::Append(Side::After, count) => Some(format!("after:{count}{ending}")),
            Kill::Request(..) | Kill::Time(_) => None,
        }
    }
}

/// What is planned for one process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    pub fate: Fate,
    /// Another process does the same at the same time, and lives.
    pub rival: bool,
    /// How its wall clock goes wrong.
    pub clock: Option<&'static str>,
    /// Processes that come before it wakes, where it freezes.
    pub sleeps: u64,
}

/// Seconds that a process's wall clock is off by, one after the other as it reads it.
const CLOCKS: [&str; 4] = ["7200", "-86400", "-7200,7200", "0,10800,-10800"];

/// xorshift64*: the same kills for the same seed, whatever runs beside.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64, trial: u64) -> Self {
        Self((seed ^ trial.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }

    /// The same again, and another one.
    pub fn another(&mut self) -> Self {
        Self::new(self.0, self.below(u64::MAX))
    }

    /// Of the processes of one chain, in their order; most die.
    pub fn plans(&mut self) -> Vec<Plan> {
        (0..4 + self.below(4)).map(|_| self.plan()).collect()
    }

    /// The server cannot tell whose request it has, so one that dies at a request has no rival.
    fn plan(&mut self) -> Plan {
        let fate = self.fate();
        let rival = self.below(4) == 0 && !matches!(fate, Fate::Freezes(_) | Fate::Dies(Kill::Request(..)));
        Plan { fate, rival, clock: self.clock(), sleeps: self.below(5) }
    }

    fn fate(&mut self) -> Fate {
        let side = self.side();
        let kill = match self.below(16) {
            0..8 => Kill::Append(side, 1 + self.below(8)),
            8..12 => Kill::Request(side, 1 + self.below(3)),
            12..14 => Kill::Time(Duration::from_micros(2_000 + self.below(120_000))),
            14 => return Fate::Freezes(Kill::Append(side, 1 + self.below(8))),
            _ => return Fate::Lives,
        };
        Fate::Dies(kill)
    }

    /// Of a worker among others: it comes to more writes, and the server strikes whoever asks it.
    pub fn worker(&mut self) -> Plan {
        let side = self.side();
        let kill = match self.below(3) {
            0 | 1 => Kill::Append(side, 1 + self.below(12)),
            _ => Kill::Time(Duration::from_micros(20_000 + self.below(600_000))),
        };
        let fate = if self.below(5) == 0 { Fate::Freezes(kill) } else { Fate::Dies(kill) };
        Plan { fate, clock: self.clock(), ..Plan::default() }
    }

    pub fn side(&mut self) -> Side {
        if self.below(2) == 0 { Side::Before } else { Side::After }
    }

    pub fn clock(&mut self) -> Option<&'static str> {
        (self.below(3) == 0).then(|| CLOCKS[self.below(CLOCKS.len() as u64) as usize])
    }
}
