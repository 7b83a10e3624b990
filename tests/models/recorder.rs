//! Stands before a provider's stand-in and keeps what it was sent, in the provider's own format.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

pub struct Recorder {
    pub address: String,
    bodies: Arc<Mutex<Vec<Value>>>,
}

impl Recorder {
    /// Passes everything on to `provider`, an address as `http://127.0.0.1:1`.
    pub fn before(provider: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (bodies, provider) = (Arc::<Mutex<Vec<Value>>>::default(), provider.trim_start_matches("http://").to_owned());
        std::thread::spawn({
            let bodies = Arc::clone(&bodies);
            move || listener.incoming().for_each(|client| pass_on(client.unwrap(), &provider, &bodies))
        });
        Self { address, bodies }
    }

    /// Every request's body so far, oldest first.
    pub fn bodies(&self) -> Vec<Value> {
        self.bodies.lock().unwrap().clone()
    }
}

/// One request and its answer; the connection ends with it.
fn pass_on(mut client: TcpStream, provider: &str, bodies: &Mutex<Vec<Value>>) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(|length| length.parse().unwrap()));
    let mut body = vec![0; length.unwrap_or(0)];
    client.read_exact(&mut body).unwrap();
    bodies.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
    let mut server = TcpStream::connect(provider).unwrap();
    server.write_all(head.replacen("\r\n", "\r\nconnection: close\r\n", 1).as_bytes()).unwrap();
    server.write_all(&body).unwrap();
    std::io::copy(&mut server, &mut client).unwrap();
}
