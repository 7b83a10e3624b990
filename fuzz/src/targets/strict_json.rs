//! Arguments, decisions and answers: one meaning or a refusal.

use serde_json::Value;

use crate::call::arguments::{DEPTH_MAX, read, read_json};
use crate::digest::canonical;

pub const SEEDS: &[&[u8]] = &[
    include_bytes!("../../seeds/strict_json/arguments.json"),
    include_bytes!("../../seeds/strict_json/twice.json"),
    include_bytes!("../../seeds/strict_json/numbers.json"),
    include_bytes!("../../seeds/strict_json/beyond.json"),
    include_bytes!("../../seeds/strict_json/decision.json"),
];

pub fn target(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(value) = read_json(text) {
        let (keys, depth) = measure(&value);
        assert_eq!(keys, colons(text), "a key was lost, or stood twice");
        assert!(depth <= DEPTH_MAX);
        assert_eq!(canonical(&read_json(&canonical(&value)).expect("the canonical text is strict")), canonical(&value));
        // As the journal keeps it.
        let stored = serde_json::to_string(&value).expect("it is JSON");
        assert_eq!(canonical(&serde_json::from_str::<Value>(&stored).expect("it is JSON")), canonical(&value), "a journal gives back the same value");
    }
    if let Ok(arguments) = read(text) {
        assert!(arguments.value.is_object());
        assert_eq!(arguments.canonical, canonical(&arguments.value));
        assert_eq!(read(&arguments.canonical).expect("the canonical text is strict"), arguments);
    }
    // Any decision that is read writes itself the same.
    if let Ok(decision) = crate::pause::Decision::read(text) {
        let written = serde_json::to_string(&decision).expect("decisions serialize");
        assert_eq!(crate::pause::Decision::read(&written), Ok(decision));
    }
}

/// Keys of all objects, and the depth.
fn measure(value: &Value) -> (usize, usize) {
    match value {
        Value::Object(map) => {
            let inner = map.values().map(measure);
            inner.fold((map.len(), 1), |(keys, depth), (more, below)| (keys + more, depth.max(below + 1)))
        }
        Value::Array(list) => list.iter().map(measure).fold((0, 1), |(keys, depth), (more, below)| (keys + more, depth.max(below + 1))),
        _ => (0, 0),
    }
}

/// Outside of strings: as many as there are keys.
fn colons(text: &str) -> usize {
    let (mut found, mut inside, mut escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b':' if !inside => found += 1,
            _ => {}
        }
    }
    found
}
