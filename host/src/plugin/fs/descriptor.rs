//! `wasi:filesystem` as guests call it, over nodes. File work runs on blocking threads.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::fs::{Dir, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, fstat, futimens, openat, readlinkat};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream, Filesize, HostDescriptor, HostDirectoryEntryStream,
    MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};
use wasmtime_wasi::runtime::spawn_blocking;

use super::act::Act;
use super::node::{self, Node, OpenFile};
use super::open_at::Ask;
use super::stream::Checked;
use super::walk::{self, Last};
use super::{Code, Lines, Need, View, code};
use crate::capability::frozen::FsOperation;
use crate::plugin::ledger::Ending;

/// Bytes of one read; a guest reads on from there.
const READ_BYTES_MAX: u64 = 64 << 10;
/// Names of one folder that are listed.
const NAMES_MAX: usize = 65_536;

/// What stands in the table under a `directory-entry-stream`.
struct Listing(std::vec::IntoIter<DirectoryEntry>);

impl View<'_> {
    fn node(&self, descriptor: &Resource<Descriptor>) -> FsResult<Node> {
        Ok(self.table.get(&Resource::<Node>::new_borrow(descriptor.rep()))?.clone())
    }

    fn file(&self, descriptor: &Resource<Descriptor>) -> FsResult<OpenFile> {
        match self.node(descriptor)? {
            Node::File(file) => Ok(file),
            Node::Folder { .. } | Node::Root => Err(Code::BadDescriptor.into()),
        }
    }

    fn push(&mut self, node: Node) -> FsResult<Resource<Descriptor>> {
        Ok(Resource::new_own(self.table.push(node)?.rep()))
    }

    /// Runs `work` on a blocking thread with the lines and the node.
    fn on<T, W>(&self, descriptor: &Resource<Descriptor>, work: W) -> impl Future<Output = FsResult<T>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: FnOnce(&Lines, &Node) -> Result<T, Code> + Send + 'static,
    {
        let (lines, node) = (self.files.lines(), self.node(descriptor));
        async move {
            let node = node?;
            Ok(spawn_blocking(move || work(&lines, &node)).await?)
        }
    }

    fn on_two<W>(&self, first: &Resource<Descriptor>, second: &Resource<Descriptor>, work: W) -> impl Future<Output = FsResult<()>> + Send + use<W>
    where
        W: FnOnce(&Lines, &Node, &Node) -> Result<(), Code> + Send + 'static,
    {
        let (lines, first, second) = (self.files.lines(), self.node(first), self.node(second));
        async move {
            let (first, second) = (first?, second?);
            Ok(spawn_blocking(move || work(&lines, &first, &second)).await?)
        }
    }

    /// wasmtime's stream over an open file, taken out of the table to be put there again with our check around it.
    fn stream<T: 'static>(
        &mut self,
        file: OpenFile,
        make: impl FnOnce(&mut WasiFilesystemCtxView<'_>, Resource<Descriptor>) -> FsResult<Resource<T>>,
    ) -> FsResult<Checked<T>> {
        let descriptor = self.table.push(file.streams.clone())?;
        let mut theirs = WasiFilesystemCtxView { ctx: &mut self.files.streams, table: self.table };
        let stream = make(&mut theirs, Resource::new_borrow(descriptor.rep()));
        self.table.delete(descriptor)?;
        Ok(Checked { stream: self.table.delete(stream?)?, file, held: Arc::clone(&self.files.held) })
    }

    fn output(
        &mut self,
        descriptor: &Resource<Descriptor>,
        make: impl FnOnce(&mut WasiFilesystemCtxView<'_>, Resource<Descriptor>) -> FsResult<Resource<DynOutputStream>>,
    ) -> FsResult<Resource<DynOutputStream>> {
        let file = self.writable(descriptor)?;
        self.files.held.ledger.fs_write().map_err(|Ending| Code::Access)?;
        let stream: DynOutputStream = Box::new(self.stream(file, make)?);
        Ok(self.table.push(stream)?)
    }

    fn writable(&self, descriptor: &Resource<Descriptor>) -> FsResult<OpenFile> {
        let file = self.file(descriptor)?;
        if !file.changeable {
            return Err(self.files.lines().refuse(Need::Write, &file.path).into());
        }
        if !file.writable {
            return Err(Code::BadDescriptor.into());
        }
        self.files.lines().still(&file, FsOperation::Write)?;
        Ok(file)
    }
}

