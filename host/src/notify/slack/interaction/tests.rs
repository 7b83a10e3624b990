use super::*;
use crate::capability::secret::{Slot, Source};
use crate::capability::{Grants, People, Rule, Verdict};
use crate::pause::{Pause, PauseStatus};
use crate::plugin::SecretError;
use crate::runner::Host;
use crate::runner::tests::twins::{World, pauses, rule, say, turn};

const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";

struct Kept;

impl ReadSecret for Kept {
    fn read(&self, secret: &Secret) -> Result<SecretString, SecretError> {
        if secret.name == "SLACK_SIGNING" { Ok(SecretString::from(SECRET)) } else { Err(SecretError::Missing) }
    }
}

fn secret(name: &str) -> Secret {
    Secret { name: name.into(), source: Source::Env, slot: Slot::Header(String::new()), format: "{}".into() }
}

fn interactions(host: &Host) -> Interactions {
    let signing_secrets = vec![secret("MISSING"), secret("SLACK_SIGNING")];
    Interactions { host: host.clone(), signing_secrets, secrets: Arc::new(Kept), resolver: Arc::new(SystemResolver) }
}

/// Alice has a Slack id; the others of the workspace have no line.
async fn paused(rules: Vec<Rule>) -> (World, Pause) {
    let people = People([("alice".to_owned(), vec![Actor("os:alice@host".into()), Actor("slack:U1".into())])].into());
    let world = World::new(serde_json::json!([turn(&["ok"]), say("done")])).restarted(Grants { rules, people, ..Grants::default() });
    let state = world.run().await.state;
    let pause = pauses(&state)[0].clone();
    (world, pause)
}

fn body(user: &str, action: &str, value: &str) -> String {
    let payload = json!({
        "type": "block_actions",
        "user": {"id": user, "username": "os:boss@host", "name": "boss"},
        "response_url": "https://hooks.slack.com/actions/T/1/x",
        "actions": [{"action_id": action, "value": value}],
    });
    url::form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish()
}

/// As Slack's documentation says it, written here again.
fn sign(timestamp: i64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(format!("v0:{timestamp}:{body}").as_bytes());
    format!("v0={}", hex::encode(mac.finalize().into_bytes()))
}

async fn click(world: &World, body: &str) -> Result<Option<Said>, NoClick> {
    let now = world.host.clock.now().as_second();
    interactions(&world.host).heard(&now.to_string(), &sign(now, body), body.as_bytes()).await
}

fn status(world: &World, pause: &Pause) -> PauseStatus {
    world.journal.state(&chain(world, pause)).pause(&pause.id).unwrap().status
}

fn chain(world: &World, pause: &Pause) -> crate::chain::ChainId {
    let found = futures_util::FutureExt::now_or_never(crate::journal::Journal::find_pause(&world.journal, &pause.id.0));
    found.expect("twins wait for nothing").unwrap().0
}

/// The example of Slack's documentation.
#[test]
fn a_signature_is_checked_as_slack_makes_it() {
    let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&\
                user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2F\
                commands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    let secret = SecretString::from("8f742231b10e8888abcd99yyyzzz85a5");
    let signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
    let at = |second| Timestamp::from_second(second).unwrap();
    let holds = |signature: &str, body: &str, second| is_signed(&secret, "1531420618", signature, body.as_bytes(), at(second));
    assert!(holds(signature, body, 1_531_420_618));
    assert!(holds(signature, body, 1_531_420_618 + 300) && holds(signature, body, 1_531_420_618 - 300));
    assert!(!holds(signature, body, 1_531_420_618 + 301) && !holds(signature, body, 1_531_420_618 - 301), "too old, or from the future");
    assert!(!holds(signature, &body.replace("text=", "text=x"), 1_531_420_618));
    for other in ["", "v0=", "v0=zz", &signature.replace("v0=a2", "v0=a3"), &signature.replace("v0=", "v1="), &signature[..20]] {
        assert!(!holds(other, body, 1_531_420_618), "{other}");
    }
}

