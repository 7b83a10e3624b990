//! A component of what a compiler made: a core module for preview 1, or for nothing.

use wasi_preview1_component_adapter_provider::{WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER};
use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::BuildError;
use super::embedded::write_wit;

/// Bytes of a core module; more is no plugin that a host would load.
pub const CORE_BYTES_MAX: u64 = 64 << 20;

/// The contract's optional export, and the world that has it.
const RECONCILE: (&str, &str) = ("pausegate:plugin/reconcile@0.1.0#reconcile", "plugin-reconciling");

/// Without `world` the module says itself, in a section that C bindings bring along, what it implements. A module that has
/// the optional export implements that too, whatever either says.
pub fn of_core(mut core: Vec<u8>, world: Option<&str>) -> Result<Vec<u8>, BuildError> {
    let told = |error: &dyn std::fmt::Display| BuildError::Component(format!("{error:#}"));
    let (export, reconciling) = RECONCILE;
    let reconciling = exports(&core, export).then_some(reconciling);
    for world in world.into_iter().chain(reconciling) {
        let (resolve, world) = contract(world)?;
        embed_component_metadata(&mut core, &resolve, world, StringEncoding::UTF8, false).map_err(|error| told(&error))?;
    }
    ComponentEncoder::default()
        .validate(true)
        .module(&core)
        .and_then(|encoder| encoder.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER))
        .and_then(|encoder| encoder.encode())
        .map_err(|error| told(&error))
}

/// What cannot be read exports nothing, and is refused where a component is made of it.
fn exports(core: &[u8], name: &str) -> bool {
    let sections = Parser::new(0).parse_all(core).map_while(Result::ok);
    let exports = sections.filter_map(|payload| if let Payload::ExportSection(exports) = payload { Some(exports) } else { None });
    exports.flatten().filter_map(Result::ok).any(|export| export.name == name)
}

/// A world of `wit/`.
fn contract(world: &str) -> Result<(Resolve, wit_parser::WorldId), BuildError> {
    let told = |error: &dyn std::fmt::Display| BuildError::Component(format!("{error:#}"));
    let folder = tempfile::tempdir().map_err(|source| BuildError::Files { path: std::env::temp_dir(), source })?;
    write_wit(folder.path()).map_err(|source| BuildError::Files { path: folder.path().to_owned(), source })?;
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(folder.path()).map_err(|error| told(&error))?;
    let world = resolve.select_world(&[package], Some(world)).map_err(|error| told(&error))?;
    Ok((resolve, world))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Implements the contract as far as its types go: it traps when it is asked.
    const CORE: &str = r#"(module
        (memory (export "memory") 1)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
        (func (export "pausegate:plugin/tools@0.1.0#list-tools") (result i32) unreachable)
        (func (export "pausegate:plugin/tools@0.1.0#call-tool") (param i32) (result i32) unreachable))"#;

    #[test]
    fn a_core_module_becomes_a_component_of_the_world_it_is_told() {
        let component = of_core(wat::parse_str(CORE).unwrap(), Some("plugin")).unwrap();
        assert!(component.windows(28).any(|window| window == b"pausegate:plugin/tools@0.1.0"));
        assert_eq!(component[4], 0x0d, "the version that components have");
    }

    #[test]
    fn what_can_tell_what_became_of_a_call_is_made_a_component_that_says_so() {
        let name = "pausegate:plugin/reconcile@0.1.0";
        let says_so = |component: &[u8]| component.windows(name.len()).any(|window| window == name.as_bytes());
        let export = format!(r#"(func (export "{name}#reconcile") (param i32) (result i32) unreachable))"#);
        let reconciling = CORE.strip_suffix(')').unwrap().to_owned() + &export;
        assert!(says_so(&of_core(wat::parse_str(reconciling).unwrap(), Some("plugin")).unwrap()));
        assert!(!says_so(&of_core(wat::parse_str(CORE).unwrap(), Some("plugin")).unwrap()));
    }

    #[test]
    fn what_does_not_fit_is_told_and_never_a_panic() {
        let refused = |bytes: Vec<u8>, world: Option<&str>| of_core(bytes, world).unwrap_err().to_string();
        assert!(refused(wat::parse_str("(module)").unwrap(), Some("plugin")).contains("list-tools"));
        assert!(refused(wat::parse_str(CORE).unwrap(), Some("nowhere")).contains("nowhere"));
        refused(b"\0asm".to_vec(), Some("plugin"));
        refused(Vec::new(), None);
        refused(wat::parse_str("(component)").unwrap(), None);
    }
}
