//! A chain of two turns that the command carries on with every provider's own format, and what the provider saw of it.

use std::sync::{Arc, Mutex};

use pausegate::chain::message::{Message, Role};
use pausegate::model::{Entry, Model, ModelError, Reply, Request, open_with};
use serde_json::{Value, json};

use super::aimock::Aimock;
use super::trouble::patience;
use crate::e2e::{Shown, TestEnvironment};

/// Model, variable with its address, what follows the address in it.
pub const PROVIDERS: &[(&str, &str, &str)] = &[
    ("openai:gpt-x", "OPENAI_BASE_URL", "/v1"),
    ("anthropic:claude-x", "ANTHROPIC_BASE_URL", ""),
    ("openai-responses:gpt-x", "OPENAI_BASE_URL", "/v1"),
    ("gemini:gemini-x", "GEMINI_BASE_URL", "/v1beta"),
    ("ollama:llama-x", "OLLAMA_HOST", ""),
];

fn open(server: &Aimock, (name, variable, path): (&str, &str, &str)) -> Arc<dyn Model> {
    let env = |asked: &str| match asked {
        _ if asked == variable => Some(format!("{}{path}", server.address)),
        _ if asked.ends_with("_API_KEY") => Some("sk-test".to_owned()),
        _ => None,
    };
    open_with(name, &env, patience()).unwrap()
}

fn user(text: &str) -> Entry {
    Entry { message: Message::text(Role::User, text), verbatim: None }
}

async fn say(model: &Arc<dyn Model>, history: &[Entry], heard: &Mutex<String>) -> Result<Reply, ModelError> {
    let request = Request { calls_before: 0, system: Some("Be brief."), history, tools: &[] };
    model.respond(request, &|text| heard.lock().unwrap().push_str(text)).await
}

fn two_turns(calls: Value) -> Value {
    json!({"fixtures": [
        {"match": {"userMessage": "list both", "hasToolResult": false}, "response": {"content": "Looking at both folders, one after the other.", "toolCalls": calls}},
        {"match": {"userMessage": "list both", "hasToolResult": true}, "response": {"content": "Both are listed."}},
    ]})
}

/// The command itself with a provider at `address`.
pub fn pausegate(env: &TestEnvironment, (_, variable, path): (&str, &str, &str), address: &str, args: &[&str]) -> Shown {
    let mut command = env.command();
    command.env(variable, format!("{address}{path}"));
    ["OPENAI", "ANTHROPIC", "GEMINI"].iter().for_each(|provider| _ = command.env(format!("{provider}_API_KEY"), "sk-test-0123456789"));
    let output = command.args(args).output().unwrap();
    env.shown(args, &output)
}

