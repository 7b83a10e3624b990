//! What an author waits for: from `new` to the answer of the first `call`, with the language's compiler there and nothing
//! kept from before.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};

use crate::measure::Spent;
use crate::process::children_cpu;
use crate::world::scratch;

const PROJECT: &str = "tidy";

/// `language` is a name of the conformance suite.
pub fn measure(language: &str) -> anyhow::Result<Spent> {
    let scratch = scratch()?;
    let place = scratch.path();
    let project = place.join(PROJECT);
    let lang = if language == "starlingmonkey" { "typescript" } else { language };
    let (wall, cpu) = (Instant::now(), children_cpu()?);
    pausegate(place, place, &["new", "--lang", lang, PROJECT])?;
    let between = (wall.elapsed(), children_cpu()?);
    equip(language, &project)?;
    let (wall, again) = (Instant::now(), children_cpu()?);
    pausegate(place, &project, &["build"])?;
    pausegate(place, &project, &["call", "tidy__greet", r#"{"name": "Ada"}"#, "--plugins", "plugins"])?;
    Ok(Spent { cpu: between.1 - cpu + (children_cpu()? - again), wall: between.0 + wall.elapsed() })
}

fn pausegate(place: &Path, folder: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pausegate"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    for variable in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"] {
        command.env(variable, place.join("home"));
    }
    // Nothing that compilers keep of an earlier build.
    command.env("GOCACHE", place.join("go-cache")).env("ZIG_GLOBAL_CACHE_DIR", place.join("zig-cache"));
    command.env("GO", tools().join("go/bin/go")).env("ZIG", format!("{} -m ziglang", tools().join("zig/bin/python").display()));
    command.env("PAUSEGATE_COMPONENTIZE_JS", tools().join("starlingmonkey/node_modules/@bytecodealliance/componentize-js/src/componentize.js"));
    let ended = command.output()?;
    ensure!(ended.status.success(), "`pausegate {}` ended with {}: {}", arguments.join(" "), ended.status, String::from_utf8_lossy(&ended.stderr));
    Ok(())
}

/// What the project's README has its author install, from what the scripts in `tools/` installed.
fn equip(language: &str, project: &Path) -> anyhow::Result<()> {
    match language {
        "python" => symlink(tools().join("python"), project.join(".venv")).context("the link to componentize-py"),
        "typescript" | "starlingmonkey" => {
            let modules = project.join("node_modules");
            fs::create_dir(&modules)?;
            for module in fs::read_dir(root().join("sdk/javascript/node_modules")).context("`tools/build-javascript.sh` installs it")? {
                let module = module?;
                symlink(module.path(), modules.join(module.file_name()))?;
            }
            symlink(project.join("sdk"), modules.join("pausegate-sdk"))?;
            if language == "starlingmonkey" {
                let manifest = fs::read_to_string(project.join("package.json"))?;
                let chosen = manifest.replacen('{', "{ \"pausegate\": { \"engine\": \"starlingmonkey\" },", 1);
                fs::write(project.join("package.json"), chosen)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn tools() -> PathBuf {
    root().join("target/tools")
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().unwrap_or(root)
}
