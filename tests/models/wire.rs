//! A server that sends what a test says, byte by byte.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One answer: its pieces, each sent on its own; then the connection is closed. An empty piece is silence without end.
pub type Answer = Vec<Vec<u8>>;

pub struct Server {
    pub address: String,
    asked: Arc<AtomicUsize>,
}

impl Server {
    /// The n-th connection gets the n-th answer, all further ones the last.
    pub async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let turn = count.fetch_add(1, Ordering::SeqCst);
                let answer = answers.get(turn).or(answers.last()).cloned().unwrap_or_default();
                tokio::spawn(serve(stream, answer));
            }
        });
        Self { address, asked }
    }

    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

async fn serve(mut stream: TcpStream, answer: Answer) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    read_request(&mut stream).await?;
    for piece in answer {
        if piece.is_empty() {
            return std::future::pending().await;
        }
        stream.write_all(&piece).await?;
        stream.flush().await?;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    stream.shutdown().await
}

async fn read_request(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut request = Vec::new();
    let end = loop {
        if let Some(end) = request.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    };
    let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
    let length: usize = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok()).unwrap_or(0);
    while request.len() < end + length && stream.read_buf(&mut request).await? > 0 {}
    Ok(())
}

/// An answer without a length: its end is the end of the connection.
pub fn answer(status: u16, content_type: &str, body: &str) -> Answer {
    vec![format!("HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n{body}").into_bytes()]
}
