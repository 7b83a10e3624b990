//! SMTP, as far as handing one letter over goes: RFC 5321, `STARTTLS`, `AUTH PLAIN` and `LOGIN`.
//!
//! Each line and each reply is read in bounds; the time of all of it is the sender's. A refusal of the letter or of a person
//! by 5xx is for good; everything else, a password that is not taken too, may be better at another try.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::Undelivered;
use super::letter::Letter;
use super::tls::over_tls;
use crate::config::notify::{Mail, Security};
use crate::notify::message::shortened;
use crate::report::escape;

/// Of one line that a server says; RFC 5321 has 512.
const LINE_BYTES_MAX: u64 = 2048;
/// Of one reply.
const LINES_MAX: usize = 64;
/// Of what a server says, as it is told on.
const SAID_BYTES_MAX: usize = 200;

pub async fn converse(stream: TcpStream, mail: &Mail, login: Option<(&str, SecretString)>, letter: &Letter) -> Result<(), Undelivered> {
    // Who speaks: its address, since a machine's name is often none that a server would find.
    let own = stream.local_addr().map_err(|error| broken(&error))?.ip();
    let own = if own.is_ipv4() { format!("[{own}]") } else { format!("[IPv6:{own}]") };
    match mail.server.security {
        Security::Tls => {
            let mut talk = Talk::new(over_tls(stream, mail).await?);
            talk.hear().await?.is(220)?;
            talk.hand_over(&own, mail, login, letter).await
        }
        Security::Plain => {
            let mut talk = Talk::new(stream);
            talk.hear().await?.is(220)?;
            talk.hand_over(&own, mail, login, letter).await
        }
        Security::StartTls => {
            let mut talk = Talk::new(stream);
            talk.hear().await?.is(220)?;
            if !talk.hello(&own).await?.offers("STARTTLS") {
                return Err(Undelivered::Now("does not offer STARTTLS, and nothing is sent without TLS".to_owned()));
            }
            talk.ask("STARTTLS").await?.is(220)?;
            let stream = talk.alone()?;
            Talk::new(over_tls(stream, mail).await?).hand_over(&own, mail, login, letter).await
        }
    }
}

struct Talk<S>(BufReader<S>);

