//! Who outside is told: by webhooks that other programs verify, by commands, after a crash, and once a receiver is back.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::TestEnvironment;
use crate::smtp::{MailServer, opened};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// With Python's own hmac, over what came in.
const VERIFY: &str = r#"
import base64, hashlib, hmac, sys
secret, identity, timestamp, signature = sys.argv[1:5]
key = base64.b64decode(secret.removeprefix("whsec_"))
signed = hmac.new(key, f"{identity}.{timestamp}.".encode() + sys.stdin.buffer.read(), hashlib.sha256).digest()
sys.exit(0 if signature == "v1," + base64.b64encode(signed).decode() else 1)
"#;

/// A chain that waits for two approvals, told to `receiver` by a webhook.
fn telling(env: &TestEnvironment, port: u16) {
    env.write(
        "home/.config/pausegate/config.toml",
        &format!(
            "base_url = \"https://gate.example\"\n[[notify]]\nname = \"ops\"\nkind = \"webhook\"\nurl = \"http://127.0.0.1:{port}/in\"\n\
             private = true\nsecret = {{ source = \"file\", path = \"hook.key\" }}\non = [\"pause\", \"decided\", \"blocked\", \"ended\"]\n"
        ),
    );
    env.write("home/.config/pausegate/hook.key", SECRET);
    env.script_of_the_main_job();
}

struct Request {
    head: String,
    body: String,
}

impl Request {
    /// Takes one, keeps it, and only then answers: whoever has the answer knows that it is kept.
    fn take(mut stream: TcpStream, keep: impl FnOnce(Self)) {
        keep(Self::read(&mut stream));
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    }

    fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        let (head, length) = loop {
            let mut some = [0; 4096];
            let read = stream.read(&mut some).unwrap();
            assert!(read > 0, "the request is cut");
            bytes.extend_from_slice(&some[..read]);
            let text = String::from_utf8(bytes.clone()).unwrap();
            if let Some((head, _)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse::<usize>().unwrap();
                break (head.to_owned(), length);
            }
        };
        let whole = head.len() + 4 + length;
        while bytes.len() < whole {
            let mut some = [0; 4096];
            let read = stream.read(&mut some).unwrap();
            assert!(read > 0, "the request is cut");
            bytes.extend_from_slice(&some[..read]);
        }
        Self { head, body: String::from_utf8(bytes[whole - length..].to_vec()).unwrap() }
    }

    fn header(&self, name: &str) -> &str {
        self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).unwrap_or_default()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn what(&self) -> String {
        self.json()["type"].as_str().unwrap().to_owned()
    }

    fn is_verified(&self) -> bool {
        let headers = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(|name| self.header(name));
        let mut python = Command::new("python3").arg("-c").arg(VERIFY).arg(SECRET).args(headers).stdin(Stdio::piped()).spawn().unwrap();
        python.stdin.take().unwrap().write_all(self.body.as_bytes()).unwrap();
        python.wait().unwrap().success()
    }
}

fn receive(listener: &TcpListener, count: usize) -> Vec<Request> {
    let mut got = Vec::new();
    (0..count).for_each(|_| Request::take(listener.accept().unwrap().0, |request| got.push(request)));
    got.sort_by_key(|request| (request.what(), request.body.clone()));
    got
}

#[test]
fn h68_a_webhook_is_signed_so_that_another_program_can_tell_and_holds_what_is_asked() {
    for env in [TestEnvironment::new(), TestEnvironment::on_postgres()] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        telling(&env, listener.local_addr().unwrap().port());
        let run = env.spawn(&["run", "clean up", "--model", "script:turns.json"]);
        let got = receive(&listener, 2);
        assert_eq!(run.wait_with_output().unwrap().status.code(), Some(75));
        assert!(got.iter().all(Request::is_verified), "by python's hmac");
        let asked = got[0].json();
        let pauses = env.pending();
        assert_eq!((&asked["type"], &asked["data"]["pause"]["tool"]), (&json!("pause.opened"), &json!("files__delete")));
        assert_eq!(asked["id"], got[0].header("webhook-id"));
        let id = asked["data"]["pause"]["id"].as_str().unwrap();
        assert!(pauses.iter().any(|pause| pause == id));
        assert_eq!(asked["data"]["link"], format!("https://gate.example/pauses/{id}"));
        assert!(!got[0].body.contains(SECRET), "{}", got[0].body);

        // Decided here, told by whoever works next.
        env.pausegate(&["approve", &pauses[0]]);
        env.pausegate(&["deny", &pauses[1], "--note", "keep it"]);
        let work = env.spawn(&["work", "--once"]);
        let got = receive(&listener, 3);
        assert_eq!(work.wait_with_output().unwrap().status.code(), Some(0));
        assert_eq!(got.iter().map(Request::what).collect::<Vec<_>>(), ["chain.completed", "pause.decided", "pause.decided"]);
        assert!(got.iter().any(|request| request.json()["data"]["decided"]["note"] == "keep it"));
    }
}

