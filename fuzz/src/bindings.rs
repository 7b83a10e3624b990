//! The types of `wit/plugin.wit` that a guest hands over, as the host's bindings have them; those need wasmtime.

pub mod types {
    pub type Meta = Vec<(String, String)>;

    pub struct Success {
        pub content: Vec<Content>,
        pub meta: Meta,
    }

    pub struct Content {
        pub body: Body,
        pub meta: Meta,
    }

    pub enum Body {
        Text(String),
        Structured(String),
        Blob(Blob),
    }

    pub struct Blob {
        pub media_type: String,
        pub data: Vec<u8>,
    }

    pub struct Failure {
        pub kind: String,
        pub message: String,
        pub retry_after_ms: Option<u32>,
        pub effect: EffectState,
        pub meta: Meta,
    }

    pub enum EffectState {
        None,
        Maybe,
        Happened,
    }

    pub struct Pause {
        pub key: String,
        pub reason: String,
        pub context: Option<String>,
        pub ask: Ask,
        pub state: Option<Vec<u8>>,
        pub meta: Meta,
    }

    pub enum Ask {
        Approval,
        Choice(Vec<Choice>),
        Text,
        Form(String),
        Other(Question),
    }

    pub struct Choice {
        pub value: String,
        pub label: Option<String>,
    }

    pub struct Question {
        pub kind: String,
        pub schema: String,
    }
}
