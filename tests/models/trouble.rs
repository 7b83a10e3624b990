//! Providers that answer garbage, half a stream, HTML or nothing.

use std::sync::Mutex;
use std::time::Duration;

use pausegate::chain::message::{Message, Role};
use pausegate::model::{Entry, Patience, Reply, Request, open_with};

use super::wire::{Answer, Server, answer};

const KEY: &str = "sk-never-shown";
const HALF: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n";
const WHOLE: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello \\u00e9\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Waits that a test has time for.
pub fn patience() -> Patience {
    Patience {
        delay_base: Duration::from_millis(1),
        delay_max: Duration::from_millis(5),
        silence_max: Duration::from_secs(60),
        ..Patience::default()
    }
}

struct Outcome {
    said: Result<Reply, String>,
    heard: Vec<String>,
    asked: usize,
}

async fn ask(answers: Vec<Answer>) -> Outcome {
    ask_with(patience(), answers).await
}

async fn ask_with(patience: Patience, answers: Vec<Answer>) -> Outcome {
    let server = Server::start(answers).await;
    let env = |variable: &str| match variable {
        "OPENAI_BASE_URL" => Some(server.address.clone()),
        "OPENAI_API_KEY" => Some(KEY.to_owned()),
        _ => None,
    };
    let model = open_with("openai:gpt-x", &env, patience).unwrap();
    let heard = Mutex::new(Vec::new());
    let history = [Entry { message: Message::text(Role::User, "hello"), verbatim: None }];
    let request = Request { calls_before: 0, system: None, history: &history, tools: &[] };
    let said = model.respond(request, &|text| heard.lock().unwrap().push(text.to_owned())).await.map_err(|error| error.to_string());
    if let Err(error) = &said {
        assert!(!error.contains(KEY), "{error}");
    }
    Outcome { said, heard: heard.into_inner().unwrap(), asked: server.asked() }
}

async fn refuse(answers: Vec<Answer>, asked: usize) -> String {
    let outcome = ask(answers).await;
    assert_eq!(outcome.asked, asked);
    outcome.said.unwrap_err()
}

fn events(body: &str) -> Answer {
    answer(200, "text/event-stream", body)
}

#[tokio::test]
async fn html_in_place_of_an_answer_is_shown_and_not_asked_for_again() {
    let html = "<!DOCTYPE html>\n<html><title>Log in to the\tnetwork</title>\x1b[31m</html>";
    assert_eq!(
        refuse(vec![answer(200, "text/html", html)], 1).await,
        "OpenAI sent an answer that cannot be read: no event stream: <!DOCTYPE html> <html><title>Log in to the network</title> [31m</html>"
    );
    assert_eq!(refuse(vec![answer(502, "text/html", html)], 5).await.split_once(": ").unwrap().0, "OpenAI did not answer after 5 attempts");
}

#[tokio::test]
async fn json_in_place_of_a_stream_says_what_it_says() {
    let error = answer(200, "application/json", "{\"error\":{\"message\":\"model is loading\"}}");
    assert_eq!(refuse(vec![error], 1).await, "OpenAI sent an answer that cannot be read: an error in place of a stream: model is loading");
    assert_eq!(
        refuse(vec![events("data: {\"choices\n\ndata: [DONE]\n\n")], 1).await.split_once(" (EOF").unwrap().0,
        "OpenAI sent an answer that cannot be read: no JSON"
    );
    let other = refuse(vec![events("data: {\"hello\":1}\n\ndata: [DONE]\n\n")], 1).await;
    assert_eq!(other, "OpenAI sent an answer that cannot be read: an empty answer (finish reason `none`)");
}

#[tokio::test]
async fn half_a_stream_is_an_error_and_is_heard_once() {
    let outcome = ask(vec![events(HALF), events(WHOLE)]).await;
    assert_eq!(outcome.said.unwrap_err(), "OpenAI sent an answer that cannot be read: the stream broke off before the answer was whole");
    assert_eq!((outcome.heard, outcome.asked), (vec!["Hel".to_owned()], 1));
    let inside = ask(vec![events(&format!("{HALF}data: {{\"choices\":[{{\"del"))]).await;
    assert_eq!(inside.said.unwrap_err(), "OpenAI sent an answer that cannot be read: the stream broke off inside an event");
}