/// The command carries both turns on; gives the ids of its calls and the second request as the provider saw it.
async fn run(provider: (&str, &str, &str), calls: Value) -> (TestEnvironment, Vec<String>, Value) {
    let server = Aimock::start(&two_turns(calls));
    let env = TestEnvironment::new();
    ["a", "b"].iter().for_each(|folder| env.write(&format!("work/build/{folder}/in-{folder}"), ""));
    let args = ["run", "list both", "--model", provider.0, "--system", "Be brief.", "--only", "files__list"];
    let ran = pausegate(&env, provider, &server.address, &args);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Both are listed.\n"), "{ran}");
    let chain = env.pausegate(&["inspect", &env.chains()[0], "--json"]).json();
    let calls = chain["calls"].as_array().unwrap();
    let asked: Vec<_> = calls.iter().map(|call| (call["tool"].as_str().unwrap(), call["arguments"].to_string())).collect();
    assert_eq!(asked, [("files__list", r#"{"path":"/build/b"}"#.to_owned()), ("files__list", r#"{"path":"/build/a"}"#.to_owned())]);
    let ids = calls.iter().map(|call| call["id"].as_str().unwrap().to_owned()).collect();
    let mut journal = server.journal().await;
    assert_eq!(journal.len(), 2);
    (env, ids, journal.remove(1)["body"].take())
}

/// A request in aimock's journal, which tells every format in OpenAI's words.
struct Seen {
    /// Repeated ones once.
    roles: Vec<String>,
    call_ids: Vec<String>,
    result_ids: Vec<String>,
    results: Vec<String>,
}

impl Seen {
    fn of(model: &str, body: &Value) -> Self {
        let messages = body["messages"].as_array().unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut roles: Vec<_> = messages.iter().map(|message| text(&message["role"])).collect();
        roles.dedup();
        let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
        let results: Vec<_> = messages.iter().filter(|message| message["role"] == "tool").collect();
        let result = |message: &&Value| match model.starts_with("gemini") {
            true => text(&serde_json::from_str::<Value>(message["content"].as_str().unwrap()).unwrap()["output"]),
            false => text(&message["content"]),
        };
        Self {
            roles,
            call_ids: calls.map(|call| text(&call["id"])).collect(),
            result_ids: results.iter().map(|message| text(&message["tool_call_id"])).collect(),
            results: results.iter().map(result).collect(),
        }
    }

    /// Calls and results name each other by our ids; Ollama's format has none and goes by the order.
    fn check_ids(&self, model: &str, ids: &[String]) {
        if !model.starts_with("ollama") {
            assert_eq!((&self.call_ids[..], &self.result_ids[..]), (ids, ids), "{model}");
        }
    }
}

#[tokio::test]
async fn every_provider_sees_real_schemas_and_one_result_per_call_in_the_order_asked() {
    for provider in PROVIDERS {
        let (env, ids, body) = run(
            *provider,
            json!([
                {"id": "call_b", "name": "files__list", "arguments": {"path": "/build/b"}},
                {"id": "call_a", "name": "files__list", "arguments": {"path": "/build/a"}},
            ]),
        )
        .await;
        let function = &body["tools"][0]["function"];
        let tools = env.pausegate(&["tools", "--json"]).json();
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "files__list").unwrap();
        assert_eq!((&function["name"], &function["description"]), (&tool["name"], &tool["description"]), "{provider:?}");
        // aimock drops Gemini's `parametersJsonSchema` from its journal; a unit test of the adapter looks at it.
        if provider.0 != "gemini:gemini-x" {
            assert_eq!(function["parameters"], tool["input_schema"], "{provider:?}");
        }
        let seen = Seen::of(provider.0, &body);
        assert_eq!(seen.roles, ["system", "user", "assistant", "tool"], "{provider:?}");
        assert_eq!(body["messages"][0]["content"], "Be brief.", "{provider:?}");
        assert_eq!(seen.results, ["in-b", "in-a"], "{provider:?}");
        seen.check_ids(provider.0, &ids);
    }
}

#[tokio::test]
async fn calls_with_one_id_keep_their_own_results() {
    for provider in PROVIDERS {
        let (_, ids, body) = run(
            *provider,
            json!([
                {"id": "same", "name": "files__list", "arguments": {"path": "/build/b"}},
                {"id": "same", "name": "files__list", "arguments": {"path": "/build/a"}},
            ]),
        )
        .await;
        let seen = Seen::of(provider.0, &body);
        assert_eq!(seen.results, ["in-b", "in-a"], "{provider:?}");
        seen.check_ids(provider.0, &ids);
        assert_ne!(ids[0], ids[1]);
    }
}

#[tokio::test]
async fn busy_is_waited_out_as_long_as_the_provider_says() {
    for provider in PROVIDERS {
        let server = Aimock::start(&json!({"fixtures": [
            {"match": {"userMessage": "hello", "sequenceIndex": 0}, "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429, "retryAfter": 1}},
            {"match": {"userMessage": "hello"}, "response": {"content": "Here now."}},
        ]}));
        let began = std::time::Instant::now();
        let heard = Mutex::new(String::new());
        let reply = say(&open(&server, *provider), &[user("hello")], &heard).await.unwrap();
        assert_eq!((reply.text.as_str(), heard.lock().unwrap().as_str()), ("Here now.", "Here now."), "{provider:?}");
        assert!(began.elapsed() >= std::time::Duration::from_secs(1), "{provider:?}");
    }
}

#[tokio::test]
async fn what_a_provider_cannot_answer_is_an_error_that_says_why() {
    let error = |status: u16, kind: &str| json!({"error": {"message": "the reason", "type": kind, "code": kind}, "status": status});
    let server = Aimock::start(&json!({"fixtures": [
        {"match": {"userMessage": "overloaded"}, "response": error(529, "overloaded_error")},
        {"match": {"userMessage": "wrong"}, "response": error(400, "invalid_request_error")},
        {"match": {"userMessage": "locked"}, "response": error(401, "authentication_error")},
        {"match": {"userMessage": "garbage"}, "response": {"content": "x"}, "chaos": {"malformedRate": 1}},
        {"match": {"userMessage": "cut"}, "response": {"content": "This is cut off. ".repeat(40)}, "truncateAfterChunks": 20, "latency": 30},
    ]}));
    for provider in PROVIDERS {
        let model = open(&server, *provider);
        let heard = Mutex::new(String::new());
        let mut asked = server.journal().await.len();
        for (prompt, attempts, expected) in [
            ("overloaded", 5, "did not answer after 5 attempts: 529: the reason"),
            ("wrong", 1, "refused the request (400): the reason"),
            ("locked", 1, "refused the request (401): the reason"),
            ("garbage", 1, "sent an answer that cannot be read: no"),
            ("cut", 1, "sent an answer that cannot be read: the stream broke off"),
        ] {
            let error = say(&model, &[user(prompt)], &heard).await.unwrap_err().to_string();
            let (_, message) = error.split_once(' ').unwrap();
            assert!(message.starts_with(expected), "{provider:?}: {error}");
            let now = server.journal().await.len();
            assert_eq!(now - asked, attempts, "{provider:?} {prompt}");
            asked = now;
        }
        assert!(heard.lock().unwrap().starts_with("This is cut"), "{provider:?}");
    }
}
