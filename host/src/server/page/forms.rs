//! The forms of a pause: those that its question and its rules offer, each with its own button and no default.

use maud::{Markup, html};

use super::dress::said;
use super::fields::{Field, Form, Kind};
use super::given::Given;
use super::seen::Seen;
use super::words::{code, line};
use crate::capability::Then;
use crate::pause::{Ask, Choice, Pause};
use crate::report::{self, escape};

/// A decision that was not taken: what is said about it, and what was typed.
#[derive(Debug)]
pub struct Slip {
    pub title: &'static str,
    pub message: String,
    pub given: Given,
}

/// What was typed into the form of this decision, and what is wrong with it.
#[derive(Clone, Copy)]
struct Before<'s>(Option<&'s Slip>);

impl<'s> Before<'s> {
    fn of(slip: Option<&'s Slip>, form: &[(&str, &str)]) -> Self {
        Self(slip.filter(|slip| form.iter().all(|(name, value)| slip.given.get(name) == Some(value))))
    }

    fn get(&self, name: &str) -> Option<&'s str> {
        self.0?.given.get(name)
    }

    fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Beside the field it is about.
    fn wrong(&self, id: &str) -> Markup {
        html! { @if let Some(slip) = self.0 { p.wrong id=(id) { (said(&slip.message)) } } }
    }
}

pub fn forms(seen: &Seen, slip: Option<&Slip>) -> Markup {
    let pause = &seen.pause;
    let offers = |name: &str| pause.offers().contains(&name);
    html! {
        @if offers("approve") && pause.asks_approval() { (approve(pause)) }
        @if offers("respond") && !pause.asks_approval() { (answer(pause, slip)) }
        @if offers("settle") { (settle(pause, slip)) }
        @if offers("deny") { (deny(pause, slip)) }
        @if offers("edit") { (edit(pause, slip)) }
        @if offers("respond") && pause.asks_approval() { (in_its_place(pause, slip)) }
    }
}

/// One form: its decision, the digest of what was looked at, its fields, its button.
fn form(pause: &Pause, decision: &str, fields: &Markup) -> Markup {
    html! {
        form method="post" action={ "/pauses/" (pause.id) } {
            input type="hidden" name="decision" value=(decision);
            input type="hidden" name="digest" value=(pause.digest);
            (fields)
        }
    }
}

fn approve(pause: &Pause) -> Markup {
    let opens = match pause.opens.len() {
        0 => "Runs the call; opens nothing else.".to_owned(),
        1 => format!("Runs the call and opens: {}", escape::line(&pause.opens[0].to_string())),
        count => format!("Runs the call and opens the {count} uses listed."),
    };
    form(
        pause,
        "approve",
        &html! {
            button.yes type="submit" aria-describedby="approve-opens" { "Approve" }
            p.sub #approve-opens { (opens) }
        },
    )
}

fn deny(pause: &Pause, slip: Option<&Slip>) -> Markup {
    let before = Before::of(slip, &[("decision", "deny")]);
    let stops = pause.requirements.on_deny == Then::Stop;
    form(
        pause,
        "deny",
        &html! {
            label for="deny-note" { "Why not " span.sub { "(the model reads it; may stay empty)" } }
            textarea #deny-note name="note" rows="2" { (before.get("note").unwrap_or_default()) }
            @if stops {
                p.sub { "The rules end the chain with a denial." }
            } @else {
                label.check { input type="checkbox" name="stop" value="yes" checked[before.get("stop").is_some()]; " and end the whole chain" }
            }
            (before.wrong("deny-wrong"))
            button.no type="submit" { "Deny" }
        },
    )
}

fn edit(pause: &Pause, slip: Option<&Slip>) -> Markup {
    let before = Before::of(slip, &[("decision", "edit")]);
    let arguments = before.get("arguments").map_or_else(|| editable(pause), str::to_owned);
    html! {
        details open[before.is_on()] #edit {
            summary { "Approve with other arguments" }
            (form(pause, "edit", &html! {
                label for="edit-arguments" { "All arguments, as JSON" }
                textarea.json #edit-arguments name="arguments" rows="8" spellcheck="false" required aria-invalid=[before.is_on().then_some("true")] aria-describedby=[before.is_on().then_some("edit-wrong")] { (arguments) }
                (before.wrong("edit-wrong"))
                p.sub { "Checked against the tool's schema and the rules again. The model is told." }
                button type="submit" { "Approve these" }
            }))
        }
    }
}

/// Whole, since it is sent back: characters that hide are `\u` escapes of JSON.
fn editable(pause: &Pause) -> String {
    escape::json(&serde_json::to_string_pretty(&pause.arguments).unwrap_or_default())
}

fn in_its_place(pause: &Pause, slip: Option<&Slip>) -> Markup {
    let before = Before::of(slip, &[("decision", "respond")]);
    html! {
        details open[before.is_on()] #in-its-place {
            summary { "Give the result yourself" }
            (form(pause, "respond", &html! {
                (result(before, "respond", "What the model gets; the tool does not run"))
                button type="submit" { "Give this result" }
            }))
        }
    }
}

/// A text, or JSON: said by whoever types it, never guessed.
fn result(before: Before<'_>, id: &str, label: &str) -> Markup {
    let (text, wrong) = (format!("{id}-result"), format!("{id}-wrong"));
    let is_json = before.get("as") == Some("json");
    html! {
        label for=(text) { (label) }
        textarea #(text) name="result" rows="3" aria-describedby=[before.is_on().then_some(&wrong)] { (before.get("result").unwrap_or_default()) }
        fieldset.line {
            legend { "It is" }
            label.check { input type="radio" name="as" value="text" checked[!is_json]; " text" }
            label.check { input type="radio" name="as" value="json" checked[is_json]; " JSON" }
        }
        (before.wrong(&wrong))
    }
}

