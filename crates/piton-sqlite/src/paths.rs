//! Owns where a workflow's files are, what they may be, and their durable creation. It reads no
//! content.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use piton_ledger::WorkflowId;
use piton_store::StoreError;

use crate::error::Call;

pub(crate) const DATABASE: &str = "checkpoints.sqlite";
pub(crate) const LOG: &str = "checkpoints.sqlite-wal";
pub(crate) const LOCK: &str = "checkpoints.lock";
/// A database is made under this name and moved into place when it is whole.
const NASCENT: &str = "checkpoints.new";

const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// The files of one workflow.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    pub(crate) root: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) database: PathBuf,
    pub(crate) lock: PathBuf,
    pub(crate) nascent: PathBuf,
}

/// What stands at the database's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Database {
    /// Nothing, or a file of no bytes: no rows.
    Blank,
    /// A file with bytes.
    Present,
}

/// Which file stands at a path, and how long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) length: u64,
}

impl Stamp {
    /// Whether both are of one file.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

impl Paths {
    /// Names the files of a workflow; whether they exist is another question.
    pub(crate) fn new(root: &Path, workflow: &WorkflowId) -> Self {
        let directory = root.join(workflow.as_str());
        Self {
            root: root.to_owned(),
            database: directory.join(DATABASE),
            lock: directory.join(LOCK),
            nascent: directory.join(NASCENT),
            directory,
        }
    }

    /// The write-ahead log beside the database.
    pub(crate) fn wal(&self) -> PathBuf {
        suffixed(&self.database, "-wal")
    }

    /// The shared memory beside the database.
    pub(crate) fn shm(&self) -> PathBuf {
        suffixed(&self.database, "-shm")
    }

    /// A rollback journal beside the database; Piton makes none.
    pub(crate) fn journal(&self) -> PathBuf {
        suffixed(&self.database, "-journal")
    }

    /// Whether the workflow's directory is there and no symbolic link.
    pub(crate) fn is_plain_directory(&self) -> io::Result<bool> {
        Ok(look(&self.directory)?.is_some_and(|directory| directory.is_dir()))
    }

    /// Refuses what is not a plain directory with plain files, and says whether there is one.
    pub(crate) fn inspect(&self, call: &Call<'_>) -> Result<Option<()>, StoreError> {
        let Some(directory) = look(&self.directory).map_err(|error| call.io(error))? else {
            return Ok(None);
        };
        if directory.is_symlink() {
            return Err(
                call.unfit("its directory is a symbolic link; move the directory itself here")
            );
        }
        if !directory.is_dir() {
            return Err(call.unfit("a file stands where its directory should be"));
        }
        let beside = [self.wal(), self.shm(), self.journal()];
        for path in [&self.database, &self.lock].into_iter().chain(&beside) {
            if look(path)
                .map_err(|error| call.io(error))?
                .is_some_and(|file| !file.is_file())
            {
                return Err(call.unfit(format!(
                    "{} is not a plain file; symbolic links are refused",
                    file_name(path)
                )));
            }
        }
        self.refuse_other_case(&directory, call)?;
        Ok(Some(()))
    }

    /// A journal means that somebody changed the database in another way than ours and did not
    /// finish. To go on would be to ignore it, or to play it back and so to remove it.
    pub(crate) fn refuse_journal(&self, call: &Call<'_>) -> Result<(), StoreError> {
        match holds_bytes(&self.journal()).map_err(|error| call.io(error))? {
            Held::Nothing => Ok(()),
            Held::Bytes => Err(call.unfit(
                "a rollback journal stands beside the database: a transaction of another program did not finish; let that program, or the SQLite shell, open the database and end it",
            )),
        }
    }

