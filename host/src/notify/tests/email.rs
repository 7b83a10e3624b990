//! Mail, to a real server and to servers that an enemy wrote.

use std::path::{Path, PathBuf};

use tokio::io::{AsyncBufReadExt, BufReader};
use url::Host;

use super::*;
use crate::config::notify::{Mail, Mailbox, Security, Server};

#[path = "../../../../tests/support/smtp.rs"]
mod smtp;

use smtp::{MailServer, opened};

/// Its certificate says `api.test`.
const CERTIFICATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/plugin/tests/tls");

/// Reads what the tests' server takes.
struct Password(&'static str);

impl ReadSecret for Password {
    fn read(&self, _: &Secret) -> Result<SecretString, SecretError> {
        Ok(SecretString::from(self.0))
    }
}

fn mail(port: u16, security: Security, to: &[&str]) -> Mail {
    let mailbox = |address: &&str| Mailbox { name: None, address: (*address).to_owned() };
    Mail {
        server: Server { host: Host::Domain("api.test".to_owned()), port, security },
        private: true,
        from: Mailbox { name: Some("Pausegate, Grüße".to_owned()), address: "gate@example.com".to_owned() },
        to: to.iter().map(mailbox).collect(),
        login: (security != Security::Plain).then(|| ("gate".to_owned(), secret("SMTP"))),
        authority: Some(Path::new(CERTIFICATES).join("ca.pem")),
    }
}

fn world(mail: Mail) -> World {
    World::to(Receiver::Email(Box::new(mail)))
}

impl World {
    async fn mailed(&self, seconds: i64, password: &'static str) {
        let delivery = Delivery { secrets: Arc::new(Password(password)), ..self.at(seconds) };
        delivery.deliver_due(Duration::from_secs(60)).await;
    }

    async fn why(&self) -> String {
        self.left().await[0].why.clone().unwrap()
    }
}

#[tokio::test]
async fn h68_a_letter_goes_over_tls_with_a_password_and_only_shows() {
    for (mode, security, by) in [
        (&["starttls"][..], Security::StartTls, "gate by PLAIN"),
        (&["tls"], Security::Tls, "gate by PLAIN"),
        (&["starttls", "LOGIN"], Security::StartTls, "gate by LOGIN"),
    ] {
        let server = MailServer::start(0, mode);
        let world = world(mail(server.port, security, &["alice@example.com", "bob@example.com"]));
        world.asked().await;
        world.mailed(0, "a password").await;
        assert_eq!(world.left().await, [], "{:?}", world.told.lock().unwrap());
        let got = server.got(1).remove(0);
        assert_eq!((&got["secure"], &got["user"], &got["from"]), (&json!(true), &json!(by), &json!("gate@example.com")));
        assert_eq!(got["to"], json!(["alice@example.com", "bob@example.com"]));
        let raw = got["text"].as_str().unwrap();
        assert!(raw.is_ascii() && raw.lines().all(|line| line.len() <= 78 && !line.starts_with('.')) && !raw.contains("a password"), "{raw}");
        let (headers, text) = opened(&got);
        let id = headers.lines().find_map(|line| line.strip_prefix("Message-ID: <")?.strip_suffix("@example.com>")).unwrap().to_owned();
        assert!(id.starts_with("no_") && id.len() == 35, "{id}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(headers.replace(&id, "ID"), @r"
            From: =?utf-8?B?UGF1c2VnYXRlLCBHcsO8w59l?= <gate@example.com>
            To: alice@example.com, bob@example.com
            Subject: files__delete waits for an approval
            Date: Fri, 02 Jan 2026 03:04:05 +0000
            Message-ID: <ID@example.com>
            References: <pa_1@example.com>
            Auto-Submitted: auto-generated
            MIME-Version: 1.0
            Content-Type: text/plain; charset=utf-8
            Content-Transfer-Encoding: base64
            ");
        }
        assert!(text.contains("Look at it: https://gate.example/pauses/pa_1\r\n"), "{text}");
        assert!(text.contains("in the words of whoever asks:\r\n    pay\\u{202e}txt.exe \\u{1b}[2J"), "{text}");
        assert!(!text.chars().any(|c| !matches!(c, '\r' | '\n') && crate::report::escape::is_invisible(c)), "{text:?}");
    }
}

#[tokio::test]
async fn h68_a_mail_server_that_was_down_gets_the_letter_under_the_same_id_once_it_is_back() {
    let gone = MailServer::start(0, &["plain"]);
    let port = gone.port;
    drop(gone);
    let world = world(mail(port, Security::Plain, &["later-2-alice@example.com"]));
    world.asked().await;
    world.mailed(0, "").await;
    assert_eq!(world.why().await, "api.test: cannot be reached: connection refused");
    let server = MailServer::start(port, &["plain"]);
    for seconds in [10, 100] {
        world.mailed(seconds, "").await;
        assert_eq!(world.why().await, "api.test: answered 450 come again");
    }
    assert!(!world.left().await[0].parked);
    world.mailed(1000, "").await;
    assert_eq!(world.left().await, []);
    assert_eq!(server.got(1)[0]["secure"], false);
}

#[tokio::test]
async fn what_a_mail_server_refuses_for_good_is_parked_and_the_others_have_it() {
    let server = MailServer::start(0, &["plain"]);
    let nobody = world(mail(server.port, Security::Plain, &["never-a@example.com"]));
    nobody.asked().await;
    nobody.mailed(0, "").await;
    assert!(nobody.left().await[0].parked);
    assert_eq!(nobody.why().await, "api.test: <never-a@example.com> answered 550 no such person");
    let some = world(mail(server.port, Security::Plain, &["never-a@example.com", "alice@example.com"]));
    some.asked().await;
    some.mailed(0, "").await;
    assert!(some.left().await[0].parked);
    assert_eq!(some.why().await, "api.test: 1 of 2 people have it; <never-a@example.com> answered 550 no such person");
    assert_eq!(server.got(1)[0]["to"], json!(["alice@example.com"]));
}

#[tokio::test]
async fn a_wrong_password_is_the_operators_to_mend_and_is_told_to_nobody() {
    let server = MailServer::start(0, &["starttls"]);
    let world = world(mail(server.port, Security::StartTls, &["alice@example.com"]));
    world.asked().await;
    world.mailed(0, "another password").await;
    assert_eq!(world.why().await, "api.test: does not take the user and password: answered 535");
    assert!(!world.left().await[0].parked && !world.told.lock().unwrap().join("").contains("another password"));
    world.mailed(10, "a password").await;
    assert_eq!(world.left().await, []);
}

/// Answers each line it hears with the next of these, and keeps what it heard.
async fn twin(answers: Vec<Vec<u8>>) -> (u16, Arc<Mutex<String>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, heard) = (listener.local_addr().unwrap().port(), Arc::new(Mutex::new(String::new())));
    let keep = heard.clone();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        for answer in answers {
            // Whoever has heard enough ends the connection.
            if stream.write_all(&answer).await.is_err() {
                return;
            }
            let mut line = Vec::new();
            stream.read_until(b'\n', &mut line).await.ok();
            keep.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
        }
    });
    (port, heard)
}

