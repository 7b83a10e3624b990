use std::net::IpAddr;
use std::sync::Mutex;

use futures_util::future::BoxFuture;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::capability::Secret;
use crate::capability::secret::{Slot, Source};
use crate::chain::{Actor, ChainId};
use crate::event::Event;
use crate::journal::SqliteJournal;
use crate::journal::tests::sample::{Chain, key, pause, turn};
use crate::notice::{Asked, Happening, Topic};
use crate::pause::{PauseId, PauseKind};
use crate::plugin::SecretError;

#[cfg(feature = "email")]
mod email;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const HOSTILE: &str = "pay\u{202e}txt.exe \x1b[2J\x1b]8;;http://evil\x07 <!channel> <http://evil|click> \u{9b}2J\u{200b}";

struct Kept;

impl ReadSecret for Kept {
    fn read(&self, _: &Secret) -> Result<SecretString, SecretError> {
        Ok(SecretString::from(SECRET))
    }
}

/// Names of the tests' own: some lead to this machine.
struct Names;

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        let addresses: Vec<IpAddr> = match host {
            "metadata.test" => vec!["169.254.169.254".parse().unwrap()],
            "rebind.test" => vec!["93.184.215.14".parse().unwrap(), "127.0.0.1".parse().unwrap()],
            "mapped.test" => vec!["::ffff:10.0.0.1".parse().unwrap()],
            "hooks.test" | "api.test" | "localhost" => vec!["127.0.0.1".parse().unwrap()],
            _ => Vec::new(),
        };
        Box::pin(async move { Ok(addresses) })
    }
}

fn secret(name: &str) -> Secret {
    Secret { name: name.into(), source: Source::Env, slot: Slot::Header(String::new()), format: "{}".into() }
}

/// A receiver that answers with these statuses, one after the other, and keeps what it got.
struct Heard {
    port: u16,
    got: Arc<Mutex<Vec<String>>>,
}

impl Heard {
    async fn answering(statuses: &'static [&'static str]) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, got) = (listener.local_addr().unwrap().port(), Arc::new(Mutex::new(Vec::new())));
        let kept = got.clone();
        tokio::spawn(async move {
            for status in statuses {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut bytes = Vec::new();
                while !whole(&bytes) {
                    assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "the request is cut");
                }
                kept.lock().unwrap().push(String::from_utf8(bytes).unwrap());
                let answer = format!("HTTP/1.1 {status}\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self { port, got }
    }

    fn got(&self) -> Vec<String> {
        self.got.lock().unwrap().clone()
    }
}

fn whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(|length| length.parse::<usize>().unwrap()));
    body.len() >= length.unwrap_or(0)
}

fn header<'r>(request: &'r str, name: &str) -> &'r str {
    request.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).unwrap_or_default()
}

