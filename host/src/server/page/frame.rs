//! What stands around every page: its head, the way to the others, and who is logged in.

use axum::response::Html;
use maud::{DOCTYPE, Markup, html};

use super::assets::{ICON, SCRIPT, STYLE};
use crate::server::access::Identity;

/// Which entry of the way around is this one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Here {
    Waiting,
    Chains,
    Plugins,
}

/// What the script keeps up to date.
pub struct Live {
    /// Differs whenever somebody who looks at the page should know.
    pub mark: String,
}

/// For somebody who is known.
pub fn page(who: &Identity, here: Here, title: &str, live: Option<&Live>, body: &Markup) -> Html<String> {
    let entry = |entry: Here, path: &str, name: &str| html! { a href=(path) aria-current=[(entry == here).then_some("page")] { (name) } };
    let bar = html! {
        nav aria-label="Pages" {
            (entry(Here::Waiting, "/", "Waiting"))
            (entry(Here::Chains, "/chains", "Chains"))
            (entry(Here::Plugins, "/plugins", "Plugins"))
        }
        form.who method="post" action="/logout" {
            span { span.label { "Logged in as " } b { (who.name) } }
            button.quiet type="submit" { "Log out" }
        }
    };
    Html(whole(title, &bar, live, body).into_string())
}

/// For somebody who is not.
pub fn bare(title: &str, body: &Markup) -> Markup {
    let body = html! { div.narrow { h1 { (title) } (body) } };
    whole(title, &html! {}, None, &body)
}

/// A page that goes on to itself at once: as a step within this site, with which a browser sends the session along.
pub fn passing(to: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="refresh" content="0";
                title { "Pausegate" }
                link rel="stylesheet" href=(STYLE.path);
            }
            body { main.narrow { h1 { "One moment" } p { a href=(to) { "Go on" } } } }
        }
    }
}

fn whole(title: &str, bar: &Markup, live: Option<&Live>, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Pausegate" }
                link rel="icon" href=(ICON.path);
                link rel="stylesheet" href=(STYLE.path);
                script src=(SCRIPT.path) defer {}
            }
            body {
                a.skip href="#main" { "To the content" }
                header.bar { a.brand href="/" { "Pausegate" } (bar) }
                p #news role="status" {}
                main #main tabindex="-1" data-mark=[live.map(|live| &live.mark)] { (body) }
            }
        }
    }
}