fn settle(pause: &Pause, slip: Option<&Slip>) -> Markup {
    let outcome = |outcome: &str, fields: Markup| form(pause, "settle", &html! { input type="hidden" name="outcome" value=(outcome); (fields) });
    let happened = Before::of(slip, &[("decision", "settle"), ("outcome", "happened")]);
    html! {
        p { "Look at what the call is about before you say what became of it." }
        (outcome("happened", html! {
            h3 { "It happened" }
            (result(happened, "happened", "What it returned"))
            button type="submit" { "It happened" }
        }))
        (outcome("run-again", html! {
            h3 { "It may be made again" }
            p.sub { "Whether or not it took effect the first time." }
            button type="submit" { "Run it again" }
        }))
        (outcome("give-up", html! {
            h3 { "Nobody can tell" }
            label for="give-up-note" { "Note " span.sub { "(the model reads it; may stay empty)" } }
            textarea #give-up-note name="note" rows="2" {}
            button type="submit" { "Give up" }
        }))
    }
}

fn answer(pause: &Pause, slip: Option<&Slip>) -> Markup {
    match &pause.ask {
        Ask::Choice { options } => choice(pause, options, slip),
        Ask::Text => text(pause, slip),
        Ask::Form { schema } | Ask::Other { schema, .. } => match Form::of(schema) {
            Some(fields) => fields_of(pause, &fields, slip),
            None => as_json(pause, schema, slip),
        },
        Ask::Approval | Ask::Outcome => html! {},
    }
}

fn choice(pause: &Pause, options: &[Choice], slip: Option<&Slip>) -> Markup {
    let before = Before::of(slip, &[("decision", "respond")]);
    form(
        pause,
        "respond",
        &html! {
            input type="hidden" name="as" value="choice";
            fieldset {
                legend { "Choose one" }
                @for option in options {
                    label.check {
                        input type="radio" name="choice" value=(option.value) required checked[before.get("choice") == Some(&option.value)];
                        " " @match &option.label { Some(label) => { (line(label)) " " (code(&option.value)) } None => (line(&option.value)) }
                    }
                }
            }
            (before.wrong("choice-wrong"))
            button.yes type="submit" { "Answer" }
        },
    )
}

fn text(pause: &Pause, slip: Option<&Slip>) -> Markup {
    let before = Before::of(slip, &[("decision", "respond")]);
    form(
        pause,
        "respond",
        &html! {
            input type="hidden" name="as" value="text";
            label for="answer" { "Your answer" }
            textarea #answer name="result" rows="4" required { (before.get("result").unwrap_or_default()) }
            (before.wrong("answer-wrong"))
            button.yes type="submit" { "Answer" }
        },
    )
}

fn fields_of(pause: &Pause, fields: &Form, slip: Option<&Slip>) -> Markup {
    let before = Before::of(slip, &[("decision", "respond")]);
    form(
        pause,
        "respond",
        &html! {
            input type="hidden" name="as" value="form";
            @for (number, field) in fields.fields().iter().enumerate() { (self::field(number, field, before.get(&field.input))) }
            (before.wrong("form-wrong"))
            button.yes type="submit" { "Answer" }
        },
    )
}

fn field(number: usize, field: &Field, before: Option<&str>) -> Markup {
    let (id, help) = (format!("field-{number}"), format!("field-{number}-help"));
    let value = before.unwrap_or(&field.initial);
    let described = field.help.as_ref().map(|_| &help);
    html! {
        div.field {
            @if let Kind::Truth = field.kind {
                fieldset.line aria-describedby=[described] {
                    legend { (line(&field.label)) @if !field.required { span.sub { " (may stay open)" } } }
                    label.check { input type="radio" name=(field.input) value="true" required[field.required] checked[value == "true"]; " yes" }
                    label.check { input type="radio" name=(field.input) value="false" required[field.required] checked[value == "false"]; " no" }
                }
            } @else {
                label for=(id) { (line(&field.label)) @if !field.required { span.sub { " (may stay empty)" } } }
                @match &field.kind {
                    Kind::Choice(values) => select #(id) name=(field.input) required[field.required] aria-describedby=[described] {
                        option value="" selected[value.is_empty()] { "Choose" }
                        @for own in values { option value=(own) selected[value == own] { (escape::line(own)) } }
                    }
                    Kind::Number { whole } => input #(id) name=(field.input) type="text" inputmode=(if *whole { "numeric" } else { "decimal" }) value=(value) required[field.required] aria-describedby=[described];
                    Kind::Text | Kind::Truth => input #(id) name=(field.input) type="text" value=(value) required[field.required] aria-describedby=[described];
                }
            }
            @if let Some(text) = &field.help { p.sub #(help) { (line(text)) } }
        }
    }
}

fn as_json(pause: &Pause, schema: &serde_json::Value, slip: Option<&Slip>) -> Markup {
    let before = Before::of(slip, &[("decision", "respond")]);
    form(
        pause,
        "respond",
        &html! {
            input type="hidden" name="as" value="json";
            label for="answer" { "Your answer, as JSON" }
            textarea.json #answer name="result" rows="6" spellcheck="false" required { (before.get("result").unwrap_or_default()) }
            (before.wrong("answer-wrong"))
            details { summary { "What it must fit" } pre { (report::pause::pretty(schema)) } }
            button.yes type="submit" { "Answer" }
        },
    )
}
