//! Values and settings, through every function of the interfaces.

use std::collections::BTreeMap;

use pausegate_sdk::{Failure, Json, tool};

use bindings::wasi::config::store as config;
use bindings::wasi::keyvalue::store::{self, Error};
use bindings::wasi::keyvalue::{atomics, batch};

/// Keeps, reads and counts values: `op` on `key`, or on every key of `keys`.
#[tool]
pub(crate) fn kv(
    op: String,
    #[serde(default)] key: String,
    #[serde(default)] value: String,
    #[serde(default)] number: u64,
) -> Result<String, Failure> {
    Ok(said(&op, &key, &value, number))
}

/// The same as `kv`, declared read-only.
#[tool(effects = "read-only")]
pub(crate) fn kv_as_reader(
    op: String,
    #[serde(default)] key: String,
    #[serde(default)] value: String,
    #[serde(default)] number: u64,
) -> Result<String, Failure> {
    Ok(said(&op, &key, &value, number))
}

/// Tells the settings that the operator made.
#[tool(effects = "read-only")]
pub(crate) fn settings(#[serde(default)] key: String) -> Result<Json<BTreeMap<String, String>>, Failure> {
    Ok(Json(match key.as_str() {
        "" => config::get_all().unwrap_or_default().into_iter().collect(),
        key => config::get(key).ok().flatten().map(|value| (key.to_owned(), value)).into_iter().collect(),
    }))
}

pub(crate) fn said(op: &str, key: &str, value: &str, number: u64) -> String {
    match done(op, key, value, number) {
        Ok(text) => format!("ok: {text}"),
        Err(Error::NoSuchStore) => "error: no such store".into(),
        Err(Error::AccessDenied) => "error: access denied".into(),
        Err(Error::Other(why)) => format!("error: {why}"),
    }
}

fn done(op: &str, key: &str, value: &str, number: u64) -> Result<String, Error> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let count = usize::try_from(number).unwrap_or(usize::MAX);
    let keys = || -> Vec<String> { (0..count).map(|n| format!("{key}{n}")).collect() };
    let bucket = store::open(if op == "open" { key } else { "" })?;
    Ok(match op {
        "open" => "open".into(),
        "get" => bucket.get(key)?.map_or("nothing".into(), text),
        "set" => bucket.set(key, value.as_bytes()).map(|()| "set".into())?,
        "set_bytes" => bucket.set(key, &vec![b'x'; count]).map(|()| "set".into())?,
        "long_key" => bucket.set(&"k".repeat(count), b"x").map(|()| "set".into())?,
        "delete" => bucket.delete(key).map(|()| "deleted".into())?,
        "exists" => bucket.exists(key)?.to_string(),
        "list" => {
            let page = bucket.list_keys((number > 0).then_some(number))?;
            format!("{} {:?}", page.keys.join(","), page.cursor)
        }
        "increment" => atomics::increment(&bucket, key, number)?.to_string(),
        "get_many" => {
            batch::get_many(&bucket, &keys())?.into_iter().map(|pair| pair.map_or("-".into(), |(_, value)| text(value))).collect::<Vec<_>>().join(",")
        }
        "set_many" => {
            let pairs: Vec<_> = keys().into_iter().map(|key| (key, value.as_bytes().to_vec())).collect();
            batch::set_many(&bucket, &pairs).map(|()| "set".into())?
        }
        "delete_many" => batch::delete_many(&bucket, &keys()).map(|()| "deleted".into())?,
        "hoard" => {
            let handles: Result<Vec<_>, _> = (0..count).map(|_| store::open("default")).collect();
            handles?.len().to_string()
        }
        other => format!("no operation {other}"),
    })
}

mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit/deps/keyvalue", "../../../wit/deps/config"],
        inline: "package probe:values; world imports {
            import wasi:keyvalue/store@0.2.0-draft;
            import wasi:keyvalue/atomics@0.2.0-draft;
            import wasi:keyvalue/batch@0.2.0-draft;
            import wasi:config/store@0.2.0-rc.1;
        }",
        world: "probe:values/imports",
        generate_all,
    });
}
