//! What a form sent: each field once, and none that nobody asked for.

use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use crate::server::problem::Problem;

/// Fields of one form.
const FIELDS_MAX: usize = 64;

pub type Sent = Result<Form<Vec<(String, String)>>, FormRejection>;

#[derive(Clone, Debug, Default)]
pub struct Given(Vec<(String, String)>);

impl Given {
    pub fn read(sent: Sent) -> Result<Self, Problem> {
        let Form(pairs) = sent.map_err(|rejection| match rejection.into_response().status() {
            StatusCode::PAYLOAD_TOO_LARGE => Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "that is larger than this server takes"),
            _ => Problem::bad_request("the form could not be read"),
        })?;
        Self::of(pairs).map_err(Problem::bad_request)
    }

    pub fn of(pairs: Vec<(String, String)>) -> Result<Self, String> {
        if pairs.len() > FIELDS_MAX {
            return Err(format!("the form has over {FIELDS_MAX} fields"));
        }
        for (at, (name, _)) in pairs.iter().enumerate() {
            if pairs[..at].iter().any(|(other, _)| other == name) {
                return Err("the form has a field twice".to_owned());
            }
        }
        Ok(Self(pairs))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Text with the line breaks that were typed: browsers send them as CR LF.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(|text| text.replace("\r\n", "\n"))
    }

    /// That nothing stands beside `names`, and names that start with `prefix`.
    pub fn has_only(&self, names: &[&str], prefix: Option<&str>) -> Result<(), String> {
        let is_meant = |name: &str| names.contains(&name) || prefix.is_some_and(|prefix| name.starts_with(prefix));
        match self.0.iter().find(|(name, _)| !is_meant(name)) {
            None => Ok(()),
            Some((name, _)) => Err(format!("the form has a field `{name}` that this decision does not take")),
        }
    }
}