impl preopens::Host for View<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let lines = self.files.lines();
        let mut folders = Vec::new();
        for (index, mount) in lines.mounts().mounts.iter().enumerate() {
            folders.push((Node::Folder { mount: index, folder: mount.root.clone() }, mount.path.clone()));
        }
        if !folders.iter().any(|(_, path)| path == "/") {
            folders.push((Node::Root, "/".to_owned()));
        }
        folders.into_iter().map(|(node, path)| Ok((Resource::new_own(self.table.push(node)?.rep()), path))).collect()
    }
}

impl types::Host for View<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<Code> {
        error.downcast()
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> wasmtime::Result<Option<Code>> {
        Ok(self.table.get(&error)?.downcast_ref::<std::io::Error>().map(Code::from))
    }
}

impl HostDescriptor for View<'_> {
    async fn open_at(
        &mut self,
        fd: Resource<Descriptor>,
        follow: PathFlags,
        path: String,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let opened = self.on(&fd, move |lines, node| lines.open(node, &Ask { path, follow, open, flags })).await?;
        self.push(opened)
    }

    fn drop(&mut self, fd: Resource<Descriptor>) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Node>::new_own(fd.rep()))?;
        Ok(())
    }

    async fn get_flags(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorFlags> {
        let flag = |on: bool, flag: DescriptorFlags| if on { flag } else { DescriptorFlags::empty() };
        Ok(match self.node(&fd)? {
            Node::File(file) => flag(file.readable, DescriptorFlags::READ) | flag(file.writable, DescriptorFlags::WRITE),
            Node::Folder { mount, folder } => {
                let changeable = self.files.lines().permits_change(mount, &folder.path, folder.followed);
                DescriptorFlags::READ | flag(changeable, DescriptorFlags::MUTATE_DIRECTORY)
            }
            Node::Root => DescriptorFlags::READ,
        })
    }

    async fn get_type(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorType> {
        Ok(match self.node(&fd)? {
            Node::File(_) => DescriptorType::RegularFile,
            Node::Folder { .. } | Node::Root => DescriptorType::Directory,
        })
    }

    async fn stat(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorStat> {
        self.on(&fd, |lines, node| Ok(stat_of(lines, node)?.map_or(ROOT_STAT, |found| node::stat(&found)))).await
    }

    async fn stat_at(&mut self, fd: Resource<Descriptor>, follow: PathFlags, path: String) -> FsResult<DescriptorStat> {
        self.on(&fd, move |lines, node| Ok(stat_at(lines, node, follow, &path)?.map_or(ROOT_STAT, |found| node::stat(&found)))).await
    }

    async fn metadata_hash(&mut self, fd: Resource<Descriptor>) -> FsResult<MetadataHashValue> {
        self.on(&fd, |lines, node| Ok(hash(stat_of(lines, node)?))).await
    }

    async fn metadata_hash_at(&mut self, fd: Resource<Descriptor>, follow: PathFlags, path: String) -> FsResult<MetadataHashValue> {
        self.on(&fd, move |lines, node| Ok(hash(stat_at(lines, node, follow, &path)?))).await
    }

    async fn is_same_object(&mut self, a: Resource<Descriptor>, b: Resource<Descriptor>) -> wasmtime::Result<bool> {
        let identity = |node: Node| match node {
            Node::Root => Ok(None),
            Node::Folder { folder, .. } => fstat(&folder.handle).map(|found| Some(walk::identity(&found))),
            Node::File(file) => fstat(&file.file).map(|found| Some(walk::identity(&found))),
        };
        let node = |fd: &Resource<Descriptor>| self.table.get(&Resource::<Node>::new_borrow(fd.rep())).cloned();
        Ok(identity(node(&a)?).ok() == identity(node(&b)?).ok())
    }

    async fn read_directory(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DirectoryEntryStream>> {
        let names = self.on(&fd, list).await?;
        Ok(Resource::new_own(self.table.push(Listing(names.into_iter()))?.rep()))
    }

    async fn readlink_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<String> {
        self.on(&fd, move |lines, node| {
            let (_, entry) = lines.enter(node, &path, Last::Entry, &Act::new(FsOperation::Read))?;
            let target = readlinkat(&entry.folder, &entry.name, Vec::new()).map_err(code)?;
            let target = target.into_string().map_err(|_| Code::IllegalByteSequence)?;
            // Where it leads on the host is nothing for a guest.
            if target.starts_with('/') { Err(Code::NotPermitted) } else { Ok(target) }
        })
        .await
    }

    async fn read(&mut self, fd: Resource<Descriptor>, length: Filesize, offset: Filesize) -> FsResult<(Vec<u8>, bool)> {
        let file = self.file(&fd)?;
        if !file.readable {
            return Err(Code::BadDescriptor.into());
        }
        self.files.lines().still(&file, FsOperation::Read)?;
        let read = spawn_blocking(move || {
            let mut bytes = vec![0; length.min(READ_BYTES_MAX) as usize];
            let count = file.file.read_at(&mut bytes, offset)?;
            bytes.truncate(count);
            Ok::<_, std::io::Error>(bytes)
        });
        let bytes = read.await?;
        let end = bytes.is_empty() && length > 0;
        Ok((bytes, end))
    }

    async fn write(&mut self, fd: Resource<Descriptor>, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        let file = self.writable(&fd)?;
        self.on(&fd, move |lines, _| {
            lines.take_bytes(file.mount, bytes.len() as u64)?;
            lines.counted(true, || Ok(file.file.write_at(&bytes, offset)? as Filesize))
        })
        .await
    }

    fn read_via_stream(&mut self, fd: Resource<Descriptor>, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        match self.node(&fd)? {
            Node::File(file) if file.readable => {
                let stream: DynInputStream = Box::new(self.stream(file, |theirs, file| theirs.read_via_stream(file, offset))?);
                Ok(self.table.push(stream)?)
            }
            Node::File(_) => Err(Code::BadDescriptor.into()),
            Node::Folder { .. } | Node::Root => Err(Code::IsDirectory.into()),
        }
    }

    fn write_via_stream(&mut self, fd: Resource<Descriptor>, offset: Filesize) -> FsResult<Resource<DynOutputStream>> {
        self.output(&fd, |theirs, file| theirs.write_via_stream(file, offset))
    }

    fn append_via_stream(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DynOutputStream>> {
        self.output(&fd, |theirs, file| theirs.append_via_stream(file))
    }

    async fn set_size(&mut self, fd: Resource<Descriptor>, size: Filesize) -> FsResult<()> {
        let file = self.writable(&fd)?;
        self.on(&fd, move |lines, _| {
            lines.take_bytes(file.mount, size.saturating_sub(file.file.metadata()?.len()))?;
            lines.counted(true, || Ok(file.file.set_len(size)?))
        })
        .await
    }

    async fn set_times(&mut self, fd: Resource<Descriptor>, accessed: NewTimestamp, modified: NewTimestamp) -> FsResult<()> {
        let times = timestamps(accessed, modified)?;
        self.on(&fd, move |lines, node| match node {
            Node::File(file) if file.changeable => {
                lines.still(file, FsOperation::Write).and_then(|()| lines.counted(true, || futimens(&file.file, &times).map_err(code)))
            }
            Node::File(file) => Err(lines.refuse(Need::Write, &file.path)),
            folder => lines.set_times(folder, ".", Last::Entry, &times),
        })
        .await
    }

    async fn set_times_at(
        &mut self,
        fd: Resource<Descriptor>,
        follow: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let times = timestamps(accessed, modified)?;
        self.on(&fd, move |lines, node| lines.set_times(node, &path, last(follow), &times)).await
    }

    async fn create_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        self.on(&fd, move |lines, node| lines.create_folder(node, &path)).await
    }

    async fn remove_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        self.on(&fd, move |lines, node| lines.remove_folder(node, &path)).await
    }

    async fn unlink_file_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        self.on(&fd, move |lines, node| lines.remove_file(node, &path)).await
    }

    async fn rename_at(&mut self, fd: Resource<Descriptor>, old: String, new_fd: Resource<Descriptor>, new: String) -> FsResult<()> {
        self.on_two(&fd, &new_fd, move |lines, from, to| lines.rename((from, &old), (to, &new))).await
    }

    async fn link_at(&mut self, fd: Resource<Descriptor>, follow: PathFlags, old: String, new_fd: Resource<Descriptor>, new: String) -> FsResult<()> {
        if follow.contains(PathFlags::SYMLINK_FOLLOW) {
            return Err(Code::Invalid.into());
        }
        self.on_two(&fd, &new_fd, move |lines, from, to| lines.link((from, &old), (to, &new))).await
    }

    async fn symlink_at(&mut self, fd: Resource<Descriptor>, target: String, path: String) -> FsResult<()> {
        self.on(&fd, move |lines, node| lines.symlink(node, &target, &path)).await
    }

    async fn sync(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.on(&fd, |_, node| match node {
            Node::File(file) => Ok(file.file.sync_all()?),
            Node::Folder { .. } | Node::Root => Ok(()),
        })
        .await
    }

    async fn sync_data(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.sync(fd).await
    }

    async fn advise(&mut self, fd: Resource<Descriptor>, _: Filesize, _: Filesize, _: types::Advice) -> FsResult<()> {
        // Advice may be ignored.
        self.file(&fd).map(drop)
    }
}

impl HostDirectoryEntryStream for View<'_> {
    async fn read_directory_entry(&mut self, stream: Resource<DirectoryEntryStream>) -> FsResult<Option<DirectoryEntry>> {
        Ok(self.table.get_mut(&Resource::<Listing>::new_borrow(stream.rep()))?.0.next())
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Listing>::new_own(stream.rep()))?;
        Ok(())
    }
}

