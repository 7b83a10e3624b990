//! Makes a component of a core module, for the languages whose compilers stop there.
//!
//! `componentize CORE.wasm OUT.wasm [WIT WORLD]`: with `WIT` and `WORLD` the module is told what it implements; without
//! them it says so itself, in a section that C bindings bring along. A module that exports `reconcile`, which the contract
//! leaves open, implements that too.

use std::path::Path;

use anyhow::{Context, Result, bail};
use wasi_preview1_component_adapter_provider::{WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER};
use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Where the contract is, for a module that says by itself what it implements.
const WIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit");
const RECONCILE: &str = "pausegate:plugin/reconcile@0.1.0#reconcile";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (core, out, world) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [core, out] => (core, out, None),
        [core, out, wit, world] => (core, out, Some((wit, world))),
        _ => bail!("usage: componentize CORE.wasm OUT.wasm [WIT WORLD]"),
    };
    let mut module = std::fs::read(core).with_context(|| format!("reading {core}"))?;
    let wit = world.map_or(WIT, |(wit, _)| wit);
    let reconciling = exports(&module, RECONCILE)?.then_some((wit, "plugin-reconciling"));
    for (wit, world) in world.into_iter().chain(reconciling) {
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(wit).with_context(|| format!("reading {wit}"))?;
        let world = resolve.select_world(&[package], Some(world))?;
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false)?;
    }
    let component = ComponentEncoder::default()
        .validate(true)
        .module(&module)?
        .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)?
        .encode()
        .with_context(|| format!("{core} does not fit the contract"))?;
    write_in_one_step(Path::new(out), &component).with_context(|| format!("writing {out}"))
}

fn exports(module: &[u8], name: &str) -> Result<bool> {
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::ExportSection(exports) = payload? {
            for export in exports {
                if export?.name == name {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// A host that watches the folder never sees half a file.
fn write_in_one_step(out: &Path, bytes: &[u8]) -> Result<()> {
    let name = out.file_name().context("no file name")?.to_string_lossy();
    let beside = out.with_file_name(format!(".{name}.new"));
    std::fs::write(&beside, bytes)?;
    std::fs::rename(beside, out)?;
    Ok(())
}
