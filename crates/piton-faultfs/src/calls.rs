//! Owns the names of what can be asked of a disk, and how it can be made to fail. It fails nothing
//! by itself.

/// A kind of call that can be counted and made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// Opening a file, or making one.
    Open,
    /// Reading at an offset; only std's own reads.
    Read,
    /// Writing.
    Write,
    /// Making a file durable.
    Sync,
    /// Making a directory's entries durable.
    SyncDirectory,
    /// Changing a file's length.
    Truncate,
    /// Moving a file.
    Rename,
    /// Removing a file.
    Unlink,
    /// Making a directory.
    MakeDirectory,
    /// A method of SQLite's file layer.
    Sqlite(Method),
}

impl Call {
    /// Every kind of system call.
    pub const SYSTEM: [Self; 9] = [
        Self::Open,
        Self::Read,
        Self::Write,
        Self::Sync,
        Self::SyncDirectory,
        Self::Truncate,
        Self::Rename,
        Self::Unlink,
        Self::MakeDirectory,
    ];
}

/// A method of SQLite's file layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// `xOpen`
    Open,
    /// `xDelete`
    Delete,
    /// `xAccess`
    Access,
    /// `xRead`
    Read,
    /// `xWrite`
    Write,
    /// `xTruncate`
    Truncate,
    /// `xSync`
    Sync,
    /// `xFileSize`
    FileSize,
    /// `xLock`
    Lock,
    /// `xShmMap`
    ShmMap,
    /// `xShmLock`, when it takes a lock
    ShmLock,
}

impl Method {
    /// Every method that can be made to fail.
    pub const ALL: [Self; 11] = [
        Self::Open,
        Self::Delete,
        Self::Access,
        Self::Read,
        Self::Write,
        Self::Truncate,
        Self::Sync,
        Self::FileSize,
        Self::Lock,
        Self::ShmMap,
        Self::ShmLock,
    ];
}

/// What a call gives instead of doing its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A system call fails with this `errno`.
    Errno(i32),
    /// A write takes half of what it was given, and says so.
    Short,
    /// A method of SQLite's file layer gives this result code.
    Code(i32),
}

/// For how long calls fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasting {
    /// One call.
    Once,
    /// That call and all that follow.
    FromThenOn,
}

/// One ordered failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which kind of call fails.
    pub call: Call,
    /// Which of the calls from now on, counted from 1.
    pub nth: u64,
    /// What it gives.
    pub outcome: Outcome,
    /// Whether later ones fail too.
    pub lasting: Lasting,
    /// Counts only the calls on files of this name; all calls when none.
    pub only: Option<&'static str>,
}

impl Failure {
    /// Orders one failing call.
    pub fn once(call: Call, nth: u64, outcome: Outcome) -> Self {
        Self {
            call,
            nth,
            outcome,
            lasting: Lasting::Once,
            only: None,
        }
    }

    /// The same for this and all following calls.
    #[must_use]
    pub fn lasting(self) -> Self {
        Self {
            lasting: Lasting::FromThenOn,
            ..self
        }
    }

    /// The same for calls on files of one name.
    #[must_use]
    pub fn only(self, name: &'static str) -> Self {
        Self {
            only: Some(name),
            ..self
        }
    }
}

/// What the watching program says about itself, in the order of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remark {
    /// The work of this number has begun.
    Begun(u32),
    /// It has been acknowledged.
    Acknowledged(u32),
}
