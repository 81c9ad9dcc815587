//! Owns what a disk holds: what is certain to outlast a power loss and what is not. It chooses
//! nothing; an [`Image`](crate::Image) does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::calls::Remark;

/// One thing that happened beneath a watched directory; paths are relative to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// A file was made.
    Create(PathBuf),
    /// A directory was made.
    MakeDirectory(PathBuf),
    /// Bytes were written.
    Write {
        /// Where to.
        file: PathBuf,
        /// From which byte on.
        offset: u64,
        /// Which.
        bytes: Vec<u8>,
    },
    /// A file's length was set.
    Truncate {
        /// Whose.
        file: PathBuf,
        /// In bytes.
        length: u64,
    },
    /// A file was made durable.
    Sync(PathBuf),
    /// A directory's entries were made durable.
    SyncDirectory(PathBuf),
    /// A sync of a file or a directory failed.
    FailedSync(PathBuf),
    /// A file was moved.
    Rename {
        /// Its name before.
        from: PathBuf,
        /// Its name after.
        to: PathBuf,
    },
    /// A file was removed.
    Remove(PathBuf),
    /// The watching program said something.
    Remark(Remark),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileId(u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    File(FileId),
    Directory,
}

/// Whether a change outlasts a power loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It does.
    Certain,
    /// The next sync makes it certain.
    Pending,
    /// A sync of it has failed, and no later one makes it certain.
    Doubtful,
}

#[derive(Debug, Clone)]
pub(crate) enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate(usize),
}

#[derive(Debug, Clone)]
pub(crate) struct FileChange {
    pub(crate) change: Change,
    pub(crate) standing: Standing,
    /// The place in the record, to compare changes of different files.
    pub(crate) at: usize,
}

/// One file: what is certain beneath, and the changes since.
#[derive(Debug, Clone, Default)]
pub(crate) struct File {
    pub(crate) base: Vec<u8>,
    pub(crate) changes: Vec<FileChange>,
}

#[derive(Debug, Clone)]
pub(crate) enum NameChange {
    Put {
        name: PathBuf,
        node: Node,
    },
    Move {
        from: PathBuf,
        to: PathBuf,
        node: Node,
    },
    Remove(PathBuf),
}

impl NameChange {
    fn name(&self) -> &Path {
        match self {
            Self::Put { name, .. } | Self::Remove(name) => name,
            Self::Move { to, .. } => to,
        }
    }
}

/// The state of a disk between two operations.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    pub(crate) files: BTreeMap<FileId, File>,
    /// The names that are certain.
    pub(crate) names: BTreeMap<PathBuf, Node>,
    pub(crate) name_changes: Vec<(usize, NameChange)>,
    /// The names as the running system sees them.
    seen: BTreeMap<PathBuf, Node>,
    next: u64,
    at: usize,
}

impl Disk {
    /// A disk with an empty watched directory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Carries out one recorded operation.
    pub fn apply(&mut self, op: &Op) {
        self.at = self.at.saturating_add(1);
        match op {
            Op::Create(name) => {
                let id = FileId(self.next);
                self.next = self.next.saturating_add(1);
                self.files.insert(id, File::default());
                self.put(name, Node::File(id));
            }
            Op::MakeDirectory(name) => self.put(name, Node::Directory),
            Op::Write {
                file,
                offset,
                bytes,
            } => self.change(
                file,
                Change::Write {
                    offset: size(*offset),
                    bytes: bytes.clone(),
                },
            ),
            Op::Truncate { file, length } => self.change(file, Change::Truncate(size(*length))),
            Op::Sync(name) => {
                if let Some(file) = self.file(name) {
                    file.sync();
                }
            }
            Op::FailedSync(name) => {
                if let Some(file) = self.file(name) {
                    file.doubt();
                }
            }
            Op::SyncDirectory(name) => self.sync_directory(name),
            Op::Rename { from, to } => {
                if let Some(node) = self.seen.remove(from) {
                    self.seen.insert(to.clone(), node);
                    let (from, to) = (from.clone(), to.clone());
                    self.note(NameChange::Move { from, to, node });
                }
            }
            Op::Remove(name) => {
                self.seen.remove(name);
                self.note(NameChange::Remove(name.clone()));
            }
            Op::Remark(_) => {}
        }
    }

    /// Whether everything that the running system sees is certain.
    pub fn is_settled(&self) -> bool {
        self.name_changes.is_empty() && self.files.values().all(|file| file.changes.is_empty())
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    fn put(&mut self, name: &Path, node: Node) {
        self.seen.insert(name.to_owned(), node);
        let name = name.to_owned();
        self.note(NameChange::Put { name, node });
    }

    fn note(&mut self, change: NameChange) {
        self.name_changes.push((self.at, change));
    }

    fn file(&mut self, name: &Path) -> Option<&mut File> {
        match self.seen.get(name)? {
            Node::File(id) => self.files.get_mut(id),
            Node::Directory => None,
        }
    }

    fn change(&mut self, name: &Path, change: Change) {
        let at = self.at;
        if let Some(file) = self.file(name) {
            file.changes.push(FileChange {
                change,
                standing: Standing::Pending,
                at,
            });
        }
    }

    fn sync_directory(&mut self, directory: &Path) {
        let changes = std::mem::take(&mut self.name_changes);
        for (at, change) in changes {
            if change.name().parent() == Some(directory) {
                rename(&mut self.names, &change);
            } else {
                self.name_changes.push((at, change));
            }
        }
    }
}

impl File {
    fn sync(&mut self) {
        for change in &mut self.changes {
            if change.standing == Standing::Pending {
                change.standing = Standing::Certain;
            }
        }
        // What follows no doubt needs no list.
        while let Some(change) = self.changes.first()
            && change.standing == Standing::Certain
        {
            let change = self.changes.remove(0);
            apply(&mut self.base, &change.change);
        }
    }

    fn doubt(&mut self) {
        for change in &mut self.changes {
            if change.standing == Standing::Pending {
                change.standing = Standing::Doubtful;
            }
        }
    }
}

/// Carries out a change of names.
pub(crate) fn rename(names: &mut BTreeMap<PathBuf, Node>, change: &NameChange) {
    match change {
        NameChange::Put { name, node } => {
            names.insert(name.clone(), *node);
        }
        NameChange::Move { from, to, node } => {
            names.remove(from);
            names.insert(to.clone(), *node);
        }
        NameChange::Remove(name) => {
            names.remove(name);
        }
    }
}

/// Carries out a change of a file.
pub(crate) fn apply(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, bytes } => overwrite(content, *offset, bytes),
        Change::Truncate(length) => content.resize(*length, 0),
    }
}

/// Writes bytes into a content, which grows if need be.
pub(crate) fn overwrite(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset.saturating_add(bytes.len());
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(bytes);
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
