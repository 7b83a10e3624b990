//! What one attempt gets from outside, kept for the next one; and what earlier attempts got, given in the outside's place.
//!
//! An attempt that begins anew goes the same way up to where the last one paused: what it asks for at each place is compared
//! with what was asked there, and another request is told as what it is. One that is handed saved state goes on from there:
//! it may pass over what it has done, so each recorded answer is given to the first same request, what was not asked before
//! is asked now, and clock and chance are its own.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use crate::call::Recording;
use crate::call::recording::{Answer, EXCHANGES_MAX, Exchange, RECORDED_BYTES_MAX, Response, TIMES_MAX};
use crate::call::result::{from_base64, to_base64};
use crate::digest::Hasher;

const DOMAIN: &str = "pausegate-request/1";

#[derive(Default)]
pub struct Recorder {
    before: Recording,
    /// The attempt goes on from saved state.
    goes_on: bool,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    /// Exchanges begun, in the order the guest began them.
    place: usize,
    /// Of `before`, what was given already.
    given: Vec<bool>,
    made: Vec<Made>,
    /// Bytes of `made`.
    bytes: usize,
    /// An effect is not recorded at all: there was no room.
    lost: bool,
    times: Vec<u64>,
    times_given: usize,
    chance: Chance,
}

/// An exchange with the outside itself.
struct Made {
    place: Place,
    request: Hasher,
    effect: bool,
    answer: Option<Got>,
}

enum Got {
    Answer(Answer),
    Response { response: Response, body: Vec<u8>, ended: bool },
    TooLarge,
}

/// Where in the order of its attempt an exchange stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(usize);

/// An exchange that is being recorded; `None` where it is not.
pub type Slot = Option<usize>;

/// What is to be done about a request.
#[derive(Debug)]
pub enum Recall {
    /// It was made before, and this came back.
    Given(Answer),
    /// It is to be made, and begun here.
    Make,
    /// It is to be made, and what came back before was not kept either.
    MakeAgain,
    /// Another one stood here.
    Diverged(String),
}

impl Recorder {
    pub fn new(before: Recording, goes_on: bool) -> Self {
        let now = Now { given: vec![false; before.exchanges.len()], ..Now::default() };
        Self { before, goes_on, now: Mutex::new(now) }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().expect("no panic under this lock")
    }

    /// In the order the guest asks, which is the same each time, whatever is answered first.
    pub fn place(&self) -> Place {
        let mut now = self.now();
        now.place += 1;
        Place(now.place - 1)
    }

    /// Whether there is anything that a request at this place is compared with.
    pub fn compares(&self, place: Place) -> bool {
        match self.goes_on {
            true => self.now().given.iter().any(|given| !given),
            false => place.0 < self.before.exchanges.len(),
        }
    }

    /// `asked` says in words what is asked for, for those who are told that it differs.
    pub fn recall(&self, place: Place, request: &Hasher, asked: &str) -> Recall {
        let mut now = self.now();
        let digest = request.clone().digest();
        let found = match self.goes_on {
            true => (0..now.given.len()).find(|index| !now.given[*index] && self.before.exchanges[*index].request == digest),
            false => (place.0 < self.before.exchanges.len()).then_some(place.0),
        };
        let Some(index) = found else { return Recall::Make };
        now.given[index] = true;
        match &self.before.exchanges[index] {
            exchange if exchange.request != digest => Recall::Diverged(format!(
                "made again after a pause, the call asked for something else than before: {asked} in place {}, where another request stood",
                place.0 + 1
            )),
            // Asking again does no harm, and there is nothing to give in its place.
            Exchange { answer: Answer::Unkept, effect: false, .. } => Recall::MakeAgain,
            Exchange { answer: Answer::Unkept, .. } => Recall::Diverged(format!(
                "made again after a pause, the call wants an effect again whose answer was not kept: {asked}; answers of up to {RECORDED_BYTES_MAX} bytes are"
            )),
            exchange => Recall::Given(exchange.answer.clone()),
        }
    }