#[test]
fn h68_a_receiver_that_was_down_gets_everything_once_it_is_back() {
    let env = TestEnvironment::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    telling(&env, address.port());
    let run = env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
    assert_eq!((run.code, env.pending().len()), (Some(75), 2), "nobody waits for a receiver");
    assert!(run.stderr.contains("to `ops` is tried again: 127.0.0.1: cannot be reached"), "{run}");
    let doctor = env.pausegate(&["doctor"]);
    assert!(doctor.stdout.contains("2 notices to `ops` are tried again, since 127.0.0.1: cannot be reached"), "{doctor}");
    env.pausegate(&["deny", &env.pending()[0], "--stop"]);

    let listener = TcpListener::bind(address).unwrap();
    let mut worker = env.spawn(&["work"]);
    let got = receive(&listener, 5);
    let mut whats: Vec<_> = got.iter().map(Request::what).collect();
    whats.dedup();
    assert_eq!(whats, ["chain.rejected", "pause.closed", "pause.decided", "pause.opened"]);
    assert!(got.iter().all(Request::is_verified));
    let mut ids: Vec<_> = got.iter().map(|request| request.header("webhook-id").to_owned()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5, "each once");
    rustix::process::kill_process(rustix::process::Pid::from_child(&worker), rustix::process::Signal::TERM).unwrap();
    assert_eq!(worker.wait().unwrap().code(), Some(0));
    let doctor = env.pausegate(&["doctor"]);
    assert!(!doctor.stdout.contains("are tried again"), "{doctor}");
}

/// The process ends as by `kill -9` right after each of its writes; what it wrote is told by the next one.
#[test]
fn h68_a_process_that_dies_between_its_write_and_the_delivery_loses_nothing() {
    let mut seen = 0;
    for write in 1..40 {
        let env = TestEnvironment::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        telling(&env, listener.local_addr().unwrap().port());
        let mut run = env.command();
        run.args(["run", "clean up", "--model", "script:turns.json"]).env("PAUSEGATE_CRASH_AT", format!("after:{write}"));
        let ended = run.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null()).spawn().unwrap();
        let open = |env: &TestEnvironment| env.pending().len();
        let (receiving, counted) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let keep = |request: Request| drop(receiving.send(request.json()["data"]["pause"]["id"].clone()));
                Request::take(stream.unwrap(), keep);
            }
        });
        let code = ended.wait_with_output().unwrap().status.code();
        if open(&env) > 0 && code.is_none() {
            seen += 1;
            assert!(counted.try_recv().is_err(), "it died before it told");
        }
        env.pausegate(&["work", "--once"]);
        let mut told: Vec<_> = counted.try_iter().filter_map(|id| Some(id.as_str()?.to_owned())).collect();
        told.sort();
        told.dedup();
        let mut waiting = env.pending();
        waiting.sort();
        assert_eq!(told, waiting, "after write {write}");
        if code.is_some() {
            break;
        }
    }
    assert!(seen > 0, "no write was followed by a death that mattered");
}

#[test]
fn h68_a_command_is_told_as_json_without_the_keys_of_the_host() {
    let env = TestEnvironment::new();
    let script = "#!/bin/sh\n{ cat; echo; env; } > \"$1\"\n";
    env.write("home/.config/pausegate/tell", script);
    let program = env.path("home/.config/pausegate/tell");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let told = env.path("told");
    let config = format!("[[notify]]\nname = \"hook\"\nkind = \"command\"\ncommand = [\"./tell\", \"{}\"]\non = [\"ended\"]\n", told.display());
    env.write("home/.config/pausegate/config.toml", &config);
    env.script(json!([{"text": "Hello."}]));
    let mut run = env.command();
    run.args(["run", "hi", "--model", "script:turns.json"]).env("OPENAI_API_KEY", "sk-secret-of-the-host").env("PATH", "/usr/bin:/bin");
    assert_eq!(run.output().unwrap().status.code(), Some(0));
    let text = std::fs::read_to_string(told).unwrap();
    let (said, environment) = text.split_once('\n').unwrap();
    let said: Value = serde_json::from_str(said).unwrap();
    assert_eq!((&said["type"], &said["data"]["chain"]), (&json!("chain.completed"), &json!(env.chains()[0])));
    assert!(!environment.contains("sk-secret") && environment.contains("PATH=/usr/bin:/bin"), "{environment}");
}

