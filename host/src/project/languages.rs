//! What makes a component in each language.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::component::{CORE_BYTES_MAX, of_core};
use super::tool::Tool;
use super::toolchain::{NPM_INSTALL, Toolchain};
use super::{BuildError, Folder, Language};
use crate::file;

/// The world that bindings of the SDKs are made for; what a plugin does not call is not imported.
const WORLD: &str = "plugin-sdk";
/// Sources of the C SDK that belong into a component.
const C_SOURCES: [&str; 8] = [
    "call.c",
    "schema.c",
    "host_wasm.c",
    "http_wasm.c",
    "kv_wasm.c",
    "yyjson/yyjson.c",
    "bindings/plugin_sdk.c",
    "bindings/plugin_sdk_component_type.o",
];

pub fn build(folder: &Folder, cancel: &CancellationToken) -> Result<Vec<u8>, BuildError> {
    let scratch = tempfile::tempdir().map_err(|source| BuildError::Files { path: env::temp_dir(), source })?;
    let step = Step { folder, tools: Toolchain { folder: &folder.path, cancel }, made: scratch.path().join("plugin.wasm"), cancel };
    match folder.language {
        Language::Rust => step.rust(),
        Language::Python => step.python(),
        Language::Typescript | Language::Javascript => step.javascript(),
        Language::Go => step.go(),
        Language::C => step.c(),
    }
}

struct Step<'a> {
    folder: &'a Folder,
    tools: Toolchain<'a>,
    /// Where a tool is told to write.
    made: PathBuf,
    cancel: &'a CancellationToken,
}

impl Step<'_> {
    /// Cargo says itself which file it made.
    fn rust(&self) -> Result<Vec<u8>, BuildError> {
        let mut cargo = self.tools.cargo()?;
        cargo.args(["build", "--release", "--target", "wasm32-wasip2", "--message-format", "json-render-diagnostics"]);
        let said = self.run("cargo build", cargo)?;
        match artifacts(&String::from_utf8_lossy(&said)).as_slice() {
            [only] => read(Path::new(only)),
            [] => Err(BuildError::Component("the package has no library of `crate-type = [\"cdylib\"]`".to_owned())),
            several => Err(BuildError::Component(format!("the package makes {} components, a plugin is one", several.len()))),
        }
    }

    fn python(&self) -> Result<Vec<u8>, BuildError> {
        let mut python = self.tools.python()?;
        python.args(["-m", "pausegate.build"]).args(&self.folder.sources).arg("-o").arg(&self.made);
        if self.folder.path.join("pausegate").is_dir() {
            python.env("PYTHONPATH", &self.folder.path);
        }
        self.run("componentize-py", python)?;
        read(&self.made)
    }

    fn javascript(&self) -> Result<Vec<u8>, BuildError> {
        let mut node = self.tools.node()?;
        let installed = self.folder.path.join("node_modules/pausegate-sdk/bin/pausegate-js.mjs");
        if !installed.exists() {
            return Err(BuildError::Missing { what: "pausegate-sdk in node_modules".to_owned(), get: NPM_INSTALL.to_owned() });
        }
        node.arg("node_modules/pausegate-sdk/bin/pausegate-js.mjs").arg("build").args(&self.folder.sources).arg("-o").arg(&self.made);
        self.run("pausegate-js build", node)?;
        read(&self.made)
    }

    fn go(&self) -> Result<Vec<u8>, BuildError> {
        let mut go = self.tools.go()?;
        go.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=mod").env("GOOS", "wasip1").env("GOARCH", "wasm");
        // The SDK's runtime part links to the memory allocator of Go's own, which a flag must allow.
        go.args(["build", "-trimpath", "-buildmode=c-shared", "-ldflags=-checklinkname=0 -s -w", "-o"]).arg(&self.made).arg(".");
        self.run("go build", go)?;
        of_core(read(&self.made)?, Some(WORLD))
    }

    fn c(&self) -> Result<Vec<u8>, BuildError> {
        let sdk = self.folder.path.join("sdk");
        let mut compiler = self.tools.c()?;
        compiler.args(["-std=gnu17", "-Wall", "-Wextra", "-Wno-missing-field-initializers"]);
        // Small: hosts read, hash and compile it. The stack's size is the memory at rest.
        compiler.args(["-Os", "-ffunction-sections", "-fdata-sections", "-mexec-model=reactor", "-I"]).arg(&sdk);
        compiler.args(C_SOURCES.iter().map(|source| sdk.join(source))).args(&self.folder.sources);
        compiler.args(["-Wl,--gc-sections,--strip-all,-z,stack-size=1048576", "-o"]).arg(&self.made);
        self.run("the C compiler", compiler)?;
        of_core(read(&self.made)?, None)
    }

    fn run(&self, name: &str, mut command: Command) -> Result<Vec<u8>, BuildError> {
        command.current_dir(&self.folder.path);
        Tool::new(name, command).run(self.cancel)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, BuildError> {
    file::read(path, CORE_BYTES_MAX).map_err(|source| BuildError::Files { path: path.to_owned(), source })
}

/// Components that cargo made of the package itself, from its messages.
fn artifacts(messages: &str) -> Vec<String> {
    let of_message = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let made = message["reason"] == "compiler-artifact" && message["target"]["crate_types"].as_array()?.iter().any(|kind| kind == "cdylib");
        let file = message["filenames"].as_array()?.iter().filter_map(Value::as_str).find(|file| file.ends_with(".wasm"))?;
        made.then(|| file.to_owned())
    };
    messages.lines().filter_map(of_message).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_component_is_what_cargo_says_it_made() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"crate_types":["lib"]},"filenames":["/t/libserde.rlib"]}"#,
            "\nnot json\n",
            r#"{"reason":"compiler-artifact","target":{"crate_types":["cdylib"]},"filenames":["/t/plugin.wasm"]}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(artifacts(messages), ["/t/plugin.wasm"]);
    }
}
