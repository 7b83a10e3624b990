//! From a name on the command line to a model.

use std::path::Path;
use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::anthropic::{self, Messages};
use super::gemini::Gemini;
use super::ollama::Ollama;
use super::openai::Chat;
use super::patience::Patience;
use super::remote::{self, Remote, Waiting, Wire};
use super::responses::Responses;
use super::script::Script;
use super::{Model, ModelError};

/// For the error about a name that fits none.
pub const KNOWN: &str = "`script:FILE`, `anthropic:NAME` or `claude-…`, `openai:NAME` or `gpt-…`, `openai-responses:NAME`, \
                         `gemini:NAME` or `gemini-…`, `ollama:NAME`";

type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The model called `name`, with keys and addresses from `env`. Nothing is sent yet.
pub fn open(name: &str, env: Environment<'_>) -> Result<Arc<dyn Model>, ModelError> {
    opened(name, env, Patience::default(), None)
}

/// The same, with somebody who is told when a provider is asked again.
pub fn open_telling(name: &str, env: Environment<'_>, waiting: Arc<Waiting>) -> Result<Arc<dyn Model>, ModelError> {
    opened(name, env, Patience::default(), Some(waiting))
}

/// `open` with other waits, for tests.
pub fn open_with(name: &str, env: Environment<'_>, patience: Patience) -> Result<Arc<dyn Model>, ModelError> {
    opened(name, env, patience, None)
}

fn opened(name: &str, env: Environment<'_>, patience: Patience, waiting: Option<Arc<Waiting>>) -> Result<Arc<dyn Model>, ModelError> {
    if let Some(path) = name.strip_prefix("script:") {
        return Ok(Arc::new(Script::read(Path::new(path))?));
    }
    let (family, model) = family(name).ok_or_else(|| ModelError::Unknown(name.to_owned()))?;
    let setting = |variable: &str| env(variable).filter(|value| !value.trim().is_empty());
    let (provider, wire) = family.provider(model);
    let base = provider.base(setting(provider.base_variable).as_deref())?;
    let key = provider.key_variables.iter().find_map(|variable| setting(variable)).map(|key| key.trim().to_owned());
    // A server of one's own may need no key.
    if key.is_none()
        && setting(provider.base_variable).is_none()
        && let Some(variable) = provider.key_variables.first()
    {
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
    let client =
        remote::client(&patience).map_err(|error| ModelError::Unavailable { provider: wire.provider(), attempts: 0, message: error.to_string() })?;
    Ok(Arc::new(Remote { name: name.to_owned(), url: extend(base, &provider.path), headers, secret: key, wire, client, patience, waiting }))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    OpenAiChat,
    OpenAiResponses,
    Anthropic,
    Gemini,
    Ollama,
}

/// Which provider a name is of, and the provider's name for it.
fn family(name: &str) -> Option<(Family, &str)> {
    use Family::{Anthropic, Gemini, Ollama, OpenAiChat, OpenAiResponses};
    if let Some((prefix, model)) = name.split_once(':') {
        let family = match prefix {
            "openai" | "openai-chat" => OpenAiChat,
            "openai-responses" => OpenAiResponses,
            "anthropic" => Anthropic,
            "gemini" => Gemini,
            "ollama" => Ollama,
            _ => return None,
        };
        return (!model.is_empty()).then_some((family, model));
    }
    let digit_after_o = name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| ('1'..='9').contains(&c)));
    match name {
        _ if name.starts_with("gpt-") || name.starts_with("chatgpt-") || digit_after_o => Some((OpenAiChat, name)),
        _ if name.starts_with("claude-") => Some((Anthropic, name)),
        _ if name.starts_with("gemini-") => Some((Gemini, name)),
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
            Self::Anthropic => (Provider::anthropic(), Box::new(Messages { model })),
            Self::OpenAiResponses => (Provider::openai("responses"), Box::new(Responses { model })),
            Self::Gemini => (Provider::gemini(&model), Box::new(Gemini)),
            Self::Ollama => (Provider::ollama(), Box::new(Ollama { model })),
        }
    }
}

impl Provider {
    fn base(&self, setting: Option<&str>) -> Result<Url, ModelError> {
        let bad = |message: String| ModelError::BadSetting { variable: self.base_variable, message };
        let base = setting.map_or_else(|| self.base.to_owned(), |base| (self.read_base)(base.trim()));
        let base = Url::parse(&base).map_err(|error| bad(error.to_string()))?;
        match base.scheme() {
            "http" | "https" => Ok(base),
            _ => Err(bad("it is no `http` or `https` address".into())),
        }
    }

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

    fn anthropic() -> Self {
        Self {
            key_variables: &["ANTHROPIC_API_KEY"],
            key_header: HeaderName::from_static("x-api-key"),
            key_prefix: "",
            base_variable: "ANTHROPIC_BASE_URL",
            base: "https://api.anthropic.com/v1",
            // The variable is usual without the version.
            read_base: |base| match base.trim_end_matches('/') {
                base if base.ends_with("/v1") => base.to_owned(),
                base => format!("{base}/v1"),
            },
            path: "messages".to_owned(),
            headers: [(HeaderName::from_static("anthropic-version"), HeaderValue::from_static(anthropic::VERSION))].into_iter().collect(),
        }
    }

