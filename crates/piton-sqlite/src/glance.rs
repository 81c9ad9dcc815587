//! Owns a look at a small ledger at rest: its file is read at once. It says nothing of a
//! ledger that is at work, damaged, large or in any way unusual; its database is opened then.
//!
//! A directory of ten thousand ledgers is listed so. To open each as a database takes much longer,
//! most of it for a thread, a log and shared memory that are made and removed again.
//!
//! Nothing changes meanwhile: the lock on the directory keeps writers from opening, as it does for
//! readers that read a database [as one that nobody writes to](crate::reader), and the file is
//! compared after the reading, in case somebody writes without that lock.
//!
//! On POSIX systems a process that closes a file loses all its locks on that file, even those of
//! other connections. An open connection shows by its log and shared memory, and then the file is
//! not touched; while one [is being opened](opening), it is not either.

use std::fs::File;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::io::Read as _;
use std::path::Path;

use piton_ledger::WorkflowId;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use tokio::sync::{RwLock, RwLockWriteGuard};

use crate::image::{self, Ends};
use crate::paths::{self, DATABASE, LOCK, LOG};

/// The longest database that is read at once.
const LONGEST: u64 = 256 << 10;

const SHARED_MEMORY: &str = "checkpoints.sqlite-shm";
const JOURNAL: &str = "checkpoints.sqlite-journal";

/// Which databases are being opened in this process by connections that will lock them. Several
/// share an entry, which now and then costs a look, and never more.
static OPENING: [RwLock<()>; 64] = [const { RwLock::const_new(()) }; 64];

fn entry(directory: &Path) -> &'static RwLock<()> {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(directory.file_name());
    let count = u64::try_from(OPENING.len()).unwrap_or(1);
    let place = usize::try_from(hash % count).unwrap_or(0);
    &OPENING[place]
}

/// Keeps looks away from a database until a connection that locks it has made its shared memory.
pub(crate) async fn opening(directory: &Path) -> RwLockWriteGuard<'static, ()> {
    entry(directory).write().await
}

/// Counts the rows of a workflow and reads its ends; none whenever SQLite has to be asked.
pub(crate) fn ends(root: &Path, workflow: &WorkflowId) -> Option<Ends> {
    let path = root.join(workflow.as_str());
    let _away = entry(&path).try_read().ok()?;
    // Where case does not tell names apart, this may be another workflow's directory.
    let swapped = paths::swap_case(workflow.as_str());
    if swapped != workflow.as_str() && !is_absent(rustix::fs::lstat(root.join(swapped))) {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = File::from(rustix::fs::open(&path, flags, Mode::empty()).ok()?);
    directory.try_lock_shared().ok()?;
    let look = |name: &str| rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW);
    let is_at_rest = || {
        [LOG, SHARED_MEMORY, JOURNAL]
            .into_iter()
            .all(|name| is_absent(look(name)))
    };
    let lock = look(LOCK);
    if !is_at_rest() || !(is_absent(lock) || lock.is_ok_and(|lock| is_file(&lock))) {
        return None;
    }
    let before = look(DATABASE).ok().filter(is_file)?;
    let length = u64::try_from(before.st_size).ok()?;
    if length > LONGEST {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let database = rustix::fs::openat(&directory, DATABASE, flags, Mode::empty()).ok()?;
    let mut database = File::from(database);
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    database.read_exact(&mut bytes).ok()?;
    let after = rustix::fs::fstat(&database).ok()?;
    let is_unchanged = stamp(&before) == stamp(&after) && is_at_rest();
    is_unchanged.then(|| image::ends(bytes)).flatten()
}

fn is_absent(look: Result<Stat, Errno>) -> bool {
    look.is_err_and(|error| error == Errno::NOENT)
}

fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// What differs once a file has been written to or another one has taken its place.
fn stamp(stat: &Stat) -> impl PartialEq + use<> {
    (
        (stat.st_dev, stat.st_ino, stat.st_size),
        (stat.st_mtime, stat.st_mtime_nsec),
        (stat.st_ctime, stat.st_ctime_nsec),
    )
}
