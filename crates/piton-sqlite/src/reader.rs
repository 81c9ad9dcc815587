//! Owns how a database is opened to be read: without a trace, without write permission, and on
//! copies. It never opens for an append.
//!
//! Which way depends on what stands beside the database:
//!
//! | log | shared memory | directory | opened |
//! | --- | --- | --- | --- |
//! | there | there | any | read-only: a writer is, or was, at work |
//! | none | none | writable | read-write, since SQLite then removes its passing files at close |
//! | there | none | any | read-only with the log's index on the heap, if the log counts |
//! | otherwise | | | as immutable |
//!
//! In the last two ways no other connection is told of the reader. So it holds a shared lock on the
//! directory, and a writer that opens its first connection takes the exclusive one.

use std::fs::File;
use std::path::Path;

use piton_store::StoreError;
use rustix::fs::{Access, AtFlags, CWD};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use crate::connection::{self, Layout};
use crate::error::{Call, is_cannot_open};
use crate::paths::{self, Database, Held, Paths};
use crate::schema::LAYOUT_VERSION;
use crate::wal::{self, Commits};

/// How often the files may change under a reader that opens them.
const ATTEMPTS: usize = 5;

/// A connection with one open read transaction, whose snapshot is taken.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) connection: SqliteConnection,
    pub(crate) layout: Layout,
    /// Released after the connection has been closed.
    frozen: Option<File>,
}

impl Reader {
    /// Closes the connection, and what SQLite made in passing is gone.
    pub(crate) async fn close(self) {
        // A read has nothing to lose at close.
        self.connection.close().await.ok();
        drop(self.frozen);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Beside writers.
    Shared,
    /// Alone, in a place where passing files can be made.
    Transient,
    /// As a file that nobody writes to.
    Frozen,
}

/// Opens a workflow's database and takes the snapshot; none when there is no database.
pub(crate) async fn open(root: &Path, call: &Call<'_>) -> Result<Option<Reader>, StoreError> {
    let paths = Paths::new(root, call.workflow);
    let mut attempt = 1;
    loop {
        if paths.inspect(call)?.is_none() {
            return Ok(None);
        }
        if paths.database().map_err(|error| call.io(error))? == Database::Blank {
            match paths::holds_bytes(&paths.wal()).map_err(|error| call.io(error))? {
                Held::Nothing => return Ok(None),
                // The first append may have made both since the database was looked for. It moves
                // the whole database into place before there is a log, and never takes it away.
                Held::Bytes
                    if paths.database().map_err(|error| call.io(error))? == Database::Present => {}
                Held::Bytes => {
                    return Err(call.unfit(
                        "there is a write-ahead log without its database; restore the database",
                    ));
                }
            }
        }
        paths.refuse_journal(call)?;
        match try_open(&paths, call).await? {
            Ok(reader) if reader.layout.fault.is_some() => {
                let reason = reader.layout.fault.unwrap_or_default();
                reader.close().await;
                return Err(call.unfit(reason));
            }
            Ok(reader) if reader.layout.version > LAYOUT_VERSION => {
                let found = reader.layout.version;
                reader.close().await;
                return Err(connection::newer(call, found));
            }
            Ok(reader) => return Ok(Some(reader)),
            // A writer has opened or closed meanwhile, and the way no longer fits.
            Err(error) if is_cannot_open(&error) && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(call.sql(error)),
        }
    }
}

async fn try_open(
    paths: &Paths,
    call: &Call<'_>,
) -> Result<Result<Reader, sqlx::Error>, StoreError> {
    let options = connection::options(call).filename(&paths.database);
    let way = way(paths).map_err(|error| call.io(error))?;
    let (options, frozen) = match way {
        Way::Shared => (options.read_only(true), None),
        Way::Transient => (options, None),
        Way::Frozen => freeze(options, paths, call).await?,
    };
    Ok(begin(options, frozen).await)
}

async fn begin(options: SqliteConnectOptions, frozen: Option<File>) -> Result<Reader, sqlx::Error> {
    let mut connection = options.connect().await?;
    let layout = match snapshot(&mut connection).await {
        Ok(layout) => layout,
        Err(error) => {
            connection.close().await.ok();
            return Err(error);
        }
    };
    Ok(Reader {
        connection,
        layout,
        frozen,
    })
}

/// A transaction takes its snapshot at its first read.
async fn snapshot(connection: &mut SqliteConnection) -> Result<Layout, sqlx::Error> {
    sqlx::raw_sql("BEGIN").execute(&mut *connection).await?;
    connection::scalar::<i64>(connection, "SELECT count(*) FROM sqlite_schema").await?;
    connection::inspect(connection).await
}

fn way(paths: &Paths) -> std::io::Result<Way> {
    let log = paths::stamp(&paths.wal())?.is_some();
    let shared_memory = paths::stamp(&paths.shm())?.is_some();
    Ok(match (log, shared_memory) {
        (true, true) => Way::Shared,
        (false, false) if is_writable(&paths.directory) && is_writable(&paths.database) => {
            Way::Transient
        }
        (true, false) | (false, true) | (false, false) => Way::Frozen,
    })
}

/// Asks for the rights that an open would have; none on read-only media, whoever asks.
fn is_writable(path: &Path) -> bool {
    rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// Keeps writers from opening, and then looks again.
async fn freeze(
    options: SqliteConnectOptions,
    paths: &Paths,
    call: &Call<'_>,
) -> Result<(SqliteConnectOptions, Option<File>), StoreError> {
    let lock = lock_shared(paths, call).await?;
    let options = match way(paths).map_err(|error| call.io(error))? {
        Way::Shared => return Ok((options.read_only(true), None)),
        Way::Transient => return Ok((options, None)),
        Way::Frozen => options.read_only(true),
    };
    let log = paths::open_for_reading(&paths.wal()).map_err(|error| call.io(error))?;
    let commits = match log {
        Some(log) => wal::commits(&log).map_err(|error| call.io(error))?,
        None => Commits::None,
    };
    let options = match commits {
        // With an exclusive lock, which this file system layer only pretends to take, the index of
        // the log is kept on the heap. Closing fails to move the log into a read-only file, and so
        // leaves both alone.
        Commits::Some => options.vfs("unix-none").pragma("locking_mode", "EXCLUSIVE"),
        Commits::None => options.immutable(true),
    };
    Ok((options, lock))
}

async fn lock_shared(paths: &Paths, call: &Call<'_>) -> Result<Option<File>, StoreError> {
    let directory = File::open(&paths.directory).map_err(|error| call.io(error))?;
    match directory.try_lock_shared() {
        Ok(()) => return Ok(Some(directory)),
        Err(std::fs::TryLockError::WouldBlock) => {}
        // Some network file systems can't lock a directory; then no writer can either.
        Err(std::fs::TryLockError::Error(_)) => return Ok(None),
    }
    let waiting = tokio::task::spawn_blocking(move || directory.lock_shared().map(|()| directory));
    match tokio::time::timeout(call.busy_timeout, waiting).await {
        Ok(Ok(Ok(directory))) => Ok(Some(directory)),
        Ok(Ok(Err(error))) => Err(call.io(error)),
        Ok(Err(error)) => Err(call.io(std::io::Error::other(error))),
        Err(_) => Err(call.busy()),
    }
}