    fn gemini(model: &str) -> Self {
        Self {
            key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            key_header: HeaderName::from_static("x-goog-api-key"),
            key_prefix: "",
            base_variable: "GEMINI_BASE_URL",
            base: "https://generativelanguage.googleapis.com/v1beta",
            read_base: str::to_owned,
            path: format!("models/{model}:streamGenerateContent?alt=sse"),
            headers: HeaderMap::new(),
        }
    }

    fn ollama() -> Self {
        Self {
            key_variables: &[],
            key_header: reqwest::header::AUTHORIZATION,
            key_prefix: "Bearer ",
            base_variable: "OLLAMA_HOST",
            base: "http://127.0.0.1:11434",
            read_base: ollama_host,
            path: "api/chat".to_owned(),
            headers: HeaderMap::new(),
        }
    }
}

/// `OLLAMA_HOST` as Ollama reads it: the scheme and the port may be missing, and the address it listens on by 0.0.0.0 is
/// asked here.
fn ollama_host(host: &str) -> String {
    let with_scheme = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
    let Ok(mut url) = Url::parse(&with_scheme) else { return with_scheme };
    let explicit = host.contains("://") || host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if url.port().is_none() && !explicit {
        _ = url.set_port(Some(11434));
    }
    if url.host_str() == Some("0.0.0.0") {
        _ = url.set_host(Some("127.0.0.1"));
    }
    url.to_string()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, env: &[(&str, &str)]) -> Result<String, String> {
        let env = |variable: &str| env.iter().find(|(name, _)| *name == variable).map(|(_, value)| (*value).to_owned());
        open(name, &env).map(|model| model.name().to_owned()).map_err(|error| error.to_string())
    }

    fn address(name: &str, base: &str) -> String {
        let (family, model) = family(name).unwrap();
        let (provider, _) = family.provider(model);
        extend(provider.base((!base.is_empty()).then_some(base)).unwrap(), &provider.path).to_string()
    }

    #[test]
    fn a_name_finds_its_provider() {
        for name in ["gpt-5", "openai:gpt-5", "openai-chat:o3", "o3-mini", "chatgpt-4o-latest", "openai:ft:gpt-5:me"] {
            assert_eq!(check(name, &[("OPENAI_API_KEY", "k")]), Ok(name.into()));
        }
        for name in ["claude-x", "anthropic:x"] {
            assert_eq!(check(name, &[("ANTHROPIC_API_KEY", "k")]), Ok(name.into()));
        }
        for name in ["gemini-x", "gemini:x"] {
            assert_eq!(check(name, &[("GOOGLE_API_KEY", "k")]), Ok(name.into()));
        }
        assert_eq!(check("ollama:qwen3:8b", &[]), Ok("ollama:qwen3:8b".into()));
        assert_eq!(check("openai-responses:x", &[("OPENAI_API_KEY", "k")]), Ok("openai-responses:x".into()));
        for name in ["", "gtp-5", "omega", "o", "openai:", "nobody:x", "scr:x"] {
            assert_eq!(check(name, &[]), Err(format!("`{name}` is not a model that this version knows; it knows {KNOWN}")));
        }
    }

    #[test]
    fn a_missing_key_is_named_and_a_server_of_ones_own_needs_none() {
        assert_eq!(check("gpt-5", &[("OPENAI_API_KEY", " ")]), Err("OPENAI_API_KEY is not set; model `gpt-5` needs it".into()));
        assert_eq!(check("claude-x", &[]), Err("ANTHROPIC_API_KEY is not set; model `claude-x` needs it".into()));
        assert_eq!(check("gpt-5", &[("OPENAI_BASE_URL", "http://localhost:1/v1")]), Ok("gpt-5".into()));
    }

    #[test]
    fn what_is_wrong_with_a_setting_is_said_without_its_value() {
        assert_eq!(
            check("gpt-5", &[("OPENAI_BASE_URL", "user:secret@host")]),
            Err("OPENAI_BASE_URL cannot be used: it is no `http` or `https` address".into())
        );
        assert_eq!(
            check("gpt-5", &[("OPENAI_API_KEY", "se\ncret")]),
            Err("OPENAI_API_KEY cannot be used: it holds characters that no key has".into())
        );
    }

    #[test]
    fn the_path_stands_behind_the_base() {
        assert_eq!(address("gpt-5", ""), "https://api.openai.com/v1/chat/completions");
        assert_eq!(address("gpt-5", "http://h:1/openai/?v=2"), "http://h:1/openai/chat/completions?v=2");
        assert_eq!(address("claude-x", ""), "https://api.anthropic.com/v1/messages");
        assert_eq!(address("claude-x", "http://h:1"), "http://h:1/v1/messages");
        assert_eq!(address("claude-x", "http://h:1/v1/"), "http://h:1/v1/messages");
        assert_eq!(address("openai-responses:x", ""), "https://api.openai.com/v1/responses");
        assert_eq!(address("gemini-x", ""), "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse");
        for (host, expected) in
            [("", "127.0.0.1:11434"), ("box", "box:11434"), ("0.0.0.0:1234", "127.0.0.1:1234"), ("http://box:1/", "box:1"), ("http://box", "box")]
        {
            assert_eq!(address("ollama:x", host), format!("http://{expected}/api/chat"));
        }
    }
}
