//! Time on the clock and on the processor, and the medians of rounds.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// What a stretch of work took: all threads of this process together on the processor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    pub cpu: Duration,
    pub wall: Duration,
}

impl Spent {
    pub fn per(self, pieces: usize) -> Self {
        let pieces = u32::try_from(pieces).expect("few pieces");
        Self { cpu: self.cpu / pieces, wall: self.wall / pieces }
    }
}

/// Does `work` and tells what it took.
pub fn spent<R>(work: impl FnOnce() -> R) -> (Spent, R) {
    let (wall, cpu) = (Instant::now(), cpu());
    let result = work();
    (Spent { cpu: self::cpu() - cpu, wall: wall.elapsed() }, result)
}

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).expect("below a second"))
}

/// The median of each, on its own.
pub fn median(rounds: &[Spent]) -> Spent {
    Spent { cpu: middle(rounds.iter().map(|spent| spent.cpu)), wall: middle(rounds.iter().map(|spent| spent.wall)) }
}

/// The median of `of(round)`: ratios are taken inside a round, whose parts saw the same machine.
pub fn median_of<T>(rounds: &[T], of: impl Fn(&T) -> f64) -> f64 {
    let mut values: Vec<_> = rounds.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

pub fn middle(durations: impl Iterator<Item = Duration>) -> Duration {
    let mut sorted: Vec<_> = durations.collect();
    sorted.sort();
    sorted[sorted.len() / 2]
}