/// A root that only leads to mounts.
const ROOT_STAT: DescriptorStat = DescriptorStat {
    type_: DescriptorType::Directory,
    link_count: 1,
    size: 0,
    data_access_timestamp: None,
    data_modification_timestamp: None,
    status_change_timestamp: None,
};

/// `None` for the root. What was opened may be asked for its metadata.
fn stat_of(_lines: &Lines, node: &Node) -> Result<Option<Stat>, Code> {
    match node {
        Node::Root => Ok(None),
        Node::Folder { folder, .. } => fstat(&folder.handle).map(Some).map_err(code),
        Node::File(file) => fstat(&file.file).map(Some).map_err(code),
    }
}

fn stat_at(lines: &Lines, node: &Node, follow: PathFlags, path: &str) -> Result<Option<Stat>, Code> {
    if matches!(node, Node::Root) && super::joined("/", path).as_deref() == Some("/") {
        return Ok(None);
    }
    let (_, entry) = lines.enter(node, path, last(follow), &Act::new(FsOperation::Look))?;
    entry.stat().map(Some).map_err(code)
}

fn hash(found: Option<Stat>) -> MetadataHashValue {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        if let Some(found) = &found {
            (found.st_dev, found.st_ino, found.st_size, found.st_mtime, found.st_mtime_nsec, found.st_ctime, found.st_ctime_nsec).hash(&mut hasher);
        }
        hasher.finish()
    };
    MetadataHashValue { lower: half(0), upper: half(1) }
}