struct Reply {
    code: u16,
    lines: Vec<String>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Talk<S> {
    fn new(stream: S) -> Self {
        Self(BufReader::new(stream))
    }

    /// What was said before TLS is nobody's word after it.
    fn alone(self) -> Result<S, Undelivered> {
        match self.0.buffer().is_empty() {
            true => Ok(self.0.into_inner()),
            false => Err(Undelivered::Now("went on in the clear after STARTTLS".to_owned())),
        }
    }

    async fn hand_over(&mut self, own: &str, mail: &Mail, login: Option<(&str, SecretString)>, letter: &Letter) -> Result<(), Undelivered> {
        let hello = self.hello(own).await?;
        if let Some((user, password)) = login {
            self.log_in(&hello, user, &password).await?;
        }
        self.ask(&format!("MAIL FROM:<{}>", mail.from.address)).await?.settled()?;
        let mut refused = Vec::new();
        for person in &mail.to {
            match self.ask(&format!("RCPT TO:<{}>", person.address)).await?.settled() {
                Err(Undelivered::Ever(why)) => refused.push(format!("<{}> {why}", person.address)),
                taken => taken?,
            }
        }
        if refused.len() == mail.to.len() {
            return Err(Undelivered::Ever(refused.join("; ")));
        }
        self.ask("DATA").await?.letter_may_come()?;
        self.ask(&format!("{}.", letter.0)).await?.settled()?;
        // It is taken; how they part changes nothing.
        self.say("QUIT").await.ok();
        match refused.is_empty() {
            true => Ok(()),
            false => Err(Undelivered::Ever(format!("{} of {} people have it; {}", mail.to.len() - refused.len(), mail.to.len(), refused.join("; ")))),
        }
    }

    async fn hello(&mut self, own: &str) -> Result<Reply, Undelivered> {
        let reply = self.ask(&format!("EHLO {own}")).await?;
        reply.is(250).map(|()| reply)
    }

    /// What a server answers may hold what it was told: of that only the code is told on.
    async fn log_in(&mut self, hello: &Reply, user: &str, password: &SecretString) -> Result<(), Undelivered> {
        let password = password.expose_secret();
        let answers = if hello.offers("AUTH PLAIN") {
            vec![format!("AUTH PLAIN {}", STANDARD.encode(format!("\0{user}\0{password}")))]
        } else if hello.offers("AUTH LOGIN") {
            vec!["AUTH LOGIN".to_owned(), STANDARD.encode(user), STANDARD.encode(password)]
        } else {
            return Err(Undelivered::Now("takes a password neither by PLAIN nor by LOGIN".to_owned()));
        };
        for (place, answer) in answers.iter().enumerate() {
            let (code, wanted) = (self.ask(answer).await?.code, if place + 1 == answers.len() { 235 } else { 334 });
            if code != wanted {
                return Err(Undelivered::Now(format!("does not take the user and password: answered {code}")));
            }
        }
        Ok(())
    }

    async fn ask(&mut self, line: &str) -> Result<Reply, Undelivered> {
        self.say(line).await?;
        self.hear().await
    }

    async fn say(&mut self, line: &str) -> Result<(), Undelivered> {
        let said = async {
            self.0.write_all(format!("{line}\r\n").as_bytes()).await?;
            self.0.flush().await
        };
        said.await.map_err(|error| broken(&error))
    }

    async fn hear(&mut self) -> Result<Reply, Undelivered> {
        let mut lines = Vec::new();
        while lines.len() < LINES_MAX {
            let line = self.line().await?;
            let code = line.get(..3).filter(|code| code.bytes().all(|byte| byte.is_ascii_digit())).and_then(|code| code.parse().ok());
            let code: u16 = code.ok_or_else(|| Undelivered::Now("does not speak SMTP".to_owned()))?;
            let last = line.as_bytes().get(3) != Some(&b'-');
            lines.push(line.get(4..).unwrap_or_default().to_owned());
            if last {
                return Ok(Reply { code, lines });
            }
        }
        Err(Undelivered::Now(format!("answers with more than {LINES_MAX} lines")))
    }

    async fn line(&mut self) -> Result<String, Undelivered> {
        let mut bytes = Vec::new();
        (&mut self.0).take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes).await.map_err(|error| broken(&error))?;
        match bytes.strip_suffix(b"\n") {
            Some(line) => Ok(String::from_utf8_lossy(line).trim_end().to_owned()),
            None if bytes.len() as u64 == LINE_BYTES_MAX => Err(Undelivered::Now(format!("answers with a line of more than {LINE_BYTES_MAX} bytes"))),
            None => Err(Undelivered::Now("ended the connection".to_owned())),
        }
    }
}

impl Reply {
    /// Before the letter is looked at nothing is refused for good.
    fn is(&self, code: u16) -> Result<(), Undelivered> {
        if self.code == code { Ok(()) } else { Err(Undelivered::Now(self.said())) }
    }

    /// `DATA` is answered by 354 or a refusal.
    fn letter_may_come(&self) -> Result<(), Undelivered> {
        match self.code {
            354 => Ok(()),
            500..600 => Err(Undelivered::Ever(self.said())),
            _ => Err(Undelivered::Now(self.said())),
        }
    }

    fn settled(&self) -> Result<(), Undelivered> {
        match self.code {
            200..300 => Ok(()),
            500..600 => Err(Undelivered::Ever(self.said())),
            _ => Err(Undelivered::Now(self.said())),
        }
    }

    /// Of `EHLO`: a keyword, and one of its words where that is asked.
    fn offers(&self, what: &str) -> bool {
        let mut wanted = what.split(' ');
        let (keyword, parameter) = (wanted.next().unwrap_or_default(), wanted.next());
        self.lines.iter().skip(1).any(|line| {
            let mut words = line.split_ascii_whitespace();
            words.next().is_some_and(|word| word.eq_ignore_ascii_case(keyword))
                && parameter.is_none_or(|parameter| words.any(|word| word.eq_ignore_ascii_case(parameter)))
        })
    }

    fn said(&self) -> String {
        shortened(&format!("answered {} {}", self.code, escape::line(&self.lines.join(" "))), SAID_BYTES_MAX)
    }
}

fn broken(error: &std::io::Error) -> Undelivered {
    Undelivered::Now(format!("the connection broke: {}", error.kind()))
}