    /// It is on its way from here on: nobody is asked about it any more.
    pub fn begin(&self, place: Place, request: Hasher, effect: bool) -> Slot {
        let mut now = self.now();
        if self.before.exchanges.len() + now.made.len() >= EXCHANGES_MAX {
            now.lost |= effect;
            return None;
        }
        now.made.push(Made { place, request, effect, answer: None });
        Some(now.made.len() - 1)
    }

    /// A request on its way, as far as it was not known when it was compared.
    pub fn asks(&self, slot: Slot, bytes: &[u8]) {
        if let Some(made) = self.now().slot(slot) {
            made.request.bytes(bytes);
        }
    }

    pub fn answered(&self, slot: Slot, answer: Answer) {
        self.now().keep(&self.before, slot, answer.bytes(), |_| Got::Answer(answer));
    }

    /// The head of a response; its body follows.
    pub fn responds(&self, slot: Slot, response: Response) {
        let bytes = Answer::Response(response.clone()).bytes();
        self.now().keep(&self.before, slot, bytes, |_| Got::Response { response, body: Vec::new(), ended: false });
    }

    pub fn takes(&self, slot: Slot, piece: &[u8]) {
        // As it is stored: four characters for three bytes.
        self.now().keep(&self.before, slot, piece.len().div_ceil(3) * 4, |got| match got {
            Some(Got::Response { response, mut body, ended }) => {
                body.extend_from_slice(piece);
                Got::Response { response, body, ended }
            }
            _ => Got::TooLarge,
        });
    }

    pub fn ends(&self, slot: Slot, trailers: Vec<(String, String)>) {
        if let Some(Made { answer: Some(Got::Response { response, ended, .. }), .. }) = self.now().slot(slot) {
            response.trailers.extend(trailers);
            *ended = true;
        }
    }

    /// Whether the next attempt would be given every effect of this one.
    pub fn holds_all(&self) -> bool {
        let now = self.now();
        let kept = |made: &Made| matches!(made.answer, Some(Got::Answer(_) | Got::Response { .. }));
        !now.lost && now.made.iter().all(|made| !made.effect || kept(made))
    }

    /// The wall clock; what an earlier attempt read first.
    pub fn time(&self, read: impl FnOnce() -> Duration) -> Duration {
        let mut now = self.now();
        if !self.goes_on
            && let Some(time) = self.before.times.get(now.times_given)
        {
            now.times_given += 1;
            return Duration::from_nanos(*time);
        }
        let time = read();
        if self.before.times.len() + now.times.len() < TIMES_MAX {
            now.times.push(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        }
        time
    }

    /// From the stream of this name; each goes on where it was left.
    pub fn draw(&self, stream: Stream, bytes: usize, secret: impl FnOnce() -> [u8; 32]) -> Vec<u8> {
        let before = self.before.seed.as_deref().filter(|_| !self.goes_on).and_then(from_base64).and_then(|seed| seed.try_into().ok());
        self.now().chance.draw(stream, bytes, || before.unwrap_or_else(secret))
    }

    /// What this attempt adds to what it was given.
    pub fn recorded(&self) -> Recording {
        let mut now = self.now();
        let mut made = std::mem::take(&mut now.made);
        made.sort_by_key(|made| made.place);
        let exchanges = made.into_iter().map(Made::kept).collect();
        let seed = now.chance.seed.map(|seed| to_base64(&seed)).filter(|seed| self.before.seed.as_ref() != Some(seed));
        Recording { exchanges, times: std::mem::take(&mut now.times), seed }
    }
}

/// What is asked for, as it is compared: parts that cannot run into each other, and what follows.
pub fn request(parts: &[&[u8]]) -> Hasher {
    let mut hasher = Hasher::new(DOMAIN);
    parts.iter().for_each(|part| hasher.part(part));
    hasher
}

impl Now {
    fn slot(&mut self, slot: Slot) -> Option<&mut Made> {
        self.made.get_mut(slot?)
    }

