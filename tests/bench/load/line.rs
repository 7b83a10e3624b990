//! One person's connection, kept from decision to decision as browsers and clients keep theirs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::serving::Client;

pub struct Line {
    stream: BufReader<TcpStream>,
    port: u16,
    token: String,
}

impl Line {
    pub fn of(client: &Client) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", client.port)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), port: client.port, token: client.token.clone().unwrap() }
    }

    pub fn approve(&mut self, pause: &str, tag: &str) -> (u16, String) {
        let body = "{\"decision\":\"approve\"}";
        let request = format!(
            "POST /api/v1/pauses/{pause}/decision HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\nif-match: {tag}\r\ncontent-length: {}\r\n\r\n{body}",
            self.port,
            self.token,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        self.answer()
    }

    fn answer(&mut self) -> (u16, String) {
        let (mut status, mut length) = (None, 0);
        loop {
            let mut line = String::new();
            assert!(self.stream.read_line(&mut line).unwrap() > 0, "the server goes on");
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            match line.split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().unwrap(),
                Some(_) => {}
                None => status = line.split(' ').nth(1).map(|status| status.parse().unwrap()),
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        (status.unwrap(), String::from_utf8(body).unwrap())
    }
}
