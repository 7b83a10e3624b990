//! A receiver of webhooks that is down at first.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Instant;

use crate::e2e::TestEnvironment;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

pub struct Receiver {
    address: SocketAddr,
}

impl Receiver {
    /// Told of pauses and of decisions, at an address where nobody listens.
    pub fn down(env: &TestEnvironment) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let config = format!(
            "[[notify]]\nname = \"ops\"\nkind = \"webhook\"\nurl = \"http://{address}/in\"\nprivate = true\n\
             secret = {{ source = \"file\", path = \"hook.key\" }}\non = [\"pause\", \"decided\"]\n"
        );
        env.write("home/.config/pausegate/config.toml", &config);
        env.write("home/.config/pausegate/hook.key", SECRET);
        Self { address }
    }

    /// Listens from now on, until so many different notices have come.
    pub fn back(&self, part: &str, wanted: usize) {
        let listener = TcpListener::bind(self.address).unwrap();
        let (began, mut first) = (Instant::now(), None);
        let mut came: HashMap<String, usize> = HashMap::new();
        while came.len() < wanted {
            let id = taken(listener.accept().unwrap().0);
            first.get_or_insert_with(Instant::now);
            *came.entry(id).or_default() += 1;
        }
        let repeated: usize = came.values().map(|times| times - 1).sum();
        let (all, since) = (began.elapsed().as_secs_f64(), first.map_or(0.0, |first| first.elapsed().as_secs_f64()));
        println!("{part:<8} webhook back: {wanted} notices came within {all:.1} s, {since:.1} s after the first; came twice {repeated}");
        assert_eq!(repeated, 0);
    }
}

/// Reads one notice and says that it came; its id.
fn taken(stream: TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut id, mut length) = (None, 0);
    loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the notice is cut");
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("webhook-id") => id = Some(value.to_owned()),
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().unwrap(),
            _ if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    id.unwrap()
}
