//! Owns the count and the ends of a chain in the bytes of a whole database, which SQLite reads in
//! memory. It opens no file and judges nothing.
//!
//! Only a database of exactly this layout has an answer here; for any other, and on any failure,
//! the file itself has to be opened.

use std::cell::RefCell;
use std::sync::OnceLock;

use piton_store::{PersistedRow, Stored};
use rusqlite::{Connection, OptionalExtension};

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

thread_local! {
    /// To open an engine takes longer than to ask it.
    static ENGINE: RefCell<Option<Connection>> = const { RefCell::new(None) };
}

/// Counts the rows of a database and reads its ends; none unless its layout is exactly ours.
pub(crate) fn ends(mut bytes: Vec<u8>) -> Option<Ends> {
    // "File format version numbers": 2 means that there may be a write-ahead log, which a database
    // in memory can't have.
    match bytes.get_mut(18..20)? {
        versions @ ([1, 1] | [2, 2]) => versions.copy_from_slice(&[1, 1]),
        _ => return None,
    }
    // "User version number"
    let version = u32::from_be_bytes(*bytes.get(60..64)?.first_chunk()?);
    if i64::from(version) > LAYOUT_VERSION {
        return None;
    }
    ENGINE.with(|kept| {
        // One that fails is not used again.
        let mut engine = match kept.take() {
            Some(engine) => engine,
            None => Connection::open_in_memory().ok()?,
        };
        let ends = read(&mut engine, &bytes)?;
        kept.replace(Some(engine));
        Some(ends)
    })
}

fn read(engine: &mut Connection, bytes: &[u8]) -> Option<Ends> {
    engine
        .deserialize_read_exact("main", bytes, bytes.len(), true)
        .ok()?;
    if layout(engine).ok()? != *plain_layout()? {
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

fn plain_layout() -> Option<&'static Layout> {
    static PLAIN: OnceLock<Option<Layout>> = OnceLock::new();
    PLAIN
        .get_or_init(|| {
            let engine = Connection::open_in_memory().ok()?;
            engine.execute_batch(SCHEMA).ok()?;
            layout(&engine).ok()
        })
        .as_ref()
}
