//! When a process dies.

use std::time::Duration;

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

impl Kill {
    pub fn append(side: Side, count: u64) -> Self {
        Self::Append(side, count)
    }

    pub fn request(side: Side, count: u64) -> Self {
        Self::Request(side, count)
    }

    /// For the door that the host has for this.
    pub fn variable(self) -> Option<String> {
        match self {
            Self::Append(Side::Before, count) => Some(format!("before:{count}")),
            Self::Append(Side::After, count) => Some(format!("after:{count}")),
            Self::Request(..) | Self::Time(_) => None,
        }
    }
}

/// What is planned for one process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    pub kill: Option<Kill>,
    /// Another process does the same at the same time, and is not killed.
    pub rival: bool,
}

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

    /// Of the processes of one chain, in their order; most die.
    pub fn plans(&mut self) -> Vec<Plan> {
        (0..4 + self.below(4)).map(|_| self.plan()).collect()
    }

    /// The server cannot tell whose request it has, so one that dies at a request has no rival.
    fn plan(&mut self) -> Plan {
        let kill = self.kill();
        Plan { kill, rival: self.below(4) == 0 && !matches!(kill, Some(Kill::Request(..))) }
    }

    fn kill(&mut self) -> Option<Kill> {
        let side = if self.below(2) == 0 { Side::Before } else { Side::After };
        match self.below(8) {
            0..4 => Some(Kill::Append(side, 1 + self.below(8))),
            4..6 => Some(Kill::Request(side, 1 + self.below(3))),
            6 => Some(Kill::Time(Duration::from_micros(2_000 + self.below(120_000)))),
            _ => None,
        }
    }
}