/// From the settings file to a letter in somebody's hands, and what nobody takes given up by hand.
#[test]
fn h68_mail_tells_what_waits_and_what_cannot_be_delivered_is_listed_tried_again_and_given_up() {
    let env = TestEnvironment::new();
    let gone = MailServer::start(0, &["plain"]);
    let port = gone.port;
    drop(gone);
    let settings = |to: &str| {
        let config = format!(
            "base_url = \"https://gate.example\"\n[[notify]]\nname = \"mail\"\nkind = \"email\"\nurl = \"smtp://127.0.0.1:{port}\"\n\
             private = true\nplain = true\nfrom = \"gate@example.com\"\nto = [\"{to}\"]\non = [\"pause\", \"decided\"]\n"
        );
        env.write("home/.config/pausegate/config.toml", &config);
    };
    settings("alice@example.com");
    env.script_of_the_main_job();
    assert_eq!(env.pausegate(&["run", "clean up", "--model", "script:turns.json"]).code, Some(75), "nobody waits for a receiver");
    let listed = env.pausegate(&["notices", "list", "--json"]).json();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["state"], &listed[0]["channel"]), (2, &json!("failing"), &json!("mail")));
    assert_eq!(listed[0]["why"], "127.0.0.1: cannot be reached: connection refused");

    let server = MailServer::start(port, &["plain"]);
    let first = listed[0]["id"].as_str().unwrap();
    let retried = env.pausegate(&["notices", "retry", &first[..20]]);
    assert_eq!((retried.code, retried.stdout.trim()), (Some(0), "1 notice is tried again"), "{retried}");
    let (headers, text) = opened(&server.got(1)[0]);
    assert!(headers.contains(&format!("Message-ID: <{first}@example.com>")), "{headers}");
    assert!(env.pending().iter().any(|pause| text.contains(&format!("Look at it: https://gate.example/pauses/{pause}\r\n"))), "{text}");
    assert_eq!(env.pausegate(&["notices", "retry", "--channel", "mail"]).stdout.trim(), "1 notice is tried again");
    assert_eq!(opened(&server.got(2)[1]).0.matches("Message-ID").count(), 1);
    assert_eq!(env.pausegate(&["notices", "list", "--json"]).json(), json!([]));

    // Nobody of that name is there: that is for good.
    settings("never-a@example.com");
    env.pausegate(&["deny", &env.pending()[0]]);
    assert_eq!(env.pausegate(&["work", "--once"]).code, Some(0));
    let listed = env.pausegate(&["notices", "list", "--json"]).json();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["state"], &listed[0]["what"]), (1, &json!("parked"), &json!("pause.decided")));
    let doctor = env.pausegate(&["doctor"]);
    assert!(doctor.stdout.contains("1 notice to `mail` parked after 1 try: 127.0.0.1: <never-a@example.com> answered 550"), "{doctor}");
    assert!(env.pausegate(&["notices", "list"]).stdout.contains("parked "));
    for (args, code) in [
        (&["notices", "discard"][..], 64),
        (&["notices", "discard", "--parked", "--channel", "mail"], 64),
        (&["notices", "discard", "no_x"], 66),
        (&["notices", "retry", "no_x"], 66),
        (&["notices", "discard", "--parked"], 0),
    ] {
        let ended = env.pausegate(args);
        assert_eq!(ended.code, Some(code), "{ended}");
    }
    let listed = env.pausegate(&["notices", "list"]);
    assert_eq!((listed.code, listed.stdout.as_str()), (Some(0), ""), "{listed}");
    server.got(2);
}

