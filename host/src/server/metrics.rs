//! What the server counts about itself, in the text that Prometheus reads.
//!
//! A handful of numbers with fixed labels: nothing that a client, a plugin or a model says becomes one.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the times that decisions took, in seconds.
const BUCKETS: [f64; 8] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

#[derive(Default)]
pub struct Metrics {
    requests: Mutex<BTreeMap<u16, u64>>,
    decisions: Mutex<BTreeMap<u16, u64>>,
    decided_within: [AtomicU64; BUCKETS.len()],
    decided_micros: AtomicU64,
    decided: AtomicU64,
    failed_tokens: AtomicU64,
}

/// What is true at the moment it is asked.
pub struct Now {
    pub open_pauses: usize,
    /// In seconds; 0 where nothing waits.
    pub oldest_pause: i64,
    pub subscribers: usize,
}

impl Metrics {
    pub fn request(&self, status: u16) {
        *self.requests.lock().expect("no panic under this lock").entry(status).or_default() += 1;
    }

    /// `status` is what the decider was answered.
    pub fn decision(&self, status: u16, took: Duration) {
        *self.decisions.lock().expect("no panic under this lock").entry(status).or_default() += 1;
        for (within, bound) in self.decided_within.iter().zip(BUCKETS) {
            within.fetch_add(u64::from(took.as_secs_f64() <= bound), Ordering::Relaxed);
        }
        self.decided_micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.decided.fetch_add(1, Ordering::Relaxed);
    }

    pub fn failed_token(&self) {
        self.failed_tokens.fetch_add(1, Ordering::Relaxed);
    }

    pub fn text(&self, now: &Now) -> String {
        let mut text = String::new();
        head(&mut text, "pausegate_http_requests_total", "counter", "Requests by the status of their answer");
        by_status(&mut text, "pausegate_http_requests_total", &self.requests);
        head(&mut text, "pausegate_decisions_total", "counter", "Decisions asked for, by the status of the answer");
        by_status(&mut text, "pausegate_decisions_total", &self.decisions);
        head(&mut text, "pausegate_decide_seconds", "histogram", "Time to an answer about a decision");
        for (within, bound) in self.decided_within.iter().zip(BUCKETS) {
            line(&mut text, &format!("pausegate_decide_seconds_bucket{{le=\"{bound}\"}}"), within.load(Ordering::Relaxed));
        }
        let decided = self.decided.load(Ordering::Relaxed);
        line(&mut text, "pausegate_decide_seconds_bucket{le=\"+Inf\"}", decided);
        line(&mut text, "pausegate_decide_seconds_sum", Duration::from_micros(self.decided_micros.load(Ordering::Relaxed)).as_secs_f64());
        line(&mut text, "pausegate_decide_seconds_count", decided);
        head(&mut text, "pausegate_failed_tokens_total", "counter", "Wrong tokens, login codes and sessions");
        line(&mut text, "pausegate_failed_tokens_total", self.failed_tokens.load(Ordering::Relaxed));
        head(&mut text, "pausegate_open_pauses", "gauge", "Pauses that wait for a person, up to the number a list has");
        line(&mut text, "pausegate_open_pauses", now.open_pauses);
        head(&mut text, "pausegate_oldest_open_pause_seconds", "gauge", "Age of the pause that has waited longest");
        line(&mut text, "pausegate_oldest_open_pause_seconds", now.oldest_pause);
        head(&mut text, "pausegate_change_subscribers", "gauge", "Clients that hear of changes");
        line(&mut text, "pausegate_change_subscribers", now.subscribers);
        text
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}").expect("strings take all");
}

fn line(text: &mut String, name: &str, value: impl std::fmt::Display) {
    writeln!(text, "{name} {value}").expect("strings take all");
}

fn by_status(text: &mut String, name: &str, counts: &Mutex<BTreeMap<u16, u64>>) {
    for (status, count) in &*counts.lock().expect("no panic under this lock") {
        line(text, &format!("{name}{{status=\"{status}\"}}"), count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_told() {
        let metrics = Metrics::default();
        metrics.request(200);
        metrics.request(200);
        metrics.decision(409, Duration::from_millis(30));
        metrics.failed_token();
        let text = metrics.text(&Now { open_pauses: 3, oldest_pause: 61, subscribers: 0 });
        for line in [
            "pausegate_http_requests_total{status=\"200\"} 2",
            "pausegate_decisions_total{status=\"409\"} 1",
            "pausegate_decide_seconds_bucket{le=\"0.025\"} 0",
            "pausegate_decide_seconds_bucket{le=\"0.05\"} 1",
            "pausegate_decide_seconds_sum 0.03",
            "pausegate_failed_tokens_total 1",
            "pausegate_open_pauses 3",
            "pausegate_oldest_open_pause_seconds 61",
        ] {
            assert!(text.lines().any(|own| own == line), "{line} is not in\n{text}");
        }
    }
}
