//! The grants file: read whole or refused with a line; what was read judges any call.

use std::path::Path;

use serde_json::json;

use crate::call::Effects;
use crate::capability::judge::CallFacts;
use crate::capability::pattern::{UrlPattern, UrlTemplate};
use crate::capability::{Access, Grants, Opening};
use crate::config::grants::read;
use crate::config::{ConfigError, Places};
use crate::digest::Digest;

pub const SEEDS: &[&[u8]] = &[
    include_bytes!("../../seeds/grants_file/files.toml"),
    include_bytes!("../../seeds/grants_file/requests.toml"),
    include_bytes!("../../seeds/grants_file/rules.toml"),
];

pub fn target(bytes: &[u8]) {
    let file = Path::new("/none/pausegate/grants.toml");
    match read(bytes, file, &Places::default(), "host") {
        Ok(grants) => check(&grants),
        Err(ConfigError::Line { line, reason, .. }) => {
            let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
            assert!((1..=lines).contains(&line) && !reason.is_empty(), "line {line} of {lines}: {reason}");
        }
        Err(other) => panic!("an error without its line: {other}"),
    }
}

fn check(grants: &Grants) {
    for (name, section) in &grants.plugins {
        for line in &section.http {
            let template = UrlTemplate::parse(&line.url).expect("it was read");
            assert_eq!(template.to_string(), line.url, "a URL pattern is kept in its normal form");
            assert!(UrlPattern::parse(&template.widest()).is_ok() || template.widest().len() > line.url.len());
        }
        for arguments in [json!({}), json!({"path": "/build/a", "city": "Ulm", "n": 3}), json!({"path": "/build/../etc", "city": ".."})] {
            for effects in [Effects::ReadOnly, Effects::Once] {
                check_call(grants, name, effects, &arguments);
            }
        }
    }
}

fn check_call(grants: &Grants, plugin: &str, effects: Effects, arguments: &serde_json::Value) {
    let tool = format!("{plugin}__delete");
    let other = Digest::of_bytes(b"other bytes");
    let judgement = grants.judge(CallFacts { plugin, plugin_digest: &other, tool: &tool, effects, arguments, today: jiff::civil::date(2026, 6, 15) });
    let all = judgement.held.clone().with(&judgement.opens);
    if effects == Effects::ReadOnly {
        assert!(all.effectful().is_empty(), "{all:?}");
    }
    for line in &all.fs {
        assert!(
            line.only.is_none() || line.access == Access::None || line.only.as_deref() == arguments["path"].as_str().or(arguments["city"].as_str())
        );
    }
    for opening in &judgement.opens {
        assert!(!matches!(opening, Opening::Use(_)), "no file approves one use");
    }
}
