//! What a guest returns: taken within its limits, or the host's own failure in its place.

use crate::call::schema::Schema;
use crate::call::{Failure, ToolResult, kind};
use crate::capability::secret::{Secret, Slot, Source};
use crate::capability::{Held, HeldHttp};
use crate::pause::Ask;
use crate::plugin::bindings::types;
use crate::plugin::lift::{self, CHOICES_MAX, CONTEXT_BYTES_MAX, KEY_BYTES_MAX, MESSAGE_BYTES_MAX, REASON_BYTES_MAX, STATE_BYTES_MAX};
use crate::plugin::vault::{ReadSecret, SecretError, Vault};

pub const SEEDS: &[&[u8]] = &[
    b"s{\"a\":1}\0t some text\0b\x00\x01\x02",
    b"fdenied\0no such file with canary-0123456789\0",
    b"s{\"canary-0123456789\":[\"canary%2D0123456789\", \"Y2FuYXJ5LTAxMjM0NTY3ODk=\"]}\0tcanary-0123456789\0",
    b"pcanary-0123456789\0canary-0123456789?\0{\"canary-0123456789\":1}\0ccanary-0123456789\0",
    b"pcolor\0Which one?\0{\"a\":[1]}\0c red\0 blue\0",
    b"pform\0Fill it in\0null\0f{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}\0",
    b"pother\0Look\0{}\0ovendor:map\0{\"type\":\"string\"}\0",
    // What is wrong with these is told in words that hold the secret.
    b"pkey\0why\0{\"canary-0123456789\":1,\"canary-0123456789\":2}\0t\0",
    b"pkey\0why\0null\0canary-0123456789\0canary-0123456789\0canary-0123456789\0",
    b"pkey\0why\0null\0ccanary-0123456789\0ccanary-0123456789\0",
    b"s{\"canary-0123456789\":1,\"canary-0123456789\":2}\0",
];

/// A secret that the plugin may have seen in a server's answer.
const CANARY: &str = "canary-0123456789";

struct Canary;

impl ReadSecret for Canary {
    fn read(&self, _: &Secret) -> Result<secrecy::SecretString, SecretError> {
        Ok(CANARY.into())
    }
}

fn vault() -> Vault {
    let secret = Secret { name: "K".into(), source: Source::Env, slot: Slot::Query("k".into()), format: "{}".into() };
    let line = HeldHttp { url: "https://a.test/**".into(), methods: vec!["GET".into()], private: false, secret: Some(secret) };
    Vault::new(&Held { http: vec![line], ..Held::default() }, std::sync::Arc::new(Canary))
}

fn clean(shown: &impl std::fmt::Debug) {
    let shown = format!("{shown:?}");
    assert!(!shown.contains(CANARY), "a secret came through: {shown}");
}

/// Bytes of a result, as an operator might limit them.
const OUTPUT_BYTES: u64 = 1 << 10;

/// The first byte says what was returned; parts end at a zero byte.
pub fn target(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let mut parts = rest.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
    match first {
        b's' => success(parts.collect()),
        b'f' => failed(parts.next().unwrap_or_default(), parts.next().unwrap_or_default()),
        _ => paused(parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next(), parts.collect(), rest),
    }
}

fn success(pieces: Vec<String>) {
    let size = |body: &types::Body| match body {
        types::Body::Text(text) | types::Body::Structured(text) => text.len(),
        types::Body::Blob(blob) => blob.data.len() + blob.media_type.len(),
    };
    let content = |piece: &String| {
        let body = match piece.split_at_checked(1) {
            Some(("t", text)) => types::Body::Text(text.to_owned()),
            Some(("b", data)) => types::Body::Blob(types::Blob { media_type: data.chars().take(9).collect(), data: data.as_bytes().to_vec() }),
            _ => types::Body::Structured(piece.clone()),
        };
        types::Content { body, meta: Vec::new() }
    };
    let returned: Vec<_> = pieces.iter().map(content).collect();
    let bytes: u64 = returned.iter().map(|piece| size(&piece.body) as u64).sum();
    let schema = Schema::compile(&serde_json::json!({"type": "object"})).expect("it is one");
    for schema in [None, Some(&schema)] {
        let returned = pieces.iter().map(content).collect();
        match lift::success(types::Success { content: returned, meta: Vec::new() }, schema, OUTPUT_BYTES, &vault()) {
            Ok(result) => {
                clean(&result);
                assert!(bytes <= OUTPUT_BYTES && matches!(result, ToolResult::Success { .. }));
            }
            Err(failure) => ours(&failure),
        }
    }
}

fn failed(kind: String, message: String) {
    let failure =
        lift::failure(types::Failure { kind, message, retry_after_ms: Some(1), effect: types::EffectState::Maybe, meta: Vec::new() }, &vault());
    clean(&failure);
    assert!(failure.message.len() <= MESSAGE_BYTES_MAX);
    for host in [kind::TRAPPED, kind::OUT_OF_TIME, kind::CANCELLED, kind::UNKNOWN_OUTCOME, kind::TOO_MANY_PAUSES] {
        assert_ne!(failure.kind, host, "a plugin does not speak in the host's words");
    }
}

fn paused(key: String, reason: String, context: Option<String>, parts: Vec<String>, state: &[u8]) {
    let kind = parts.first().and_then(|part| part.chars().next());
    let text = |at: usize| parts.get(at).map(|part| part.chars().skip(usize::from(at == 0)).collect::<String>()).unwrap_or_default();
    let ask = match kind {
        Some('c') => types::Ask::Choice(parts.iter().map(|part| types::Choice { value: part.clone(), label: Some(part.clone()) }).collect()),
        Some('t') => types::Ask::Text,
        Some('f') => types::Ask::Form(text(0)),
        Some('o') => types::Ask::Other(types::Question { kind: text(0), schema: text(1) }),
        _ => types::Ask::Approval,
    };
    match lift::asked(types::Pause { key, reason, context, ask, state: Some(state.to_vec()), meta: Vec::new() }, &vault()) {
        Ok(asked) => {
            clean(&(&asked.key, &asked.reason, &asked.context, &asked.ask));
            assert!(asked.key.len() <= KEY_BYTES_MAX && asked.reason.len() <= REASON_BYTES_MAX);
            assert!(asked.state.is_some_and(|state| state.len() <= STATE_BYTES_MAX));
            assert!(asked.context.is_none_or(|context| context.to_string().len() <= 6 * CONTEXT_BYTES_MAX));
            match asked.ask {
                Ask::Choice { options } => assert!((1..=CHOICES_MAX).contains(&options.len())),
                Ask::Form { schema } | Ask::Other { schema, .. } => assert!(Schema::compile(&schema).is_ok()),
                Ask::Approval | Ask::Text => {}
                Ask::Outcome => panic!("no plugin asks what became of a call"),
            }
        }
        Err(failure) => ours(&failure),
    }
}

fn ours(failure: &Failure) {
    clean(failure);
    assert!([kind::INVALID_RESULT, kind::TOO_LARGE].contains(&failure.kind.as_str()), "{failure:?}");
}
