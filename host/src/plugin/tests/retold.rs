//! A call made again after a pause gets what it got before: no effect is had twice, and going another way is noticed.

use super::secrets::CANARY;
use super::web::{OK, Server};
use super::*;
use crate::call::Recording;
use crate::call::recording::{Answer as Kept, RECORDED_BYTES_MAX};
use crate::capability::frozen::HttpUse;
use crate::capability::keyvalue::{HeldKv, Quota, Scope};
use crate::capability::secret::{Slot, Source};
use crate::capability::{FrozenUse, Opening, Secret};
use crate::pause::Ask;

/// One call of `retold`, attempt after attempt.
struct Retold {
    arguments: Value,
    held: Held,
    chain: String,
    attempts: u32,
    answers: Vec<Answer>,
    state: Option<Vec<u8>>,
    recorded: Recording,
}

impl Retold {
    fn new(server: &Server, name: &str, steps: Value) -> Self {
        let kv = vec![HeldKv { scope: Scope::Chain, access: Access::Write, quota: Quota::default() }];
        let held = Held { http: vec![server.line("/v1/*", &["GET", "POST"], true)], kv, ..Held::default() };
        let arguments = json!({"steps": steps});
        Self { arguments, held, chain: format!("ch_retold_{name}"), attempts: 0, answers: Vec::new(), state: None, recorded: Recording::default() }
    }

    fn saving(mut self) -> Self {
        self.arguments["save"] = true.into();
        self
    }

    async fn attempt(&mut self) -> AttemptOutcome {
        self.attempts += 1;
        let attempt = Attempt {
            chain: ChainId(self.chain.clone()),
            held: self.held.clone(),
            attempt: self.attempts,
            answers: self.answers.clone(),
            state: self.state.clone(),
            recorded: self.recorded.clone(),
            ..attempt("retold", self.arguments.clone())
        };
        let outcome = probe().call(attempt).await;
        self.recorded.extend(&outcome.recorded);
        if let Ended::Pause(asked) = &outcome.ended {
            self.state.clone_from(&asked.state);
            let answer = Answer { key: asked.key.clone(), asked: Ask::Text, value: asked.key.clone().into(), note: None, context: None };
            self.answers.push(answer);
        }
        outcome
    }

    /// To its end, through all questions.
    async fn run(&mut self) -> AttemptOutcome {
        loop {
            let outcome = self.attempt().await;
            if !matches!(outcome.ended, Ended::Pause(_)) {
                return outcome;
            }
        }
    }
}

fn questions(n: usize) -> Vec<Value> {
    (1..=n).map(|n| json!({"ask": format!("q{n}")})).collect()
}

#[tokio::test]
async fn w57_an_effect_before_six_questions_is_had_once() {
    for (name, saves) in [("w57_start", false), ("w57_saved", true)] {
        let server = Server::fixed(OK);
        let mut steps = vec![json!({"post": server.url("/v1/a"), "body": "ten"}), json!({"increment": "k"}), json!({"value": "k"})];
        steps.extend(questions(6));
        steps.push(json!({"increment": "k"}));
        let retold = Retold::new(&server, name, steps.into());
        let mut retold = if saves { retold.saving() } else { retold };
        let outcome = retold.run().await;
        assert_eq!(text(&outcome), "200 hi\nok: 1\nok: 1\nq1\nq2\nq3\nq4\nq5\nq6\nok: 2", "{name}");
        assert_eq!((retold.attempts, server.hits()), (7, 1), "{name}");
        assert_eq!(outcome.uses.kv_writes, 1, "the last attempt itself did one thing: {name}");
        assert_eq!(retold.recorded.exchanges.len(), 3, "written once, not at each pause: {name}");
    }
}

#[tokio::test]
async fn clock_and_chance_are_the_same_again_so_what_is_made_of_them_is_the_same_request() {
    let server = Server::fixed(OK);
    let mut steps = vec![json!({"post_chance": server.url("/v1/a")})];
    steps.extend(questions(2));
    steps.push(json!({"post_chance": server.url("/v1/a")}));
    let mut retold = Retold::new(&server, "chance", steps.into());
    assert_eq!(text(&retold.run().await), "200 hi\nq1\nq2\n200 hi");
    assert_eq!((retold.attempts, server.hits()), (3, 2), "the second one has another time and other numbers");
}

#[tokio::test]
async fn another_request_in_a_place_is_not_made() {
    let server = Server::fixed(OK);
    let steps = json!([{"post_attempt": server.url("/v1/a")}, {"ask": "q"}]);
    let mut retold = Retold::new(&server, "other", steps);
    assert!(matches!(retold.attempt().await.ended, Ended::Pause(_)));
    let second = retold.attempt().await;
    let Ended::Diverged(why) = &second.ended else { panic!("{second:?}") };
    assert!(why.contains("asked for something else than before: http POST") && why.contains("in place 1"), "{why}");
    assert_eq!((server.hits(), second.uses, &second.recorded), (1, Uses::default(), &Recording::default()));
}