    /// So many bytes more, if there is room for them.
    fn keep(&mut self, before: &Recording, slot: Slot, bytes: usize, got: impl FnOnce(Option<Got>) -> Got) {
        let fits = before.bytes() + self.bytes + bytes <= RECORDED_BYTES_MAX;
        let Some(made) = self.slot(slot) else { return };
        made.answer = Some(if fits { got(made.answer.take()) } else { Got::TooLarge });
        self.bytes += if fits { bytes } else { 0 };
    }
}

impl Made {
    fn kept(self) -> Exchange {
        let answer = match self.answer {
            Some(Got::Answer(answer)) => answer,
            Some(Got::Response { response, body, ended }) => Answer::Response(Response { body: to_base64(&body), cut: !ended, ..response }),
            Some(Got::TooLarge) | None => Answer::Unkept,
        };
        Exchange { request: self.request.digest(), effect: self.effect, answer }
    }
}

/// Each kind of chance has a stream of its own, so that one says nothing about the other.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    Secure,
    Insecure,
    Seed,
}

/// SHA-256 of a secret and a count: who knows what was drawn does not know what will be.
#[derive(Default)]
struct Chance {
    seed: Option<[u8; 32]>,
    drawn: [u64; 3],
}

impl Chance {
    fn draw(&mut self, stream: Stream, bytes: usize, seed: impl FnOnce() -> [u8; 32]) -> Vec<u8> {
        let seed = *self.seed.get_or_insert_with(seed);
        let count = &mut self.drawn[stream as usize];
        let mut drawn = Vec::with_capacity(bytes.next_multiple_of(32));
        while drawn.len() < bytes {
            drawn.extend_from_slice(&Hasher::block(&seed, stream as u8, *count));
            *count += 1;
        }
        drawn.truncate(bytes);
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &str) -> Hasher {
        request(&[name.as_bytes()])
    }