#[tokio::test]
async fn h68_a_mail_server_that_means_ill_gets_no_word_in_the_clear_and_is_heard_in_bounds() {
    let hello = b"250-hi\r\n250 STARTTLS\r\n".to_vec();
    let greeting = b"220 hi\r\n".to_vec();
    for (answers, why) in [
        (vec![greeting.clone(), b"250 hi\r\n".to_vec()], "does not offer STARTTLS, and nothing is sent without TLS"),
        (
            vec![greeting.clone(), b"250-hi\r\n250-SIZE STARTTLS\r\n250 AUTH PLAIN\r\n".to_vec()],
            "does not offer STARTTLS, and nothing is sent without TLS",
        ),
        (vec![greeting.clone(), hello.clone(), b"454 not now\r\n".to_vec()], "answered 454 not now"),
        (vec![greeting.clone(), hello.clone(), b"220 go\r\n250 injected\r\n".to_vec()], "went on in the clear after STARTTLS"),
        (vec![b"554 go \x1b[2J away\r\n".to_vec()], "answered 554 go \\u{1b}[2J away"),
        (vec![b"HTTP/1.1 200 OK\r\n".to_vec()], "does not speak SMTP"),
        (vec!["220 \u{fc}\u{fc}\r\n22\u{fc}\r\n".into(), "2\u{fc}\r\n".into()], "does not speak SMTP"),
        (vec![vec![b'2'; 1 << 20]], "answers with a line of more than 2048 bytes"),
        (vec![greeting.clone(), b"250-x\r\n".repeat(100_000)], "answers with more than 64 lines"),
    ] {
        let (port, heard) = twin(answers).await;
        let world = world(mail(port, Security::StartTls, &["alice@example.com"]));
        world.asked().await;
        world.mailed(0, "a password").await;
        assert_eq!(world.why().await, format!("api.test: {why}"));
        assert!(!world.left().await[0].parked, "the operator's settings may be wrong: {why}");
        let heard = heard.lock().unwrap().clone();
        assert!(heard.lines().all(|line| line.starts_with("EHLO [127.0.0.1]") || line == "STARTTLS" || line.is_empty()), "{heard}");
    }
}

#[tokio::test]
async fn h68_a_mail_server_is_who_its_certificate_says_and_nearby_only_where_that_is_said() {
    let server = MailServer::start(0, &["tls"]);
    let own = mail(server.port, Security::Tls, &["alice@example.com"]);
    let other = |change: fn(&mut Mail)| {
        let mut mail = own.clone();
        change(&mut mail);
        mail
    };
    let by_another_name = other(|mail| mail.server.host = Host::Domain("hooks.test".to_owned()));
    let by_nobody_we_trust = other(|mail| mail.authority = None);
    let unreadable = other(|mail| mail.authority = Some(PathBuf::from("/nowhere/ca.pem")));
    let far = other(|mail| mail.private = false);
    for (mail, why) in [
        (by_another_name, "TLS failed: invalid peer certificate"),
        (by_nobody_we_trust, "TLS failed: invalid peer certificate"),
        (unreadable, "`authority` `/nowhere/ca.pem` cannot be read"),
        (far, "is an address of this machine or its network"),
    ] {
        let world = world(mail);
        world.asked().await;
        world.mailed(0, "a password").await;
        let told = world.why().await;
        assert!(told.contains(why), "{told}");
    }
    server.got(0);
}
