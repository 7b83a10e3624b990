//! What a guest's descriptor stands for.

use std::fs::File;
use std::sync::Arc;

use rustix::fs::{FileType, Stat};
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorStat, DescriptorType};

use super::walk::Folder;

#[derive(Clone)]
pub enum Node {
    /// `/` where nothing is mounted there: it leads to the mounts, and names what is refused.
    Root,
    Folder {
        mount: usize,
        folder: Folder,
    },
    File(OpenFile),
}

impl Node {
    /// Guest path.
    pub fn path(&self) -> &str {
        match self {
            Self::Root => "/",
            Self::Folder { folder, .. } => &folder.path,
            Self::File(file) => &file.path,
        }
    }
}

#[derive(Clone)]
pub struct OpenFile {
    pub file: Arc<File>,
    /// Of wasmtime's streams over the same file.
    pub streams: wasmtime_wasi::filesystem::Descriptor,
    pub readable: bool,
    /// Opened for writing.
    pub writable: bool,
    /// The lines allow a change, whether or not it was opened for one: times.
    pub changeable: bool,
    pub mount: usize,
    pub path: String,
    /// A symlink was followed on the way here.
    pub followed: bool,
}

pub fn kind_of(stat: &Stat) -> DescriptorType {
    kind(FileType::from_raw_mode(stat.st_mode))
}

pub fn kind(kind: FileType) -> DescriptorType {
    match kind {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::Fifo => DescriptorType::Fifo,
        FileType::Socket => DescriptorType::Socket,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::Unknown => DescriptorType::Unknown,
    }
}

pub fn stat(stat: &Stat) -> DescriptorStat {
    let time = |seconds: i64, nanoseconds: u64| {
        let seconds = u64::try_from(seconds).ok()?;
        Some(Datetime { seconds, nanoseconds: u32::try_from(nanoseconds).ok()? })
    };
    DescriptorStat {
        type_: kind_of(stat),
        link_count: stat.st_nlink,
        size: stat.st_size as u64,
        data_access_timestamp: time(stat.st_atime, stat.st_atime_nsec),
        data_modification_timestamp: time(stat.st_mtime, stat.st_mtime_nsec),
        status_change_timestamp: time(stat.st_ctime, stat.st_ctime_nsec),
    }
}