    /// Makes it, with `name` for an answer, if it was not made before.
    fn ask(recorder: &Recorder, name: &str, effect: bool) -> &'static str {
        let place = recorder.place();
        match recorder.recall(place, &asked(name), name) {
            Recall::Given(answer) => {
                assert_eq!(answer, said(name));
                "given"
            }
            Recall::Make => {
                recorder.answered(recorder.begin(place, asked(name), effect), said(name));
                "made"
            }
            Recall::MakeAgain => "made again",
            Recall::Diverged(_) => "diverged",
        }
    }

    fn said(name: &str) -> Answer {
        Answer::Error { name: name.to_owned(), text: None }
    }

    fn after(first: &[&str]) -> Recording {
        let recorder = Recorder::default();
        first.iter().for_each(|name| assert_eq!(ask(&recorder, name, true), "made"));
        recorder.recorded()
    }

    #[test]
    fn an_attempt_from_the_start_is_given_what_it_asks_for_again_and_then_goes_on() {
        let again = Recorder::new(after(&["a", "a", "b"]), false);
        assert_eq!(["a", "a", "b", "a"].map(|name| ask(&again, name, true)), ["given", "given", "given", "made"]);
        assert_eq!(again.recorded().exchanges.len(), 1, "only what is new is written");
        let other = Recorder::new(after(&["a", "b"]), false);
        assert_eq!(["a", "c"].map(|name| ask(&other, name, false)), ["given", "diverged"]);
    }

    #[test]
    fn an_attempt_from_saved_state_may_pass_over_what_it_did_and_never_does_it_again() {
        let again = Recorder::new(after(&["a", "b"]), true);
        assert_eq!(["b", "c", "a", "a"].map(|name| ask(&again, name, true)), ["given", "made", "given", "made"]);
    }

    #[test]
    fn an_effect_whose_answer_never_came_is_not_had_again() {
        for (effect, then) in [(true, "diverged"), (false, "made again")] {
            let first = Recorder::default();
            first.begin(first.place(), asked("a"), effect);
            assert_eq!(first.holds_all(), !effect);
            assert_eq!(ask(&Recorder::new(first.recorded(), false), "a", effect), then);
        }
    }

    /// limit: call/recording::RECORDED_BYTES_MAX
    #[test]
    fn an_answer_that_does_not_fit_is_not_kept() {
        for (over, kept) in [(0, true), (1, false)] {
            let recorder = Recorder::default();
            let slot = recorder.begin(recorder.place(), asked("a"), true);
            recorder.responds(slot, Response::default());
            recorder.takes(slot, &vec![0; RECORDED_BYTES_MAX / 4 * 3]);
            recorder.takes(slot, &vec![0; over]);
            recorder.ends(slot, Vec::new());
            assert_eq!(recorder.holds_all(), kept);
            let recorded = recorder.recorded();
            assert_eq!(recorded.exchanges[0].answer != Answer::Unkept, kept);
            assert!(recorded.bytes() <= RECORDED_BYTES_MAX);
        }
    }

    /// limit: call/recording::EXCHANGES_MAX
    #[test]
    fn so_many_exchanges_are_kept_and_an_effect_beyond_them_is_known_to_be_lost() {
        let recorder = Recorder::default();
        (0..EXCHANGES_MAX).for_each(|_| assert_eq!(ask(&recorder, "a", true), "made"));
        assert!(recorder.holds_all());
        assert_eq!(ask(&recorder, "a", false), "made");
        assert!(recorder.holds_all());
        assert_eq!(ask(&recorder, "a", true), "made");
        assert!(!recorder.holds_all());
        assert_eq!(recorder.recorded().exchanges.len(), EXCHANGES_MAX);
    }

    /// limit: call/recording::TIMES_MAX
    #[test]
    fn so_many_readings_of_the_clock_are_kept() {
        let first = Recorder::default();
        let mut clock = 0;
        let mut tick = || {
            clock += 1;
            Duration::from_nanos(clock)
        };
        for _ in 0..TIMES_MAX + 2 {
            first.time(&mut tick);
        }
        let recorded = first.recorded();
        let again = Recorder::new(recorded.clone(), false);
        let times: Vec<_> = (0..TIMES_MAX + 1).map(|_| again.time(&mut tick).as_nanos() as usize).collect();
        assert_eq!((times[0], times[TIMES_MAX - 1], times[TIMES_MAX]), (1, TIMES_MAX, TIMES_MAX + 3));
        assert_eq!(again.recorded().times, [] as [u64; 0]);
        assert_eq!(Recorder::new(recorded, true).time(&mut tick).as_nanos() as usize, TIMES_MAX + 4, "saved state has the time of now");
    }

    #[test]
    fn chance_is_the_same_from_the_start_and_another_from_saved_state() {
        let draws = |recorder: &Recorder, secret: u8| {
            [(Stream::Secure, 40), (Stream::Insecure, 8), (Stream::Seed, 16), (Stream::Secure, 8)]
                .map(|(stream, bytes)| recorder.draw(stream, bytes, || [secret; 32]))
        };
        let first = Recorder::default();
        let drawn = draws(&first, 1);
        let recorded = first.recorded();
        assert_eq!(drawn.each_ref().map(Vec::len), [40, 8, 16, 8]);
        assert!(drawn[1] != drawn[3] && drawn[0][..8] != drawn[3][..] && drawn[0][..8] != drawn[1][..]);
        let again = Recorder::new(recorded.clone(), false);
        assert_eq!(draws(&again, 2), drawn);
        assert_eq!(again.recorded(), Recording::default(), "nothing new");
        assert_ne!(draws(&Recorder::new(recorded, true), 2), drawn);
    }
}
