//! Owns the scan of a whole chain: rows straight from the engine, without the driver's queue
//! between its thread and ours. It judges no row, and holds the only unsafe code of the adapter.

use piton_store::{PersistedRow, Stored};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use sqlx::SqliteConnection;
use sqlx::sqlite::LockedSqliteHandle;

/// A batch is full with this many rows, or with [`BATCH_BYTES`] in their columns.
const BATCH_ROWS: usize = 256;
const BATCH_BYTES: usize = 256 * 1024;

/// Why a scan ended early.
#[derive(Debug)]
pub(crate) enum ScanError {
    /// The driver did not hand its connection over.
    Driver(sqlx::Error),
    /// The engine failed.
    Engine(rusqlite::Error),
}

impl From<sqlx::Error> for ScanError {
    fn from(error: sqlx::Error) -> Self {
        Self::Driver(error)
    }
}

impl From<rusqlite::Error> for ScanError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(error)
    }
}

/// Hands all rows that a statement without parameters selects to `batch`, some at a time. It
/// answers with rows that nobody needs any more, whose memory the next ones take, or with none
/// when no more are wanted.
pub(crate) async fn scan(
    connection: &mut SqliteConnection,
    statement: &str,
    mut batch: impl AsyncFnMut(Vec<PersistedRow>) -> Option<Vec<PersistedRow>>,
) -> Result<(), ScanError> {
    let mut locked = connection.lock_handle().await?;
    let engine = Engine::borrow(&mut locked)?;
    let mut statement = engine.connection.prepare(statement)?;
    let mut selected = statement.query(())?;
    let mut rows = Vec::new();
    let mut filled = 0;
    let mut bytes = 0;
    while let Some(row) = selected.next()? {
        if filled == rows.len() {
            rows.push(BLANK);
        }
        let slot = &mut rows[filled];
        fill(slot, row)?;
        filled += 1;
        bytes += size(slot);
        if filled >= BATCH_ROWS || bytes >= BATCH_BYTES {
            rows.truncate(filled);
            let Some(used) = batch(rows).await else {
                return Ok(());
            };
            (rows, filled, bytes) = (used, 0, 0);
        }
    }
    rows.truncate(filled);
    if !rows.is_empty() {
        batch(rows).await;
    }
    Ok(())
}

/// Counts the rows whose next head is stored as this one is. It is compared here: SQLite would
/// heed a collation of the column, its encoding, and an index that may be damaged.
pub(crate) async fn count(
    connection: &mut SqliteConnection,
    next_head: &Stored,
) -> Result<u64, ScanError> {
    let mut locked = connection.lock_handle().await?;
    let engine = Engine::borrow(&mut locked)?;
    let mut heads = engine
        .connection
        .prepare("SELECT next_head FROM checkpoint_chain NOT INDEXED")?;
    let mut heads = heads.query(())?;
    let mut count = 0_u64;
    while let Some(row) = heads.next()? {
        if stored(row.get_ref(0)?) == *next_head {
            count = count.saturating_add(1);
        }
    }
    Ok(count)
}

/// How much memory the columns of a row take; a foreign one may hold anything.
fn size(row: &PersistedRow) -> usize {
    let stored = [
        &row.transition_id,
        &row.prior_head,
        &row.next_head,
        &row.written_at,
    ];
    let length = |stored: &Stored| match stored {
        Stored::Text(text) => text.len(),
        Stored::Bytes(bytes) => bytes.len(),
        Stored::Null => 0,
    };
    row.event_bytes.as_ref().map_or(0, Vec::len) + stored.into_iter().map(length).sum::<usize>()
}

/// The same connection under the driver that hands out values where they lie.
struct Engine<'l, 'c> {
    /// Finalises its statements, and leaves the connection open, when it is dropped.
    connection: Connection,
    _locked: &'l mut LockedSqliteHandle<'c>,
}

impl<'l, 'c> Engine<'l, 'c> {
    #[allow(
        unsafe_code,
        reason = "a value is copied once instead of three times, and no row waits for a thread"
    )]
    fn borrow(locked: &'l mut LockedSqliteHandle<'c>) -> Result<Self, rusqlite::Error> {
        let handle = locked.as_raw_handle();
        // SAFETY: The handle is an open connection of the same SQLite library: both drivers link
        // the one `libsqlite3-sys`, since only one crate of a build may link `sqlite3`. It stays
        // open and nobody else uses it for as long as it is locked, and this value holds the
        // exclusive borrow of the lock for as long as it lives. A connection that was made from a
        // handle does not close it.
        let connection = unsafe { Connection::from_handle(handle.as_ptr()) }?;
        Ok(Self {
            connection,
            _locked: locked,
        })
    }
}

/// What a row is before it is filled.
const BLANK: PersistedRow = PersistedRow {
    sequence: 0,
    transition_id: Stored::Null,
    prior_head: Stored::Null,
    next_head: Stored::Null,
    event_bytes: None,
    written_at: Stored::Null,
};

pub(crate) fn decode(row: &Row<'_>) -> Result<PersistedRow, rusqlite::Error> {
    let mut decoded = BLANK;
    fill(&mut decoded, row)?;
    Ok(decoded)
}

/// Decodes a row into another one, whatever the types of its values. A sequence that is not a whole
/// number becomes 0, which no intact chain holds.
fn fill(slot: &mut PersistedRow, row: &Row<'_>) -> Result<(), rusqlite::Error> {
    slot.sequence = match row.get_ref(0)? {
        ValueRef::Integer(sequence) => sequence,
        ValueRef::Null | ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => 0,
    };
    slot.event_bytes = match row.get_ref(4)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(fill_bytes(slot.event_bytes.take(), bytes))
        }
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    };
    fill_column(&mut slot.transition_id, row.get_ref(1)?);
    fill_column(&mut slot.prior_head, row.get_ref(2)?);
    fill_column(&mut slot.next_head, row.get_ref(3)?);
    fill_column(&mut slot.written_at, row.get_ref(5)?);
    Ok(())
}

/// Copies bytes into memory that is not needed any more. Not into much more than they take:
/// otherwise all rows of a batch could come to hold the memory of the longest one.
fn fill_bytes(used: Option<Vec<u8>>, bytes: &[u8]) -> Vec<u8> {
    let Some(mut used) = used.filter(|used| used.capacity() / 4 <= bytes.len()) else {
        return bytes.to_vec();
    };
    used.clear();
    used.extend_from_slice(bytes);
    used
}

/// Decodes a column into another one. Texts of one length, as ids, heads and times are, stay where
/// they are.
fn fill_column(slot: &mut Stored, value: ValueRef<'_>) {
    let used = match std::mem::replace(slot, Stored::Null) {
        Stored::Text(used) => String::from(used),
        Stored::Bytes(_) | Stored::Null => String::new(),
    };
    *slot = match value {
        // A text that is not UTF-8 is kept as the bytes that it is.
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Stored::from(fill_text(used, text)),
            Err(_) => Stored::Bytes(bytes.into()),
        },
        ValueRef::Blob(bytes) => Stored::Bytes(bytes.into()),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => Stored::Null,
    };
}

fn fill_text(mut used: String, text: &str) -> String {
    used.clear();
    used.push_str(text);
    used
}

pub(crate) fn stored(value: ValueRef<'_>) -> Stored {
    let mut stored = Stored::Null;
    fill_column(&mut stored, value);
    stored
}
