//! Owns the count and the ends of a chain in the bytes of a whole database, which SQLite reads in
//! memory. It opens no file and judges nothing.
//!
//! Only a database of exactly this layout has an answer here; for any other, and on any failure,
//! the file itself has to be opened.

use std::sync::OnceLock;

use piton_store::PersistedRow;
use rusqlite::{Connection, OptionalExtension};

use crate::row;
use crate::scan;
use crate::schema::{LAYOUT_VERSION, SCHEMA, Table};

/// How many rows there are, the first and the last.
pub(crate) type Ends = (u64, Option<PersistedRow>, Option<PersistedRow>);

/// Counts the rows of a database and reads its ends; none unless its layout is exactly ours.
pub(crate) fn ends(mut bytes: Vec<u8>) -> Option<Ends> {
    // "File format version numbers": 2 means that there may be a write-ahead log, which a database
    // in memory can't have.
    match bytes.get_mut(18..20)? {
        versions @ ([1, 1] | [2, 2]) => versions.copy_from_slice(&[1, 1]),
        _ => return None,
    }
    let mut engine = Connection::open_in_memory().ok()?;
    engine
        .deserialize_read_exact("main", bytes.as_slice(), bytes.len(), true)
        .ok()?;
    if layout(&engine).ok()? != *plain_layout()? || !is_known(&engine)? {
        return None;
    }
    let statements = row::statements(Table::WithRowid)?;
    let rows: i64 = engine
        .query_row("SELECT count(*) FROM checkpoint_chain", (), |row| {
            row.get(0)
        })
        .ok()?;
    let end = |statement| {
        engine
            .query_row(statement, (), scan::decode)
            .optional()
            .ok()
    };
    let rows = u64::try_from(rows).ok()?;
    Some((rows, end(statements.first)?, end(statements.last)?))
}

fn is_known(engine: &Connection) -> Option<bool> {
    let version: i64 = engine
        .query_row("PRAGMA user_version", (), |row| row.get(0))
        .ok()?;
    Some((0..=LAYOUT_VERSION).contains(&version))
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