#[tokio::test]
async fn a_stream_that_breaks_before_any_text_is_asked_for_again() {
    let broken = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n".to_vec();
    let outcome = ask(vec![events(""), vec![broken], vec![], events(": hello\n\n"), events(WHOLE)]).await;
    assert_eq!((outcome.said.unwrap().text.as_str(), outcome.heard, outcome.asked), ("Hello é", vec!["Hello é".to_owned()], 5));
}

#[tokio::test]
async fn silence_ends() {
    let mut silent = events(HALF);
    silent.push(Vec::new());
    let impatient = |ms| Patience { silence_max: Duration::from_millis(ms), ..patience() };
    let error = ask_with(impatient(2000), vec![silent]).await.said.unwrap_err();
    assert!(error.starts_with("OpenAI sent an answer that cannot be read: the stream broke off: "), "{error}");
    let error = ask_with(impatient(200), vec![vec![Vec::new()]]).await.said.unwrap_err();
    assert!(error.starts_with("OpenAI did not answer after 5 attempts: ") && error.contains("timed out"), "{error}");
}

#[tokio::test]
async fn how_the_network_cuts_the_bytes_changes_nothing() {
    let whole = events(WHOLE).remove(0);
    let body = whole.len() - WHOLE.len();
    for cut in body..whole.len() {
        let outcome = ask(vec![vec![whole[..cut].to_vec(), whole[cut..].to_vec()]]).await;
        assert_eq!(outcome.said.unwrap().text, "Hello é");
    }
}

#[tokio::test]
async fn a_key_is_struck_out_of_what_the_provider_says() {
    let echo = answer(401, "application/json", &format!("{{\"error\":{{\"message\":\"bad key {KEY}\"}}}}"));
    assert_eq!(refuse(vec![echo], 1).await, "OpenAI refused the request (401): bad key [key]");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let away = b"HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_vec();
    assert_eq!(refuse(vec![vec![away]], 1).await, "OpenAI refused the request (307): Temporary Redirect");
}

#[tokio::test]
async fn nobody_there_is_said_after_all_attempts() {
    let env = |variable: &str| (variable == "OPENAI_BASE_URL").then(|| "http://user:pass-word@127.0.0.1:9/v1".to_owned());
    let model = open_with("openai:gpt-x", &env, patience()).unwrap();
    let request = Request { calls_before: 0, system: None, history: &[], tools: &[] };
    let error = model.respond(request, &|_| ()).await.unwrap_err().to_string();
    assert!(error.starts_with("OpenAI did not answer after 5 attempts: ") && !error.contains("pass-word"), "{error}");
}

/// limit: model/remote::CALLS_MAX
#[tokio::test]
async fn an_answer_of_too_many_calls_is_no_answer() {
    let calls = |count: usize| {
        let call = |index| format!("{{\"index\":{index},\"id\":\"c{index}\",\"function\":{{\"name\":\"t\",\"arguments\":\"{{}}\"}}}}");
        let calls: Vec<_> = (0..count).map(call).collect();
        events(&format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{}]}},\"finish_reason\":\"tool_calls\"}}]}}\n\ndata: [DONE]\n\n",
            calls.join(",")
        ))
    };
    assert_eq!(ask(vec![calls(1024)]).await.said.unwrap().calls.len(), 1024);
    assert_eq!(refuse(vec![calls(1025)], 1).await, "OpenAI sent an answer that cannot be read: more than 1024 tool calls");
}

/// limit: model/remote::RESPONSE_BYTES_MAX
#[tokio::test]
async fn an_answer_without_end_is_no_answer() {
    let comment = format!(": {}\n\n", "x".repeat(1 << 20));
    assert_eq!(ask(vec![events(&(comment.repeat(31) + WHOLE))]).await.said.unwrap().text, "Hello é");
    let over = refuse(vec![events(&(comment.repeat(32) + WHOLE))], 1).await;
    assert_eq!(over, "OpenAI sent an answer that cannot be read: an answer of more than 33554432 bytes");
}
