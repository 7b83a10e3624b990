//! What is said: facts as JSON for programs, and as a few lines for people.
//!
//! Foreign words are escaped as on a terminal: nothing in them can hide or reorder what stands beside them.

use serde_json::{Value, json};
use url::Url;

use super::Undelivered;
use crate::notice::{Asked, Facts, Happening};
use crate::report::escape;

/// Bytes of a message that a phone is sent; the server of ntfy takes 4096.
const PHONE_BYTES_MAX: usize = 3500;

pub struct Message<'m> {
    pub id: String,
    pub facts: &'m Facts,
    /// Whether arguments and words are said, or only that something waits.
    pub details: bool,
    pub base_url: Option<&'m Url>,
}

impl Message<'_> {
    /// As webhooks and commands get it.
    pub fn json(&self) -> Value {
        let facts = self.facts;
        let mut data = json!({"chain": facts.chain, "seq": facts.seq, "started_by": facts.started_by});
        if self.details {
            data["title"] = escape::line(&facts.title).into();
        }
        if let Some(asked) = &facts.pause {
            data["pause"] = self.pause(asked);
        }
        if let Some(decided) = &facts.decided {
            data["decided"] = json!({"by": decided.by, "decision": decided.decision});
            if let Some(note) = decided.note.as_ref().filter(|_| self.details) {
                data["decided"]["note"] = escape::block(note).into();
            }
        }
        if let Some(why) = facts.why.as_ref().filter(|_| self.details) {
            data["why"] = escape::block(why).into();
        }
        if let Some(link) = self.link() {
            data["link"] = link.as_str().into();
        }
        json!({"id": self.id, "type": facts.what, "timestamp": facts.at, "data": data})
    }

    fn pause(&self, asked: &Asked) -> Value {
        let mut pause = json!({
            "id": asked.id,
            "kind": asked.kind,
            "tool": escape::line(&asked.tool),
            "plugin": escape::line(&asked.plugin),
            "asks": asked.asks,
            "digest": asked.digest,
            "approvers": escape::line(&asked.approvers),
            "opened_at": asked.opened_at,
            "expires_at": asked.expires_at,
            "escalated_to": asked.escalated_to,
        });
        if self.details {
            pause["arguments"] = escape::block(&asked.arguments).into();
            pause["reason"] = escape::block(&asked.reason).into();
            pause["opens"] = asked.opens.iter().map(|opening| escape::line(opening)).collect();
        }
        pause
    }

    /// One line: what happened to what.
    pub fn title(&self) -> String {
        let facts = self.facts;
        let tool = facts.pause.as_ref().map_or_else(|| "a call".to_owned(), |asked| escape::line(&asked.tool));
        let asks = facts.pause.as_ref().map_or("an answer", |asked| match asked.asks.as_str() {
            "approval" => "an approval",
            "choice" => "a choice",
            "text" => "a text",
            "form" => "a form",
            "outcome" => "a word what became of it",
            _ => "an answer",
        });
        match facts.what {
            Happening::PauseOpened => format!("{tool} waits for {asks}"),
            Happening::PauseReminder => format!("{tool} still waits for {asks}"),
            Happening::PauseEscalated => format!("{tool} still waits for {asks}, and others may decide now"),
            Happening::PauseDecided => match &facts.decided {
                Some(said) => format!("{tool}: {} by {}", said.decision, escape::line(&said.by.0)),
                None => format!("{tool} is decided"),
            },
            Happening::PauseClosed => format!("{tool} waits no more"),
            Happening::ChainBlocked => format!("{} is blocked", facts.chain),
            Happening::ChainCompleted => format!("{} is completed", facts.chain),
            Happening::ChainRejected => format!("{} is rejected", facts.chain),
            Happening::ChainCancelled => format!("{} is cancelled", facts.chain),
            Happening::ChainFailed => format!("{} failed", facts.chain),
        }
    }

    /// What a person reads below it, each with its name.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let facts = self.facts;
        let mut lines = Vec::new();
        if let Some(asked) = &facts.pause {
            if self.details {
                lines.push(("arguments", escape::block(&asked.arguments)));
                lines.push(("in the words of whoever asks", escape::block(&asked.reason)));
                if !asked.opens.is_empty() {
                    lines.push(("approving opens", asked.opens.iter().map(|opening| escape::line(opening)).collect::<Vec<_>>().join("\n")));
                }
            }
            lines.push(("approvers", escape::line(&asked.approvers)));
            if !asked.escalated_to.is_empty() {
                lines.push(("from now on also", asked.escalated_to.iter().map(|actor| escape::line(&actor.0)).collect::<Vec<_>>().join(", ")));
            }
            lines.push(("pause", asked.id.0.clone()));
        }
        if self.details {
            lines.extend(facts.decided.as_ref().and_then(|said| said.note.as_ref()).map(|note| ("note", escape::block(note))));
            lines.extend(facts.why.as_ref().map(|why| ("why", escape::block(why))));
            lines.push(("asked of the model", escape::line(&facts.title)));
        }
        lines.push(("chain", facts.chain.0.clone()));
        lines
    }

    /// Shows, and never decides.
    pub fn link(&self) -> Option<Url> {
        let below = match &self.facts.pause {
            Some(asked) => format!("pauses/{}", asked.id),
            None => format!("chains/{}", self.facts.chain),
        };
        self.base_url?.join(&below).ok()
    }

    /// Where and what, of a URL whose last segment is the topic.
    pub fn ntfy(&self, url: &Url) -> Result<(Url, Value), Undelivered> {
        let topic = url.path_segments().and_then(|mut segments| segments.next_back()).filter(|topic| !topic.is_empty());
        let topic = topic.ok_or_else(|| Undelivered::Now("its `url` ends in no topic".to_owned()))?.to_owned();
        let root = url.join(".").map_err(|error| Undelivered::Now(error.to_string()))?;
        let text = self.lines().iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("\n");
        let mut body = json!({"topic": topic, "title": self.title(), "message": shortened(&text, PHONE_BYTES_MAX)});
        if let Some(link) = self.link() {
            body["click"] = link.as_str().into();
        }
        Ok((root, body))
    }
}

/// At most so many bytes, with a visible end.
pub fn shortened(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = (0..=bytes_max).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}… ({} more bytes)", &text[..end], text.len() - end)
}
