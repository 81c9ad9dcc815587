//! Owns a look at a ledger at rest: SQLite reads its file as one that nobody writes to, on the
//! caller's thread. It says nothing of a ledger that is at work, damaged or in any way unusual; a
//! [`reader`](crate::reader) is opened then.
//!
//! A directory of ten thousand ledgers is listed so. To open each as a reader does takes much
//! longer, most of it for a thread, a log and shared memory that are made and removed again.
//!
//! Nothing changes meanwhile: the lock on the directory keeps writers from opening, as it does for
//! readers that can make no shared memory, and the file is compared afterwards, in case somebody
//! writes without that lock.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use piton_store::{PersistedRow, Stored};
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use crate::error::Call;
use crate::paths::{self, Paths};
use crate::scan;
use crate::schema::{LAYOUT_VERSION, SCHEMA};

/// How many rows there are, when the first was written, and the last.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    pub(crate) rows: u64,
    pub(crate) first_written_at: Option<Stored>,
    pub(crate) last: Option<PersistedRow>,
}

/// All columns of the last row, as [`scan::decode`] reads them, and what tells of the others.
const ENDS: &str = "\
    SELECT sequence, transition_id, prior_head, next_head, event_bytes, written_at, \
        (SELECT written_at FROM checkpoint_chain ORDER BY sequence LIMIT 1), \
        (SELECT count(*) FROM checkpoint_chain) \
    FROM checkpoint_chain ORDER BY sequence DESC LIMIT 1";

/// Counts the rows of a workflow and reads its ends; none whenever a reader has to be opened.
pub(crate) fn ends(paths: &Paths, call: &Call<'_>) -> Option<Ends> {
    paths.inspect(call).ok()??;
    let directory = File::open(&paths.directory).ok()?;
    directory.try_lock_shared().ok()?;
    let look = || {
        let beside = [paths.wal(), paths.shm(), paths.journal()];
        let is_at_rest = beside
            .iter()
            .all(|path| matches!(paths::stamp(path), Ok(None)));
        let database = std::fs::symlink_metadata(&paths.database).ok()?;
        is_at_rest.then(|| stamp(&database))
    };
    let before = look()?;
    let ends = read(paths)?;
    (look()? == before).then_some(ends)
}

fn read(paths: &Paths) -> Option<Ends> {
    let path = utf8_percent_encode(paths.database.to_str()?, NON_ALPHANUMERIC);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let engine = Connection::open_with_flags(format!("file:{path}?immutable=1"), flags).ok()?;
    if !is_plain(&engine)? {
        return None;
    }
    let found = engine.query_row(ENDS, (), |row| {
        let rows: i64 = row.get(7)?;
        Ok((rows, scan::stored(row.get_ref(6)?), scan::decode(row)?))
    });
    match found.optional().ok()? {
        None => Some(Ends::default()),
        Some((rows, first_written_at, last)) => Some(Ends {
            rows: u64::try_from(rows).ok()?,
            first_written_at: Some(first_written_at),
            last: Some(last),
        }),
    }
}

/// Whether a database has exactly our layout, of a version that we know.
fn is_plain(engine: &Connection) -> Option<bool> {
    static PLAIN: OnceLock<Option<Layout>> = OnceLock::new();
    let plain = PLAIN.get_or_init(|| {
        let engine = Connection::open_in_memory().ok()?;
        engine.execute_batch(SCHEMA).ok()?;
        layout(&engine).ok()
    });
    let version: i64 = engine
        .query_row("PRAGMA user_version", (), |row| row.get(0))
        .ok()?;
    let is_known = (0..=LAYOUT_VERSION).contains(&version);
    Some(is_known && layout(engine).ok()? == *plain.as_ref()?)
}

/// Kind, name, table and statement of everything in a database.
type Layout = Vec<[Option<String>; 4]>;

fn layout(engine: &Connection) -> rusqlite::Result<Layout> {
    let all = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name";
    let mut statement = engine.prepare(all)?;
    let parts = statement.query_map((), |row| {
        Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?])
    })?;
    parts.collect()
}

/// What differs once a file has been written to or another one has taken its place.
fn stamp(database: &Metadata) -> impl PartialEq + use<> {
    (
        (database.dev(), database.ino(), database.len()),
        (database.mtime(), database.mtime_nsec()),
        (database.ctime(), database.ctime_nsec()),
    )
}
