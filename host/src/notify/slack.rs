//! Messages for Slack, and the buttons in them.
//!
//! Foreign words stand in plain text, where nothing is a mention, a link or a form. Buttons that decide are offered only
//! where what comes back can be checked and the message shows all that they would approve; each carries the digest of what
//! was shown, so that a pause that changed since is not decided by it.

use serde_json::{Value, json};

use super::message::{Message, shortened};
use crate::notice::{Asked, Happening};

mod interaction;

pub use interaction::{Interactions, routes};

/// Of one text in a message; Slack takes 3000 characters.
const TEXT_BYTES_MAX: usize = 2900;
/// Between a pause's id and the digest in what a button carries.
const SEPARATOR: char = ' ';

/// For an incoming webhook.
pub fn message(message: &Message<'_>, answers: bool) -> Value {
    let title = message.title();
    let lines = message.lines();
    let mut blocks = vec![text("section", &title)];
    blocks.extend(lines.iter().map(|(name, value)| text("section", &format!("{name}\n{value}"))));
    let mut buttons = Vec::new();
    if let Some(asked) = message.facts.pause.as_ref().filter(|asked| answers && may_be_answered(message, asked)) {
        buttons.push(button("Approve", "approve", asked));
        buttons.push(button("Deny", "deny", asked));
    }
    if let Some(link) = message.link() {
        buttons.push(json!({"type": "button", "action_id": "look", "text": plain("Look at it"), "url": link.as_str()}));
    }
    if !buttons.is_empty() {
        blocks.push(json!({"type": "actions", "elements": buttons}));
    }
    // What a phone shows before the message is opened; here Slack reads marks, so those that open one are written out.
    let fallback = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    json!({"text": fallback, "blocks": blocks, "unfurl_links": false, "unfurl_media": false})
}

fn may_be_answered(message: &Message<'_>, asked: &Asked) -> bool {
    let opened = matches!(message.facts.what, Happening::PauseOpened | Happening::PauseReminder | Happening::PauseEscalated);
    let shown = message.lines().iter().all(|(name, value)| name.len() + 1 + value.len() <= TEXT_BYTES_MAX);
    opened && asked.asks == "approval" && asked.whole && message.details && shown
}

fn button(label: &str, action: &str, asked: &Asked) -> Value {
    let style = if action == "approve" { "primary" } else { "danger" };
    json!({"type": "button", "action_id": action, "style": style, "text": plain(label), "value": format!("{}{SEPARATOR}{}", asked.id, asked.digest)})
}

fn text(kind: &str, text: &str) -> Value {
    json!({"type": kind, "text": plain(&shortened(text, TEXT_BYTES_MAX))})
}

fn plain(text: &str) -> Value {
    json!({"type": "plain_text", "emoji": false, "text": text})
}