/// The names in a folder, without those that a `none` line shuts.
fn list(lines: &Lines, node: &Node) -> Result<Vec<DirectoryEntry>, Code> {
    let (mount, folder) = match node {
        Node::Folder { mount, folder } => (*mount, folder),
        Node::Root => return Err(lines.refuse(Need::List, "/")),
        Node::File(_) => return Err(Code::NotDirectory),
    };
    let act = Act::new(FsOperation::List);
    if !lines.permits(mount, &act, &folder.path, folder.followed) {
        return Err(lines.hold_back(&act, &folder.path, folder.followed));
    }
    let handle = openat(&folder.handle, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(code)?;
    let mut names = Vec::new();
    for entry in Dir::new(handle).map_err(code)? {
        let entry = entry.map_err(code)?;
        let Ok(name) = entry.file_name().to_str().map(str::to_owned) else { return Err(Code::IllegalByteSequence) };
        if matches!(name.as_str(), "." | "..") {
            continue;
        }
        if names.len() == NAMES_MAX {
            return Err(Code::Overflow);
        }
        let path = format!("{}/{name}", folder.path.trim_end_matches('/'));
        if lines.lists(mount, &folder.path, &path, folder.followed) {
            names.push(DirectoryEntry { type_: node::kind(entry.file_type()), name });
        }
    }
    Ok(names)
}

fn last(follow: PathFlags) -> Last {
    if follow.contains(PathFlags::SYMLINK_FOLLOW) { Last::Follow } else { Last::Entry }
}

fn timestamps(accessed: NewTimestamp, modified: NewTimestamp) -> Result<Timestamps, Code> {
    Ok(Timestamps { last_access: timespec(accessed)?, last_modification: timespec(modified)? })
}

fn timespec(time: NewTimestamp) -> Result<Timespec, Code> {
    Ok(match time {
        NewTimestamp::NoChange => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        NewTimestamp::Now => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        NewTimestamp::Timestamp(at) if at.nanoseconds >= 1_000_000_000 => return Err(Code::Invalid),
        NewTimestamp::Timestamp(at) => Timespec { tv_sec: i64::try_from(at.seconds).map_err(|_| Code::Overflow)?, tv_nsec: at.nanoseconds.into() },
    })
}