#[test]
fn d05_a_cloned_folder_tells_nobody_and_a_plugin_may_not_reach_what_tells() {
    let env = TestEnvironment::new();
    env.write("work/pausegate.toml", "[[notify]]\nname = \"a\"\nkind = \"command\"\ncommand = [\"./evil\"]\n");
    let run = env.pausegate(&["pending"]);
    assert_eq!(run.code, Some(78), "{run}");
    assert!(run.stderr.contains("`notify` may not stand in a file of the working directory"), "{run}");
    std::fs::remove_file(env.path("work/pausegate.toml")).unwrap();
    let program = env.path("work/build/tell");
    let config = format!("[[notify]]\nname = \"a\"\nkind = \"command\"\ncommand = [\"{}\"]\n", program.display());
    env.write("home/.config/pausegate/config.toml", &config);
    let run = env.pausegate(&["explain", "files__list"]);
    assert_eq!(run.code, Some(78), "{run}");
    assert!(run.stderr.contains("a notification's command"), "{run}");
}

/// Slack, as far as a click goes: signs the form it sends, and prints what it is answered.
const CLICK: &str = r#"
import hashlib, hmac, json, sys, time, urllib.error, urllib.parse, urllib.request
url, secret, user, action, value = sys.argv[1:6]
payload = {"type": "block_actions", "user": {"id": user}, "actions": [{"action_id": action, "value": value}]}
body = urllib.parse.urlencode({"payload": json.dumps(payload)}).encode()
now = str(int(time.time()))
signature = "v0=" + hmac.new(secret.encode(), b"v0:" + now.encode() + b":" + body, hashlib.sha256).hexdigest()
headers = {"X-Slack-Request-Timestamp": now, "X-Slack-Signature": signature}
try:
    print(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(urllib.request.Request(url, body, headers)).status)
except urllib.error.HTTPError as error:
    print(error.code)
"#;

#[test]
fn a_click_in_slack_decides_as_the_person_that_the_operator_joined_to_it() {
    let env = TestEnvironment::new();
    env.write(
        "home/.config/pausegate/config.toml",
        "[[notify]]\nname = \"chat\"\nkind = \"slack\"\nurl = { source = \"env\", name = \"SLACK_URL\" }\n\
         signing_secret = { source = \"env\", name = \"SLACK_SIGNING\" }\non = [\"blocked\"]\n",
    );
    env.grants(&format!("[people]\nalice = [\"os:alice\", \"slack:U1\"]\n{}", super::environment::FILES_GRANTS));
    env.script_of_the_main_job();
    assert_eq!(env.pausegate(&["run", "clean up", "--model", "script:turns.json"]).code, Some(75));
    let mut serve = env.command();
    serve.args(["serve", "--listen", "127.0.0.1:0", "--workers", "0", "--model", "script:turns.json"]).env("SLACK_SIGNING", "a-signing-secret");
    let mut serve = serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(serve.stderr.take().unwrap()).lines().map_while(Result::ok);
    let base = lines.find_map(|line| line.strip_prefix("serving on ").map(str::to_owned)).unwrap();
    let pauses = env.pausegate(&["pending", "--json"]).json();
    let value = |at: usize| format!("{} {}", pauses[at]["id"].as_str().unwrap(), pauses[at]["digest"].as_str().unwrap());
    let click = |secret: &str, user: &str, action: &str, value: &str| {
        let url = format!("{base}/slack/interactions");
        let output = Command::new("python3").args(["-c", CLICK, &url, secret, user, action, value]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(click("another-secret", "U1", "approve", &value(0)), "401");
    assert_eq!(click("a-signing-secret", "U1", "settle", &value(0)), "400");
    // Heard, and nobody whom the operator knows.
    assert_eq!(click("a-signing-secret", "U2", "approve", &value(0)), "200");
    assert_eq!(env.pending().len(), 2);
    assert_eq!(click("a-signing-secret", "U1", "approve", &value(0)), "200");
    assert_eq!(click("a-signing-secret", "U1", "deny", &value(1)), "200");
    let state = env.pausegate(&["inspect", &env.chains()[0], "--json"]).json();
    let mut decided: Vec<_> =
        state["pauses"].as_array().unwrap().iter().map(|pause| format!("{} {}", pause["status"], pause["decided"]["by"])).collect();
    decided.sort();
    assert_eq!(decided, ["\"approved\" \"slack:U1\"", "\"denied\" \"slack:U1\""]);
    rustix::process::kill_process(rustix::process::Pid::from_child(&serve), rustix::process::Signal::TERM).unwrap();
    assert_eq!(serve.wait().unwrap().code(), Some(0));
}
