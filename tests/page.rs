//! The page in a real browser: what a person who decides sees and does, from the login link to what was decided.
//!
//! Screenshots are left in `target/screenshots`, for eyes to look at.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::browser::{Browser, Shape};
use crate::e2e::{TestEnvironment, doubt};

/// A server over an environment, and people with tokens.
struct Site {
    env: TestEnvironment,
    server: Child,
    url: String,
}

impl Site {
    fn new() -> Self {
        Self::over(TestEnvironment::new())
    }

    fn over(env: TestEnvironment) -> Self {
        let mut server = env.command();
        server.args(["serve", "--listen", "127.0.0.1:0"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut server = server.spawn().unwrap();
        let mut lines = BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok);
        let url = lines.find_map(|line| Some(line.strip_prefix("serving on ")?.to_owned())).expect("the server says where it is");
        std::thread::spawn(move || lines.for_each(drop));
        let site = Self { env, server, url };
        site.token("alice", "read,approve");
        site
    }

    fn token(&self, name: &str, can: &str) {
        let made = self.env.pausegate(&["token", "create", name, "--can", can]);
        assert_eq!(made.code, Some(0), "{made}");
    }

    fn link(&self, name: &str) -> String {
        self.env.pausegate(&["token", "login", name, "--url", &self.url]).stdout.trim().to_owned()
    }

    fn log_in(&self, browser: &Browser, name: &str) {
        browser.go(&self.link(name));
        browser.click_text("Log in");
        browser.sees(&format!("Logged in as {name}"));
    }

    fn browser(&self) -> Browser {
        let browser = Browser::start();
        self.log_in(&browser, "alice");
        browser
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// A chain that pauses; the ids of what waits.
    fn run(&self, turns: Value) -> Vec<String> {
        self.env.script(turns);
        let run = self.env.pausegate(&["run", "clean up the build folder", "--model", "script:turns.json"]);
        assert_eq!(run.code, Some(75), "{run}");
        self.env.pending()
    }

    /// Lists, and asks whether two files may go.
    fn run_the_main_job(&self) -> Vec<String> {
        self.run(json!([
            {"text": "Looking first.", "tool_calls": [{"id": "list", "name": "files__list", "arguments": {"path": "/build"}}]},
            {"tool_calls": [
                {"id": "a", "name": "files__delete", "arguments": {"path": "/build/a.tmp"}},
                {"id": "b", "name": "files__delete", "arguments": {"path": "/build/b.tmp"}}]},
            {"text": "That is done."}
        ]))
    }

    fn ask(&self, tool: &str, arguments: Value) -> String {
        self.run(json!([{"tool_calls": [{"id": "q", "name": tool, "arguments": arguments}]}, {"text": "thanks"}])).remove(0)
    }

    /// The pause as the journal has it.
    fn pause(&self, id: &str) -> Value {
        let chains = self.env.chains();
        let chains = chains.iter().map(|chain| self.env.pausegate(&["inspect", chain, "--json"]).json());
        let pauses = chains.flat_map(|chain| chain["pauses"].as_array().unwrap().clone());
        pauses.into_iter().find(|pause| pause["id"] == id).expect("a pause of some chain")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        kill_process(Pid::from_child(&self.server), Signal::TERM).ok();
        self.server.wait().ok();
    }
}

#[test]
fn a_question_shows_up_by_itself_and_is_approved() {
    let site = Site::new();
    let browser = site.browser();
    browser.sees("Nothing waits for a person.");
    browser.screenshot("queue-empty");
    let pauses = site.run_the_main_job();
    browser.sees("2 questions, oldest first");
    browser.screenshot("queue");
    browser.click(&format!("a[href='/pauses/{}']", pauses[0]));
    for part in [
        "files__delete",
        "asks for an approval",
        "/build/a.tmp",
        "In the words of plugin files",
        "fs write /build/a.tmp, exactly this entry",
        "sha256:",
    ] {
        browser.sees(part);
    }
    browser.screenshot("pause");
    browser.click_text("Approve");
    browser.sees("approved by token:alice");
    browser.screenshot("pause-approved");
    assert_eq!(site.pause(&pauses[0])["decided"]["by"], "token:alice");
    browser.click_text("The next question");
    browser.sees("/build/b.tmp");
    browser.fill("#deny-note", "b is still needed");
    browser.click_text("Deny");
    browser.sees("denied by token:alice");
    browser.sees("b is still needed");
    browser.click_text("See how it goes on");
    browser.sees("That is done.");
    browser.sees("2 calls side by side");
    browser.screenshot("chain");
    assert_eq!(site.env.build(), ["b.tmp", "keep.txt"]);
}

#[test]
fn other_arguments_are_checked_and_a_slip_keeps_what_was_typed() {
    let site = Site::new();
    let browser = site.browser();
    let pause = site.run_the_main_job().remove(0);
    browser.go(&site.at(&format!("/pauses/{pause}")));
    browser.click_text("Approve with other arguments");
    for (typed, told) in [("{\"path\": ", "not valid JSON"), ("{\"way\": \"/build/keep.txt\"}", "path")] {
        browser.fill("#edit-arguments", typed);
        browser.click_text("Approve these");
        browser.sees("That does not fit; nothing was decided");
        browser.sees(told);
        assert_eq!(browser.value("#edit-arguments"), typed);
        assert_eq!(site.pause(&pause)["status"], "open");
    }
    browser.screenshot("edit-slip");
    browser.fill("#edit-arguments", "{\"path\": \"/build/keep.txt\"}");
    browser.click_text("Approve these");
    browser.sees("edited by token:alice");
    browser.until("the edited call to run", || !site.env.build().contains(&"keep.txt".to_owned()));
    assert!(site.env.build().contains(&"a.tmp".to_owned()));
}

#[test]
fn questions_are_answered_by_choice_by_text_and_by_a_form_of_their_schema() {
    let site = Site::new();
    let browser = site.browser();
    let open = |tool, arguments| {
        let pause = site.ask(tool, arguments);
        browser.go(&site.at(&format!("/pauses/{pause}")));
        pause
    };
    let answer = |pause: &str| site.pause(pause)["decided"]["decision"]["value"].clone();

    let pause = open("survey__choose", json!({"reason": "Which one?", "choices": ["red", "blue"]}));
    assert_eq!(browser.count("button.yes"), 1, "nothing is approved where a choice is asked");
    browser.click("input[value=blue]");
    browser.screenshot("choice");
    browser.click_text("Answer");
    browser.sees("responded by token:alice");
    assert_eq!(answer(&pause), "blue");

    let pause = open("survey__text", json!({"reason": "When?"}));
    browser.fill("#answer", "true");
    browser.click_text("Answer");
    browser.sees("responded by token:alice");
    assert_eq!(answer(&pause), "true");

    let pause = open("survey__form", json!({"parcel": "the parcel"}));
    for field in ["street", "city", "remark"] {
        browser.sees(field);
    }
    browser.fill("[name='value.street']", "Long Road 1");
    browser.screenshot("form");
    // The browser would hold it back; the server does too.
    browser.script("for (const field of document.querySelectorAll('[required]')) field.required = false;");
    browser.click_text("Answer");
    browser.sees("city is missing");
    assert_eq!(browser.value("[name='value.street']"), "Long Road 1");
    browser.fill("[name='value.city']", "Bonn");
    browser.click_text("Answer");
    browser.sees("responded by token:alice");
    assert_eq!(answer(&pause), json!({"street": "Long Road 1", "city": "Bonn"}));

    let pause = open("survey__other", json!({"subject": "the tea"}));
    browser.fill("[name=value]", "9");
    browser.click_text("Answer");
    browser.sees("the answer does not fit");
    browser.fill("[name=value]", "4");
    browser.click_text("Answer");
    browser.sees("responded by token:alice");
    assert_eq!(answer(&pause), 4);
}

#[test]
fn h83_s06_two_clicks_and_two_people_decide_once_and_each_is_told_who() {
    let site = Site::new();
    site.token("bob", "read,approve");
    let (alice, bob) = (site.browser(), Browser::start());
    bob.without_scripts();
    site.log_in(&bob, "bob");
    let pauses = site.run_the_main_job();
    let page = site.at(&format!("/pauses/{}", pauses[0]));
    alice.go(&page);
    bob.go(&page);
    // Twice before any answer, and past the script that would hold the second one back.
    alice.script("const form = document.querySelector('button.yes').form; const body = () => fetch(form.action, {method: 'POST', body: new URLSearchParams(new FormData(form))}).then(answer => answer.status + ' ' + answer.url); window.two = Promise.all([body(), body()]);");
    let two = alice.script("return window.two;");
    assert_eq!(two, json!([format!("200 {page}"), format!("200 {page}")]));
    alice.go(&page);
    alice.sees("approved by token:alice");
    // Somebody who looked before: the other decision is told who was first.
    bob.click_text("Deny");
    bob.sees("It was decided before; nothing was changed");
    bob.sees("approved by token:alice");
    bob.screenshot("decided-before");
    // A page that is open follows by itself.
    alice.go(&site.at(&format!("/pauses/{}", pauses[1])));
    bob.go(&site.at(&format!("/pauses/{}", pauses[1])));
    bob.click_text("Approve");
    alice.sees("approved by token:bob");
    alice.until("both files to go", || site.env.build() == ["keep.txt"]);
    let chain = site.env.pausegate(&["inspect", &site.env.chains()[0], "--json"]).json();
    let attempts: Vec<_> = chain["calls"].as_array().unwrap().iter().map(|call| call["attempts"].clone()).collect();
    assert_eq!(attempts, [json!(1), json!(2), json!(2)], "asked once and run once");
}

/// With the page's script, which holds the second press back, and without it, where both may reach the server.
#[test]
fn h83_a_double_click_decides_once() {
    let site = Site::new();
    let browser = site.browser();
    let pauses = site.run_the_main_job();
    for (number, pause) in pauses.iter().enumerate() {
        if number == 1 {
            browser.without_scripts();
        }
        browser.go(&site.at(&format!("/pauses/{pause}")));
        browser.double_click("button.yes");
        browser.sees("approved by token:alice");
        assert_eq!(browser.url(), site.at(&format!("/pauses/{pause}")), "and it leads to no other question");
    }
    browser.until("both files to go", || site.env.build() == ["keep.txt"]);
    let chain = site.env.pausegate(&["inspect", &site.env.chains()[0], "--json"]).json();
    let of = |list: &str, key: &str| chain[list].as_array().unwrap().iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("calls", "attempts"), [json!(1), json!(2), json!(2)], "asked once and run once");
    assert_eq!(of("pauses", "status"), [json!("approved"), json!("approved")]);
}

#[test]
fn s08_what_changed_since_somebody_looked_is_said_and_not_decided() {
    let site = Site::new();
    let browser = site.browser();
    let pauses = site.run_the_main_job();
    browser.go(&site.at(&format!("/pauses/{}", pauses[0])));
    browser.script("for (const seen of document.querySelectorAll('[name=digest]')) seen.value = 'sha256:' + '0'.repeat(64);");
    browser.click_text("Approve");
    browser.sees("This changed since you looked; nothing was decided. Here is how it is now");
    let digest = site.pause(&pauses[0])["digest"].as_str().unwrap().to_owned();
    browser.sees(&digest);
    browser.screenshot("changed");
    assert_eq!(site.pause(&pauses[0])["status"], "open");
    // A new message takes the questions' place while the page is open.
    browser.without_scripts();
    browser.go(&site.at(&format!("/pauses/{}", pauses[1])));
    let said = site.env.pausegate(&["say", &site.env.chains()[0], "never mind", "--supersede"]);
    assert_eq!(said.code, Some(0), "{said}");
    browser.click_text("Approve");
    browser.sees("It is not asked any more; nothing was changed");
    browser.sees("superseded");
    assert_eq!(site.env.build(), ["a.tmp", "b.tmp", "keep.txt"]);
}

#[test]
fn a_call_in_doubt_is_settled_in_one_of_three_ways() {
    let (env, _) = doubt::killed();
    let site = Site::over(env);
    let browser = site.browser();
    let pause = site.env.pending().remove(0);
    browser.go(&site.at(&format!("/pauses/{pause}")));
    browser.sees("asks what became of a call");
    browser.sees("attempt 1 began at");
    assert_eq!(browser.count("input[name=decision][value=approve], input[name=decision][value=deny], input[name=decision][value=edit]"), 0);
    browser.screenshot("in-doubt");
    let axe = [false, true].map(|dark| {
        browser.dark(dark);
        browser.violations()
    });
    assert_eq!(axe, [Vec::<String>::new(), Vec::new()]);
    browser.click_text("It happened");
    browser.sees("nothing was typed");
    browser.fill("#happened-result", "paid");
    browser.click_text("It happened");
    browser.sees("settled by token:alice");
    assert_eq!(site.pause(&pause)["decided"]["decision"]["result"], "paid");
}

#[test]
fn a_link_logs_in_once_and_a_session_ends_by_logging_out() {
    let site = Site::new();
    let browser = Browser::start();
    browser.go(&site.at("/chains"));
    browser.sees("This page needs a link of your own.");
    let link = site.link("alice");
    browser.go(&link);
    browser.screenshot("login");
    browser.click_text("Log in");
    browser.sees("Logged in as alice");
    browser.click_text("Log out");
    browser.sees("This page needs a link of your own.");
    browser.go(&site.at("/"));
    browser.sees("This page needs a link of your own.");
    browser.go(&link);
    browser.click_text("Log in");
    browser.sees("This link was used before, or its time is over.");
    browser.screenshot("login-expired");
    assert_eq!(browser.violations(), Vec::<String>::new());
}

/// A notification's link: the session's cookie does not come with a step from another site, and with the next one it does.
#[test]
fn a_link_on_another_site_leads_to_the_question() {
    let site = Site::new();
    let browser = site.browser();
    let pause = site.run_the_main_job().remove(0);
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = elsewhere.local_addr().unwrap().port();
    let html = format!("<a href='{}'>a question</a>", site.at(&format!("/pauses/{pause}")));
    std::thread::spawn(move || {
        for stream in elsewhere.incoming().map_while(Result::ok) {
            let mut stream = stream;
            let _asked = stream.read(&mut [0; 4096]);
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{html}", html.len()).ok();
        }
    });
    browser.go(&format!("http://localhost:{port}/"));
    browser.click_text("a question");
    browser.sees("In the words of plugin files");
    assert_eq!(site.pause(&pause)["status"], "open");
}

#[test]
fn without_scripts_the_page_decides_all_the_same() {
    let site = Site::new();
    let browser = Browser::start();
    browser.without_scripts();
    site.log_in(&browser, "alice");
    let pauses = site.run_the_main_job();
    browser.go(&site.at("/"));
    browser.sees("2 questions, oldest first");
    browser.click(&format!("a[href='/pauses/{}']", pauses[0]));
    browser.fill("#deny-note", "not now");
    browser.click("[name=stop]");
    browser.click_text("Deny");
    browser.sees("denied by token:alice");
    browser.click_text("See how it goes on");
    browser.sees("rejected by token:alice");
    assert_eq!(site.env.build(), ["a.tmp", "b.tmp", "keep.txt"]);
}

#[test]
fn who_may_only_look_is_offered_nothing() {
    let site = Site::new();
    site.token("carol", "read");
    let browser = Browser::start();
    site.log_in(&browser, "carol");
    let pause = site.run_the_main_job().remove(0);
    browser.go(&site.at(&format!("/pauses/{pause}")));
    browser.sees("Your token may look but not decide");
    assert_eq!(browser.count("[name=decision]"), 0);
    let status = browser.script(&format!(
        "return fetch('/pauses/{pause}', {{method: 'POST', body: new URLSearchParams({{decision: 'approve', digest: 'sha256:{}'}})}}).then(answer => answer.status);",
        "0".repeat(64)
    ));
    assert_eq!(status, 403);
    assert_eq!(site.pause(&pause)["status"], "open");
}

#[test]
fn h59_h61_what_a_plugin_says_stays_text() {
    let site = Site::new();
    let browser = site.browser();
    let hostile = "<img src=x onerror=\"document.title='owned'\"> <form action=/logout> \u{202e}evorppa\u{1b}[2J </script>";
    let pause = site.ask("survey__approve", json!({"reason": hostile}));
    for path in ["/".to_owned(), format!("/pauses/{pause}"), "/chains".to_owned(), format!("/chains/{}", site.env.chains()[0])] {
        browser.go(&site.at(&path));
        browser.sees("clean up the build folder");
        assert_eq!((browser.count("main img"), browser.count("main form[action='/logout']")), (0, 0), "{path}");
        let text = browser.script("return document.documentElement.outerHTML;");
        assert!(!text.as_str().unwrap().contains(['\u{202e}', '\u{1b}']), "{path}");
    }
    browser.go(&site.at(&format!("/pauses/{pause}")));
    browser.sees("\\u{202e}evorppa\\u{1b}[2J");
    browser.screenshot("hostile");
}

/// Everything that is shown, in both colours and both widths: no barrier that axe-core knows, and nothing to scroll sideways.
#[test]
fn every_page_can_be_read_by_everybody() {
    let site = Site::new();
    let browser = Browser::start();
    let mut found = Vec::new();
    let mut check = |name: &str| {
        for dark in [false, true] {
            browser.dark(dark);
            let shade = if dark { "dark" } else { "light" };
            found.extend(browser.violations().into_iter().map(|violation| format!("{name}, {shade}: {violation}")));
            browser.shape(Shape::Phone);
            if browser.script("return document.documentElement.scrollWidth > window.innerWidth;") == true {
                found.push(format!("{name} is wider than a phone"));
            }
            browser.screenshot(&format!("{name}-phone-{shade}"));
            browser.shape(Shape::Desk);
            browser.screenshot(&format!("{name}-{shade}"));
        }
    };
    browser.go(&site.link("alice"));
    check("login");
    browser.click_text("Log in");
    browser.sees("Logged in as alice");
    check("queue-empty");
    browser.go(&site.at("/chains"));
    check("chains-empty");
    let pauses = site.run_the_main_job();
    site.ask("survey__form", json!({"parcel": "the parcel"}));
    let all = site.env.pending();
    let form = all.iter().find(|id| !pauses.contains(id)).unwrap();
    browser.go(&site.at("/"));
    check("queue");
    browser.go(&site.at(&format!("/pauses/{}", pauses[0])));
    browser.script("for (const part of document.querySelectorAll('details')) part.open = true;");
    browser.sees(&format!("pausegate trust --always {}", pauses[0]));
    check("pause");
    browser.go(&site.at(&format!("/pauses/{form}")));
    check("form");
    browser.click_text("Deny");
    browser.sees("denied by token:alice");
    check("pause-denied");
    browser.go(&site.at("/chains"));
    check("chains");
    browser.go(&site.at(&format!("/chains/{}", site.env.chains()[1])));
    check("chain");
    browser.go(&site.at("/plugins"));
    browser.sees("files__delete");
    check("plugins");
    browser.go(&site.at("/nowhere"));
    browser.sees("Not here");
    check("not-here");
    assert!(found.is_empty(), "{}", found.join("\n"));
}
