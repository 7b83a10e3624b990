//! What somebody was given of files: when the attempt started, and by the operator's file as it stands now.

use std::path::{Path, PathBuf};

use rustix::fs::stat;

use super::act::{Act, Approved};
use super::rules::{self, Rights};
use super::walk::{self, Identity};
use crate::capability::frozen::FsUse;
use crate::capability::{Access, FrozenUse, Held, HeldFs, Opening};

pub struct Given {
    pub lines: Vec<HeldFs>,
    /// Approved-only lines: what they cover is asked about.
    pub reach: Vec<HeldFs>,
    pub uses: Vec<Approved>,
}

/// Places that `none` lines shut, as this host has them.
#[derive(Default)]
pub struct Shut {
    pub identities: Vec<Identity>,
    pub paths: Vec<PathBuf>,
}

impl Given {
    pub fn of(held: &Held) -> Self {
        let reach = held.reach.iter().filter_map(|opening| if let Opening::Fs(line) = opening { Some(line.clone()) } else { None });
        let uses = held.uses.iter().filter_map(|frozen| if let FrozenUse::Fs(frozen) = frozen { Some(frozen.clone()) } else { None });
        Self { lines: held.fs.clone(), reach: reach.collect(), uses: uses.map(Approved::new).collect() }
    }

    pub fn rights(&self, place: (&str, &Path), path: &str) -> Rights {
        rules::rights(&self.lines, place, path)
    }

    pub fn permits(&self, place: (&str, &Path), act: &Act, path: &str, followed: bool) -> bool {
        let rights = self.rights(place, path);
        rights.permits(act.need(), followed) || (!followed && !rights.is_shut() && self.uses.iter().any(|approved| approved.admits(act, path)))
    }

    pub fn can_be_asked(&self, frozen: &FsUse) -> bool {
        rules::can_be_asked(&self.lines, &self.reach, frozen)
    }

    /// It is held, or a person could open it.
    pub fn is_within_reach(&self, frozen: &FsUse) -> bool {
        rules::is_within_reach(&self.lines, &self.reach, frozen)
    }

    pub fn shut(&self) -> Shut {
        let mut shut = Shut::default();
        for line in self.lines.iter().filter(|line| line.access == Access::None) {
            let below = line.only.as_deref().and_then(|only| only.strip_prefix(line.mount.trim_end_matches('/'))).unwrap_or("");
            let host = line.host.join(below.trim_start_matches('/'));
            if let Ok(stat) = stat(&host) {
                shut.identities.push(walk::identity(&stat));
            }
            shut.paths.push(host.canonicalize().unwrap_or(host));
        }
        shut
    }
}