#[tokio::test]
async fn a_click_of_somebody_whom_the_operator_knows_decides_what_was_shown() {
    let (world, pause) = paused(vec![rule("t__ok", Verdict::Ask)]).await;
    let said = click(&world, &body("U1", "approve", &format!("{} {}", pause.id, pause.digest))).await.unwrap().unwrap();
    assert_eq!((said.text, status(&world, &pause)), (format!("{}: approve by slack:U1.", pause.id), PauseStatus::Approved));
    // Slack sends again what it thinks was not heard; another answer comes too late.
    let again = click(&world, &body("U1", "approve", &format!("{} {}", pause.id, pause.digest))).await.unwrap().unwrap();
    assert!(again.text.contains("approve by slack:U1"), "{again:?}");
    let late = click(&world, &body("U1", "deny", &format!("{} {}", pause.id, pause.digest))).await.unwrap().unwrap();
    assert!(late.text.starts_with("Not decided"), "{late:?}");
    assert_eq!(status(&world, &pause), PauseStatus::Approved);
}

#[tokio::test]
async fn nobody_else_decides_by_clicking_and_nothing_that_changed_is_decided() {
    let boss = Rule { approvers: vec![Actor("os:boss@host".into())], ..rule("t__ok", Verdict::Ask) };
    for (rules, user, digest, told) in [
        (vec![rule("t__ok", Verdict::Ask)], "U2", None, "joins nobody to slack:U2"),
        (vec![boss], "U1", None, "Not decided"),
        (vec![rule("t__ok", Verdict::Ask)], "U1", Some(Digest::of_bytes(b"other")), "Not decided"),
    ] {
        let (world, pause) = paused(rules).await;
        let digest = digest.unwrap_or_else(|| pause.digest.clone());
        let said = click(&world, &body(user, "approve", &format!("{} {digest}", pause.id))).await.unwrap().unwrap();
        assert!(said.text.contains(told), "{said:?}");
        assert_eq!(status(&world, &pause), PauseStatus::Open);
    }
}

#[tokio::test]
async fn what_is_not_signed_or_was_not_offered_is_refused_and_changes_nothing() {
    let (world, pause) = paused(vec![rule("t__ok", Verdict::Ask)]).await;
    let value = format!("{} {}", pause.id, pause.digest);
    let good = body("U1", "approve", &value);
    let now = world.host.clock.now().as_second();
    let heard = async |timestamp: i64, signature: &str| interactions(&world.host).heard(&timestamp.to_string(), signature, good.as_bytes()).await;
    assert_eq!(heard(now, "").await, Err(NoClick::Unsigned));
    assert_eq!(heard(now, &sign(now, "another body")).await, Err(NoClick::Unsigned));
    assert_eq!(heard(now - 301, &sign(now - 301, &good)).await, Err(NoClick::Unsigned), "a replay");
    assert_eq!(heard(now - 1, &sign(now, &good)).await, Err(NoClick::Unsigned));
    for malformed in [
        String::new(),
        "payload=".to_owned(),
        "payload={}".to_owned(),
        good.replace("block_actions", "view_submission"),
        body("", "approve", &value),
        body("U1%20", "approve", &value),
        body("U1", "settle", &value),
        body("U1", "approve", &pause.id.0),
        body("U1", "approve", &format!("{} sha256:00", pause.id)),
    ] {
        assert_eq!(click(&world, &malformed).await, Err(NoClick::Malformed), "{malformed}");
    }
    assert_eq!(click(&world, &body("U1", "look", "")).await, Ok(None));
    assert_eq!(status(&world, &pause), PauseStatus::Open);
    let headers = HeaderMap::new();
    let answer = hear(State(Arc::new(interactions(&world.host))), headers, Bytes::from(good)).await;
    assert_eq!(answer, StatusCode::UNAUTHORIZED);
}

#[test]
fn answers_go_to_slack_and_nowhere_else() {
    for (url, there) in [
        ("https://hooks.slack.com/actions/T/1/x", true),
        ("http://hooks.slack.com/actions", false),
        ("https://hooks.slack.com.evil.test/", false),
        ("https://169.254.169.254/", false),
        ("https://hooks.slack.com:8443/", false),
    ] {
        let payload = json!({"type": "block_actions", "user": {"id": "U1"}, "response_url": url, "actions": [{"action_id": "look"}]});
        let body = url::form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish();
        assert_eq!(Click::read(body.as_bytes()).unwrap().answer_to.is_some(), there, "{url}");
    }
}