fn body(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

struct World {
    folder: tempfile::TempDir,
    told: Arc<Mutex<Vec<String>>>,
    channel: Channel,
}

impl World {
    fn webhook(url: &str, private: bool) -> Self {
        let to = To { url: Address::Plain(url.parse().unwrap()), private };
        Self::to(Receiver::Webhook { to, secret: secret("HOOK") })
    }

    fn to(to: Receiver) -> Self {
        let channel = Channel { name: "ops".into(), hears: vec![Topic::Pause, Topic::Ended], details: true, to };
        Self { folder: tempfile::tempdir().unwrap(), told: Arc::default(), channel }
    }

    /// The journal and a deliverer as another process has them, so many seconds later.
    fn at(&self, seconds: i64) -> Delivery {
        let clock = Clock::fixed(jiff::Timestamp::from_second(1_767_323_045 + seconds).unwrap());
        let audience = crate::config::notify::audience(std::slice::from_ref(&self.channel));
        let journal = SqliteJournal::open(&self.folder.path().join("journal.db"), clock.clone()).unwrap().telling(audience);
        let told = self.told.clone();
        Delivery {
            journal: Arc::new(journal),
            channels: Arc::new([self.channel.clone()]),
            base_url: Some("https://gate.example/".parse().unwrap()),
            clock,
            secrets: Arc::new(Kept),
            resolver: Arc::new(Names),
            tell: Arc::new(move |line| told.lock().unwrap().push(line.to_owned())),
        }
    }

    async fn asked(&self) {
        let delivery = self.at(0);
        let mut chain = Chain::started(&*delivery.journal, "ch_1").await;
        let mut pause = pause("pa_1", key(1, 0));
        pause.reason = HOSTILE.to_owned();
        pause.arguments = json!({"path": HOSTILE}).into();
        chain.write(&*delivery.journal, vec![turn(1, 1), Event::pause_opened(pause)]).await.unwrap();
    }

    async fn deliver(&self, seconds: i64) {
        self.at(seconds).deliver_due(Duration::from_secs(60)).await;
    }

    async fn left(&self) -> Vec<crate::journal::outbox::Queued> {
        self.at(0).journal.notices(10).await.unwrap()
    }
}

#[tokio::test]
async fn h68_a_receiver_that_was_down_gets_everything_once_it_is_back_under_one_id() {
    let heard = Heard::answering(&["503 Service Unavailable", "500 Oh", "204 No Content"]).await;
    let world = World::webhook(&format!("http://hooks.test:{}/in?x=s3cret", heard.port), true);
    world.asked().await;
    // Not again before its time, and less often with each try.
    for (seconds, tries) in [(0, 1), (4, 1), (7, 2), (15, 2), (21, 3), (9999, 3)] {
        world.deliver(seconds).await;
        assert_eq!(heard.got().len(), tries, "after {seconds} s");
    }
    assert_eq!(world.left().await, []);
    let got = heard.got();
    let ids: Vec<_> = got.iter().map(|request| header(request, "webhook-id").to_owned()).collect();
    assert!(ids[0].starts_with("no_") && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    for request in &got {
        let text = request.split_once("\r\n\r\n").unwrap().1;
        let now = jiff::Timestamp::from_second(header(request, "webhook-timestamp").parse().unwrap()).unwrap();
        let signed = webhook::signed(&SecretString::from(SECRET), &ids[0], now, text).unwrap();
        assert_eq!(header(request, "webhook-signature"), signed["webhook-signature"]);
        assert!(body(request)["id"] == ids[0] && body(request)["type"] == "pause.opened");
    }
    let told = world.told.lock().unwrap().join("\n");
    assert!(told.contains("hooks.test: answered 503") && !told.contains("s3cret"), "{told}");
}

#[tokio::test]
async fn h68_addresses_of_this_machine_and_its_network_are_refused_unless_the_channel_says_otherwise() {
    for url in [
        "https://127.0.0.1/",
        "https://localhost/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://2130706433/",
        "https://169.254.169.254/latest/meta-data",
        "https://metadata.test/",
        "https://rebind.test/",
        "https://mapped.test/",
    ] {
        let world = World::webhook(url, false);
        world.asked().await;
        world.deliver(0).await;
        let why = world.left().await[0].why.clone().unwrap();
        assert!(why.ends_with("is an address of this machine or its network; `private = true` in its channel allows that"), "{url}: {why}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_what_is_gone_is_parked() {
    let heard = Heard::answering(&["302 Found", "410 Gone"]).await;
    let world = World::webhook(&format!("http://127.0.0.1:{}/", heard.port), true);
    world.asked().await;
    world.deliver(0).await;
    assert_eq!(world.left().await[0].why.as_deref(), Some("127.0.0.1: answered 302 Found"));
    world.deliver(10).await;
    let left = world.left().await;
    assert!(left[0].parked && left[0].why.as_deref() == Some("127.0.0.1: answered 410 Gone"), "{left:?}");
}

#[tokio::test]
async fn h68_what_nobody_takes_is_parked_in_the_end() {
    let world = World::webhook("https://nowhere.test/", true);
    world.asked().await;
    let mut seconds = 0;
    for _ in 0..TRIES_MAX {
        world.deliver(seconds).await;
        seconds += 2 * 3600;
    }
    let left = world.left().await;
    assert!(left[0].parked && left[0].tries == TRIES_MAX, "{left:?}");
    let waited: Duration = (1..TRIES_MAX).map(|tries| wait("no_1", tries)).sum();
    assert!(waited > Duration::from_secs(36 * 3600) && (1..200).all(|tries| wait("no_1", tries) <= AGAIN_MAX.mul_f64(1.25)), "{waited:?}");
}

#[tokio::test]
async fn a_pause_that_nobody_can_decide_any_more_is_not_reminded_of() {
    let heard = Heard::answering(&["200 OK", "200 OK"]).await;
    let world = World::webhook(&format!("http://127.0.0.1:{}/", heard.port), true);
    let delivery = world.at(0);
    let mut chain = Chain::started(&*delivery.journal, "ch_1").await;
    let mut pause = pause("pa_1", key(1, 0));
    (pause.requirements.remind_seconds, pause.requirements.expires_seconds) = (Some(60), Some(100));
    chain.write(&*delivery.journal, vec![turn(1, 1), Event::pause_opened(pause)]).await.unwrap();
    let mut told = Vec::new();
    for seconds in [0, 61, 122, 183] {
        world.deliver(seconds).await;
        told.push(heard.got().len());
    }
    assert_eq!(told, [1, 2, 2, 2]);
    assert_eq!(body(&heard.got()[1])["type"], "pause.reminder");
}

#[tokio::test]
async fn h68_what_was_claimed_by_a_process_that_died_is_delivered_by_another() {
    let heard = Heard::answering(&["200 OK"]).await;
    let world = World::webhook(&format!("http://127.0.0.1:{}/", heard.port), true);
    world.asked().await;
    let dead = world.at(0).journal.claim_notices(&["ops".to_owned()], HOLD).await.unwrap();
    world.deliver(59).await;
    assert_eq!((dead.len(), heard.got().len()), (1, 0));
    world.deliver(61).await;
    assert_eq!((heard.got().len(), world.left().await.len()), (1, 0));
}

#[tokio::test]
async fn h59_h61_foreign_words_reach_no_receiver_as_they_stand() {
    let heard = Heard::answering(&["200 OK", "200 OK"]).await;
    let to = |url: &str| To { url: Address::Plain(url.parse().unwrap()), private: true };
    let root = format!("http://127.0.0.1:{}/", heard.port);
    let ntfy = Receiver::Ntfy { to: to(&format!("{root}topic")), token: Some(secret("NTFY")) };
    for receiver in [Receiver::Slack { to: to(&root), signing_secret: Some(secret("S")) }, ntfy] {
        let world = World::to(receiver);
        world.asked().await;
        world.deliver(0).await;
        assert_eq!(world.left().await, []);
    }
    let got = heard.got();
    assert!(header(&got[1], "authorization") == format!("Bearer {SECRET}") && got[1].starts_with("POST / "), "{}", got[1]);
    assert_eq!(body(&got[1])["topic"], "topic");
    assert_eq!(body(&got[1])["click"], "https://gate.example/pauses/pa_1");
    for request in &got {
        let mut texts = Vec::new();
        strings(&body(request), &mut texts);
        let odd: Vec<_> = texts.iter().filter(|text| text.chars().any(|c| c != '\n' && crate::report::escape::is_invisible(c))).collect();
        assert_eq!(odd, Vec::<&String>::new());
    }
    // What Slack would read marks in is its fallback alone; everything else is plain text.
    let slack = body(&got[0]);
    assert_eq!(slack["text"], "files__delete waits for an approval");
    let kinds: Vec<_> = slack["blocks"].as_array().unwrap().iter().filter_map(|block| block["text"]["type"].as_str()).collect();
    assert!(kinds.len() > 3 && kinds.iter().all(|kind| *kind == "plain_text"), "{slack}");
}

fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(items) => items.values().for_each(|item| strings(item, found)),
        _ => {}
    }
}

fn facts() -> Facts {
    let asked = Asked {
        id: PauseId("pa_1".into()),
        kind: PauseKind::Gate,
        tool: "files__delete".into(),
        plugin: "files".into(),
        arguments: r#"{"path":"/a"}"#.into(),
        reason: "may I?".into(),
        asks: "approval".into(),
        opens: vec!["fs write /a".into()],
        whole: true,
        approvers: "alice".into(),
        digest: Digest::of_bytes(b"shown"),
        opened_at: jiff::Timestamp::UNIX_EPOCH,
        expires_at: None,
        escalated_to: Vec::new(),
    };
    Facts {
        what: Happening::PauseOpened,
        at: jiff::Timestamp::UNIX_EPOCH,
        chain: ChainId("ch_1".into()),
        seq: 3,
        title: "clean up".into(),
        started_by: Actor("os:alice@host".into()),
        pause: Some(asked),
        decided: None,
        why: None,
    }
}

fn buttons(facts: &Facts, details: bool, answers: bool) -> Vec<String> {
    let message = Message { id: "no_1".into(), facts, details, base_url: None };
    let blocks = slack::message(&message, answers)["blocks"].clone();
    let actions = blocks.as_array().unwrap().iter().filter_map(|block| block["elements"].as_array()).flatten();
    actions.map(|button| format!("{} {}", button["action_id"].as_str().unwrap(), button["value"].as_str().unwrap())).collect()
}

#[test]
fn buttons_are_offered_only_where_the_message_shows_all_that_they_would_approve() {
    let shown = Digest::of_bytes(b"shown");
    assert_eq!(buttons(&facts(), true, true), [format!("approve pa_1 {shown}"), format!("deny pa_1 {shown}")]);
    assert_eq!(buttons(&facts(), true, false), Vec::<String>::new(), "what comes back could not be checked");
    assert_eq!(buttons(&facts(), false, true), Vec::<String>::new(), "the message shows nothing of it");
    let with = |change: fn(&mut Asked)| {
        let mut facts = facts();
        change(facts.pause.as_mut().unwrap());
        buttons(&facts, true, true)
    };
    assert_eq!(with(|asked| asked.whole = false), Vec::<String>::new());
    assert_eq!(with(|asked| asked.asks = "choice".into()), Vec::<String>::new());
    assert_eq!(with(|asked| asked.reason = "\u{202e}".repeat(600)), Vec::<String>::new(), "escaped, it is cut");
}

#[test]
fn without_details_a_message_says_that_something_waits_and_not_what() {
    let facts = Facts { why: Some("secret words".into()), title: "secret words".into(), ..facts() };
    let message = Message { id: "no_1".into(), facts: &facts, details: false, base_url: None };
    let (ntfy, json) = (message.ntfy(&"https://ntfy.example/x".parse().unwrap()).unwrap().1.to_string(), message.json().to_string());
    for text in [ntfy, json, slack::message(&message, true).to_string()] {
        assert!(!text.contains("secret words") && !text.contains("/a") && !text.contains("may I"), "{text}");
        assert!(text.contains("pa_1") && text.contains("files__delete"), "{text}");
    }
    assert!(message.ntfy(&"https://ntfy.example/".parse().unwrap()).is_err(), "no topic");
}

#[test]
fn h68_the_payload_is_what_the_page_on_it_says() {
    let facts = facts();
    let url = "https://gate.example/".parse().unwrap();
    let message = Message { id: "no_1".into(), facts: &facts, details: true, base_url: Some(&url) };
    insta::assert_snapshot!(serde_json::to_string_pretty(&message.json()).unwrap(), @r#"
    {
      "id": "no_1",
      "type": "pause.opened",
      "timestamp": "1970-01-01T00:00:00Z",
      "data": {
        "chain": "ch_1",
        "seq": 3,
        "started_by": "os:alice@host",
        "title": "clean up",
        "pause": {
          "id": "pa_1",
          "kind": "gate",
          "tool": "files__delete",
          "plugin": "files",
          "asks": "approval",
          "digest": "sha256:baaf53622a51d975235f276287bdc1b64aa4640c77142cbca076877d9eac6815",
          "approvers": "alice",
          "opened_at": "1970-01-01T00:00:00Z",
          "expires_at": null,
          "escalated_to": [],
          "arguments": "{\"path\":\"/a\"}",
          "reason": "may I?",
          "opens": [
            "fs write /a"
          ]
        },
        "link": "https://gate.example/pauses/pa_1"
      }
    }
    "#);
}
