//! Who holds a chain, in words for people.

use std::fs;

/// `pid 4711 on host, since 2026-01-02T03:04:05Z`
pub fn holder(since: jiff::Timestamp) -> String {
    format!("pid {} on {}, since {since:.0}", std::process::id(), host())
}

fn host() -> String {
    let name = ["/proc/sys/kernel/hostname", "/etc/hostname"].iter().find_map(|path| fs::read_to_string(path).ok());
    name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| "this host".to_owned())
}