    /// Where case does not tell names apart, one directory would be two workflows.
    fn refuse_other_case(
        &self,
        directory: &fs::Metadata,
        call: &Call<'_>,
    ) -> Result<(), StoreError> {
        let id = call.workflow.as_str();
        let swapped = swap_case(id);
        if swapped == id {
            return Ok(());
        }
        let other = look(&self.root.join(swapped)).map_err(|error| call.io(error))?;
        let is_same = |other: fs::Metadata| stamp_of(&other).is_same_file(&stamp_of(directory));
        if !other.is_some_and(is_same) {
            return Ok(());
        }
        let entries = fs::read_dir(&self.root).map_err(|error| call.io(error))?;
        for entry in entries {
            if entry.map_err(|error| call.io(error))?.file_name() == id {
                return Ok(());
            }
        }
        Err(call
            .unfit("the file system does not tell it from an id in other case; choose another id"))
    }

    /// What stands at the database's path.
    pub(crate) fn database(&self) -> io::Result<Database> {
        Ok(match stamp(&self.database)? {
            Some(stamp) if stamp.length > 0 => Database::Present,
            Some(_) | None => Database::Blank,
        })
    }

    /// Makes the workflow's directory durable, whoever made it: a process that was killed, or a
    /// sync that failed, may have left it or those above it without.
    pub(crate) fn settle_directory(&self) -> io::Result<()> {
        let device = fs::metadata(&self.root)?.dev();
        sync_directory(&self.root)?;
        for above in self.root.ancestors().skip(1) {
            // A mount point is not in the file system that is mounted there.
            if fs::metadata(above)?.dev() != device {
                break;
            }
            match sync_directory(above) {
                Ok(()) => {}
                // Where we may not look we have made nothing.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Makes the workflow's directory and what is missing above it, durably.
    pub(crate) fn create_directory(&self) -> io::Result<()> {
        create_directories(&self.directory)
    }
}

/// Reads the stamp of a path, if something is there.
pub(crate) fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    Ok(look(path)?.map(|metadata| stamp_of(&metadata)))
}

pub(crate) fn stamp_of(metadata: &fs::Metadata) -> Stamp {
    Stamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        length: metadata.len(),
    }
}

/// Adds a suffix to a file's name.
pub(crate) fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Opens the lock file for reading and writing and makes it if it is missing.
pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .custom_flags(no_follow())
        .open(path)
}

/// Opens a file for reading alone; none when it is missing.
pub(crate) fn open_for_reading(path: &Path) -> io::Result<Option<File>> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(no_follow())
        .open(path);
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes an empty file that only its owner can read, before an engine can make it otherwise.
pub(crate) fn create_private_file(path: &Path) -> io::Result<()> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(FILE_MODE)
        .open(path)
        .map(drop)
}

/// Removes a file; to find none is as good.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes what a file holds once more and makes it durable.
pub(crate) fn rewrite(path: &Path) -> io::Result<()> {
    let content = fs::read(path)?;
    let file = OpenOptions::new()
        .write(true)
        .custom_flags(no_follow())
        .open(path)?;
    file.write_all_at(&content, 0)?;
    file.sync_all()
}

/// Makes the entries of a directory durable.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Makes a directory and those above it that are missing, each synced into its parent.
fn create_directories(path: &Path) -> io::Result<()> {
    match create_directory(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_directories(path.parent().ok_or(error)?)?;
            // Some file systems answer NotFound for ever, so this is the last try.
            create_directory(path)
        }
        outcome => outcome,
    }
}

fn create_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(DIRECTORY_MODE).create(path) {
        Ok(()) => path.parent().map_or(Ok(()), sync_directory),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether a file holds anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    Nothing,
    Bytes,
}

/// Says whether a file is there and holds anything.
pub(crate) fn holds_bytes(path: &Path) -> io::Result<Held> {
    Ok(match stamp(path)? {
        Some(stamp) if stamp.length > 0 => Held::Bytes,
        Some(_) | None => Held::Nothing,
    })
}

fn look(path: &Path) -> io::Result<Option<fs::Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn no_follow() -> i32 {
    // The flag's bits are a positive C integer on every system.
    i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0)
}

fn swap_case(text: &str) -> String {
    let swap = |letter: char| {
        if letter.is_ascii_uppercase() {
            letter.to_ascii_lowercase()
        } else {
            letter.to_ascii_uppercase()
        }
    };
    text.chars().map(swap).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
