//! What reads the enemy's bytes, apart from wasmtime: the host's own files, and for each reader a target that states what
//! must hold of any bytes. The fuzzers in `fuzz_targets/` drive the targets; so do the host's ordinary tests.

#![expect(dead_code, unused_imports, reason = "of the host's modules only the readers are used")]

#[path = "../../host/src"]
mod host {
    pub mod call;
    pub mod capability;
    pub mod chain;
    pub mod config {
        mod document;
        mod error;
        mod file;
        pub mod grants;
        pub mod places;
        mod units;

        pub use self::error::ConfigError;
        use self::file::read_file;
        pub use self::places::Places;
    }

    pub mod counted;
    pub mod digest;
    pub mod event;
    pub mod file;
    pub mod notice;
    pub mod pause;
    pub mod state;

    pub mod journal {
        pub mod record;
    }

    pub mod plugin {
        use serde_json::Value;

        use crate::pause::Ask;

        mod lift;
        mod scrub;
        mod text;
        mod vault;

        pub mod http {
            pub mod form;
        }

        pub mod net {
            /// Of addresses nothing is asked here.
            pub fn is_private(_: std::net::IpAddr) -> bool {
                true
            }
        }

        #[path = "../../../fuzz/src/bindings.rs"]
        mod bindings;
        pub use self::fuzz::lifted;
        pub use self::http::form as request_form;

        #[path = "../../../fuzz/src/targets"]
        mod fuzz {
            pub mod lifted;
        }

        /// As `plugin.rs` has it.
        pub struct Asked {
            pub key: String,
            pub reason: String,
            pub context: Option<Value>,
            pub ask: Ask,
            pub state: Option<Vec<u8>>,
        }
    }
}

pub mod targets;

use host::{call, capability, chain, config, counted, digest, event, file, journal, notice, pause, plugin, state};
