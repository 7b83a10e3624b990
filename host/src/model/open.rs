//! From a name on the command line to a model.

use std::path::Path;
use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::openai::Chat;
use super::patience::Patience;
use super::remote::{self, Remote, Wire};
use super::script::Script;
use super::{Model, ModelError};

/// For the error about a name that fits none.
pub const KNOWN: &str = "`script:FILE`, `anthropic:NAME` or `claude-…`, `openai:NAME` or `gpt-…`, `openai-responses:NAME`, \
                         `gemini:NAME` or `gemini-…`, `ollama:NAME`";

type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The model called `name`, with keys and addresses from `env`. Nothing is sent yet.
pub fn open(name: &str, env: Environment<'_>) -> Result<Arc<dyn Model>, ModelError> {
    open_with(name, env, Patience::default())
}

/// `open` with other waits, for tests.
pub fn open_with(name: &str, env: Environment<'_>, patience: Patience) -> Result<Arc<dyn Model>, ModelError> {
    if let Some(path) = name.strip_prefix("script:") {
        return Ok(Arc::new(Script::read(Path::new(path))?));
    }
    let (family, model) = family(name).ok_or_else(|| ModelError::Unknown(name.to_owned()))?;
    let setting = |variable: &str| env(variable).filter(|value| !value.trim().is_empty());
    let (provider, wire) = family.provider(model);
    let base = match setting(provider.base_variable) {
        Some(base) => Url::parse(&(provider.read_base)(base.trim()))
            .map_err(|error| ModelError::BadSetting { variable: provider.base_variable, message: error.to_string() })?,
        None => Url::parse(provider.base).expect("the default is an address"),
    };
    if !matches!(base.scheme(), "http" | "https") {
        return Err(ModelError::BadSetting { variable: provider.base_variable, message: "it is no `http` or `https` address".into() });
    }
    let own_base = setting(provider.base_variable).is_none();
    let key = provider.key_variables.iter().find_map(|variable| setting(variable)).map(|key| key.trim().to_owned());
    if key.is_none() && own_base && let Some(variable) = provider.key_variables.first() {
        return Err(ModelError::MissingKey { model: name.to_owned(), variable });
    }
    let mut headers = HeaderMap::new();
    if let Some(key) = &key {
        let mut value = HeaderValue::from_str(&format!("{}{key}", provider.key_prefix))
            .map_err(|_| ModelError::BadSetting { variable: provider.key_variables[0], message: "it holds characters that no key has".into() })?;
        value.set_sensitive(true);
        headers.insert(provider.key_header, value);
    }
    headers.extend(provider.headers);
    let client = remote::client(&patience)
        .map_err(|error| ModelError::Unavailable { provider: wire.provider(), attempts: 0, message: error.to_string() })?;
    Ok(Arc::new(Remote { name: name.to_owned(), url: extend(base, &provider.path), headers, secret: key, wire, client, patience }))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    OpenAiChat,
}

/// Which provider a name is of, and the provider's name for it.
fn family(name: &str) -> Option<(Family, &str)> {
    use Family::*;
    if let Some((prefix, model)) = name.split_once(':') {
        let family = match prefix {
            "openai" | "openai-chat" => OpenAiChat,
            _ => return None,
        };
        return (!model.is_empty()).then_some((family, model));
    }
    let digit_after_o = name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| ('1'..='9').contains(&c)));
    match name {
        _ if name.starts_with("gpt-") || name.starts_with("chatgpt-") || digit_after_o => Some((OpenAiChat, name)),
        _ => None,
    }
}

/// Where and how a provider is spoken to.
struct Provider {
    key_variables: &'static [&'static str],
    key_header: HeaderName,
    key_prefix: &'static str,
    base_variable: &'static str,
    base: &'static str,
    read_base: fn(&str) -> String,
    path: String,
    headers: HeaderMap,
}

impl Family {
    fn provider(self, model: &str) -> (Provider, Box<dyn Wire>) {
        let model = model.to_owned();
        match self {
            Self::OpenAiChat => (Provider::openai("chat/completions"), Box::new(Chat { model })),
        }
    }
}

impl Provider {
    fn openai(path: &str) -> Self {
        Self {
            key_variables: &["OPENAI_API_KEY"],
            key_header: reqwest::header::AUTHORIZATION,
            key_prefix: "Bearer ",
            base_variable: "OPENAI_BASE_URL",
            base: "https://api.openai.com/v1",
            read_base: str::to_owned,
            path: path.to_owned(),
            headers: HeaderMap::new(),
        }
    }
}

/// `base` with `path` after it; a query of the base's own stays.
fn extend(mut base: Url, path: &str) -> Url {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let whole = format!("{}/{path}", base.path().trim_end_matches('/'));
    base.set_path(&whole);
    if let Some(query) = query {
        base.query_pairs_mut().extend_pairs(url::form_urlencoded::parse(query.as_bytes()));
    }
    base
}