#[tokio::test]
async fn from_saved_state_a_call_may_go_on_where_it_was() {
    let server = Server::fixed(OK);
    // The numbers differ, as they would of a plugin that goes by what it saved.
    let steps = json!([{"post_attempt": server.url("/v1/a")}, {"ask": "q1"}, {"ask": "q2"}]);
    let mut retold = Retold::new(&server, "goes_on", steps).saving();
    assert_eq!(text(&retold.run().await), "200 hi\nq1\nq2");
    assert_eq!(server.hits(), 3);
}

#[tokio::test]
async fn a_person_can_be_asked_about_a_use_after_an_effect_that_is_recorded() {
    let server = Server::fixed(OK);
    let steps = json!([{"post": server.url("/v1/a"), "body": "1"}, {"post": server.url("/pay"), "body": "2"}, {"increment": "k"}]);
    let mut retold = Retold::new(&server, "held_back", steps);
    let HeldHttp { url, .. } = server.line("/pay", &[], true);
    retold.held.reach = vec![Opening::Http(HeldHttp { url, methods: vec!["POST".into()], private: true, secret: None })];
    let first = retold.attempt().await;
    let Ended::HeldBack(frozen) = first.ended else { panic!("{first:?}") };
    assert!(matches!(&frozen, FrozenUse::Http(HttpUse { preview, .. }) if preview == "2"), "{frozen:?}");
    assert_eq!((first.uses.http_effects, first.recorded.exchanges.len(), server.hits()), (1, 1, 1));
    retold.held.uses = vec![frozen];
    let second = retold.attempt().await;
    assert_eq!(text(&second), "200 hi\n200 hi\nok: 1");
    assert_eq!((second.uses.http_effects, server.hits()), (1, 2), "only what was approved is made");
}

#[tokio::test]
async fn after_a_change_to_a_file_nobody_is_asked_about_a_use_and_a_question_warns_the_author() {
    let (server, dir) = (Server::fixed(OK), tempfile::tempdir().unwrap());
    let folder = HeldFs { mount: "/free".into(), host: dir.path().into(), access: Access::Write, only: None, quota: None };
    let HeldHttp { url, .. } = server.line("/pay", &[], true);
    let reach = vec![Opening::Http(HeldHttp { url, methods: vec!["POST".into()], private: true, secret: None })];
    let mut retold = Retold::new(&server, "files", json!([{"write": "/free/x"}, {"post": server.url("/pay")}]));
    (retold.held.fs, retold.held.reach) = (vec![folder.clone()], reach);
    let refused = retold.attempt().await;
    assert_eq!(text(&refused), "ok\nerror: denied");
    assert!(refused.refusals[0].allow_with.contains("nobody can be asked once an attempt had an effect that is not recorded"));

    let heard = Arc::new(Heard::default());
    let mut attempt = attempt("retold", json!({"steps": [{"write": "/free/x"}, {"ask": "q"}]}));
    attempt.held.fs = vec![folder];
    attempt.watcher = Some(heard.clone());
    let paused = probe().call(attempt).await;
    assert!(matches!(paused.ended, Ended::Pause(_)) && paused.uses.fs_writes > 0, "{paused:?}");
    let lines = heard.lines.lock().unwrap().clone();
    assert!(lines.iter().any(|(level, line)| *level == "warn" && line.contains("ask first, and change files afterwards")), "{lines:?}");
}

#[tokio::test]
async fn an_answer_too_large_to_keep_is_asked_for_again_unless_it_was_an_effect() {
    let body = "x".repeat(RECORDED_BYTES_MAX);
    let server = Server::fixed(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
    for (name, step, hits, diverges) in [("large_get", "get", 2, false), ("large_post", "post", 3, true)] {
        let mut retold = Retold::new(&server, name, json!([{step: server.url("/v1/a")}, {"ask": "q"}]));
        let paused = retold.attempt().await;
        assert!(matches!(paused.recorded.exchanges[0].answer, Kept::Unkept), "{paused:?}");
        assert_eq!(matches!(retold.attempt().await.ended, Ended::Diverged(_)), diverges, "{name}");
        assert_eq!(server.hits(), hits, "{name}");
    }
}

#[tokio::test]
async fn no_secret_stands_in_what_is_recorded() {
    let server = Server::start(|mut stream| {
        let head = super::web::read_head(&mut stream).replace("\r\n", "|");
        let _ =
            std::io::Write::write_fmt(&mut stream, format_args!("HTTP/1.1 200 OK\r\nx-echo: {head}\r\ncontent-length: {}\r\n\r\n{head}", head.len()));
    });
    let mut retold = Retold::new(&server, "secret", json!([{"get": server.url("/v1/a")}, {"ask": "q"}]));
    let slot = Slot::Header("authorization".into());
    retold.held.http[0].secret = Some(Secret { name: "WEATHER_KEY".into(), source: Source::Env, slot, format: "Bearer {}".into() });
    let paused = retold.attempt().await;
    let Kept::Response(kept) = &paused.recorded.exchanges[0].answer else { panic!("{paused:?}") };
    let body = String::from_utf8(crate::call::result::from_base64(&kept.body).unwrap()).unwrap();
    assert!(body.contains("authorization: ") && !body.contains(CANARY), "{body}");
    assert!(!serde_json::to_string(&paused.recorded).unwrap().contains(CANARY));
    assert!(text(&retold.attempt().await).contains("authorization: "));
}
