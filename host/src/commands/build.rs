//! `build [DIR]`: a plugin's folder becomes a checked `.wasm` file, in one step or not at all.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::check::Checked;
use super::failure::Failure;
use super::setup::{Flags, Setup};
use super::{exit, interrupt, runtime};
use crate::plugin::is_plugin_name;
use crate::project::component::{CORE_BYTES_MAX, of_core};
use crate::project::{BuildError, Folder};
use crate::report::{self, escape};

mod watch;

/// Build a plugin's folder into a checked `.wasm` file
#[derive(Args)]
#[command(after_help = "Examples:
  pausegate build                       # this folder, into plugins/FOLDER.wasm
  pausegate build ./tidy --watch
  pausegate build core.wasm --world plugin --out plugins/mine.wasm

A core module (of a language without an SDK) becomes a component of the world that it is told, or that it says itself.")]
pub struct Build {
    /// The folder, or a core WebAssembly module
    #[arg(value_name = "DIR", default_value = ".")]
    source: PathBuf,
    /// The file to write; `DIR/plugins/NAME.wasm` unless given
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Build again whenever a file changes, until it is interrupted
    #[arg(long)]
    watch: bool,
    /// A core module's world in `wit/`, such as `plugin`
    #[arg(long, value_name = "WORLD")]
    world: Option<String>,
}

/// What is built, and where it goes.
struct Job {
    source: Source,
    out: PathBuf,
}

enum Source {
    Folder(Folder),
    Core { file: PathBuf, world: Option<String> },
}

impl Build {
    /// 1 where it does not build, or would not load.
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        let job = self.job()?;
        runtime::full(async {
            let interrupt = interrupt::on_signal()?;
            if self.watch {
                return watch::run(&setup, &job, &interrupt).await;
            }
            job.run(&setup, &interrupt).await
        })
    }

    fn job(&self) -> Result<Job, Failure> {
        let (source, name, beside) = if self.source.is_file() {
            let name = self.source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (Source::Core { file: self.source.clone(), world: self.world.clone() }, name, PathBuf::new())
        } else if self.world.is_some() {
            return Err(Failure::usage("`--world` is for a core module, and this is a folder"));
        } else {
            let folder = Folder::recognise(&self.source)?;
            let name = folder.name();
            (Source::Folder(folder), name, self.source.clone())
        };
        let out = self.out.clone().unwrap_or_else(|| beside.join("plugins").join(format!("{name}.wasm")));
        let stem = out.file_stem().unwrap_or_default().to_string_lossy();
        if !is_plugin_name(&stem) || out.extension().is_none_or(|ending| ending != "wasm") {
            let message = format!("`{}` is no plugin's file name", out.display());
            return Err(
                Failure::usage(message).hint("name one with `--out plugins/NAME.wasm`: lower-case letters and digits, joined by single `-` or `_`")
            );
        }
        Ok(Job { source, out })
    }
}

impl Job {
    async fn run(&self, setup: &Setup, interrupt: &CancellationToken) -> Result<u8, Failure> {
        let component = self.component(interrupt).await?;
        let scratch = tempfile::tempdir().map_err(|error| Failure::new(exit::FAILED, "there is no place for temporary files").because(error))?;
        // Under the name that it will be loaded by, outside any folder that a host watches.
        let unchecked = scratch.path().join(self.out.file_name().unwrap_or_default());
        fs::write(&unchecked, &component).map_err(|error| unwritten(&unchecked, error))?;
        let checked = Checked::of(setup, &unchecked).await?;
        checked.notes.iter().for_each(|note| report::note(&format!("worth a look: {}", escape::line(note))));
        if !checked.problems.is_empty() {
            let failure = Failure::new(exit::FAILED, format!("what was built would not load, so `{}` is as it was", self.out.display()));
            return Err(checked.problems.iter().fold(failure, |failure, problem| failure.because(problem)));
        }
        replace(&self.out, &component).map_err(|error| unwritten(&self.out, error))?;
        report::data(&self.out.display().to_string());
        let tools: Vec<_> = checked.catalogue.tools.iter().map(|tool| escape::line(&tool.name)).collect();
        let folder = self.out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        report::note(&format!("{} KiB, offers {}", component.len().div_ceil(1024), tools.join(", ")));
        if let Some(first) = tools.first() {
            report::note(&format!("try it: `pausegate call {first} '{{…}}' --plugins {}`", folder.display()));
        }
        Ok(exit::COMPLETED)
    }

    /// What the compiler says where it fails is shown as it is.
    async fn component(&self, interrupt: &CancellationToken) -> Result<Vec<u8>, Failure> {
        let made = match &self.source {
            Source::Folder(folder) => {
                let (folder, interrupt) = (folder.clone(), interrupt.clone());
                tokio::task::spawn_blocking(move || folder.build(&interrupt)).await
            }
            Source::Core { file, world } => {
                let (file, world) = (file.clone(), world.clone());
                tokio::task::spawn_blocking(move || {
                    let core = crate::file::read(&file, CORE_BYTES_MAX).map_err(|source| BuildError::Files { path: file, source })?;
                    of_core(core, world.as_deref())
                })
                .await
            }
        };
        let made = made.map_err(|panic| Failure::new(exit::INTERNAL, "building failed, a bug of the host").because(panic))?;
        if let Err(BuildError::Failed { said, .. }) = &made {
            report::note(escape::piece(said).trim_end());
        }
        Ok(made?)
    }
}

fn unwritten(path: &Path, error: std::io::Error) -> Failure {
    Failure::new(exit::FAILED, format!("cannot write `{}`", path.display())).because(error)
}

/// In one step, and only when it changed: a host that watches the folder never sees half a file.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if fs::read(path).is_ok_and(|before| before == bytes) {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".pausegate-build-").permissions(fs::Permissions::from_mode(0o644)).tempfile_in(folder)?;
    std::io::Write::write_all(&mut file, bytes)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(source: &Path, out: Option<&str>) -> Result<PathBuf, u8> {
        let build = Build { source: source.to_owned(), out: out.map(PathBuf::from), watch: false, world: None };
        build.job().map(|job| job.out).map_err(|failure| failure.code)
    }

    #[test]
    fn a_build_goes_into_the_folder_s_own_plugins_unless_told() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("tidy");
        fs::create_dir(&folder).unwrap();
        assert_eq!(job(&folder, None), Err(exit::DATA), "an empty folder is no project");
        fs::write(folder.join("plugin.py"), "").unwrap();
        assert_eq!(job(&folder, None), Ok(folder.join("plugins/tidy.wasm")));
        assert_eq!(job(&folder, Some("x/mine.wasm")), Ok("x/mine.wasm".into()));
        for bad in ["x/Mine.wasm", "x/mine", "x/a__b.wasm"] {
            assert_eq!(job(&folder, Some(bad)), Err(exit::USAGE), "{bad}");
        }
    }

    #[test]
    fn w51_a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("plugins/a.wasm");
        for bytes in [b"one", b"two", b"two"] {
            replace(&path, bytes).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
