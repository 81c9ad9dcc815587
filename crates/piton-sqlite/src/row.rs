//! Owns how rows are asked for and decoded, whatever they hold. It judges none.

use piton_ledger::{Sequence, TransitionId};
use piton_store::{PersistedRow, StoreError, Stored, Tail};
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteRow, SqliteValueRef};
use sqlx::{Decode, Row, SqliteConnection, TypeInfo, ValueRef};

use crate::connection::{self, Lease};
use crate::error::Call;
use crate::schema::Table;

/// Selects all columns, in the order in which [`decode`] reads them.
macro_rules! select_rows {
    ($rest:literal) => {
        concat!(
            "SELECT sequence, transition_id, prior_head, next_head, event_bytes, written_at ",
            "FROM checkpoint_chain ",
            $rest
        )
    };
}

/// The statements that differ between tables with row ids and without; where there are some, they
/// break ties between equal sequences in the order of appends.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) all: &'static str,
    pub(crate) first: &'static str,
    pub(crate) last: &'static str,
}

/// Gives the statements that fit a table; none when there is no table, and hence no row.
pub(crate) fn statements(table: Table) -> Option<&'static Statements> {
    match table {
        Table::Absent => None,
        Table::WithRowid => Some(&Statements {
            all: select_rows!("ORDER BY sequence, rowid"),
            first: select_rows!("ORDER BY sequence, rowid LIMIT 1"),
            last: select_rows!("ORDER BY sequence DESC, rowid DESC LIMIT 1"),
        }),
        Table::WithoutRowid => Some(&Statements {
            all: select_rows!("ORDER BY sequence"),
            first: select_rows!("ORDER BY sequence LIMIT 1"),
            last: select_rows!("ORDER BY sequence DESC LIMIT 1"),
        }),
    }
}

const BY_SEQUENCE: &str = select_rows!("WHERE sequence = ?1 LIMIT 1");
const BY_TRANSITION: &str = select_rows!("WHERE transition_id = ?1 ORDER BY sequence LIMIT 1");

/// The last row's position and its stored columns, to be compared in the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredTail {
    pub(crate) tail: Tail,
    /// The stored head; null for an empty chain.
    pub(crate) head: Stored,
}

impl StoredTail {
    /// The tail of an empty chain.
    pub(crate) const EMPTY: Self = Self {
        tail: Tail::Empty,
        head: Stored::Null,
    };

    /// Reads the position of a row, whose columns must be what they should be.
    pub(crate) fn of(row: &PersistedRow, call: &Call<'_>) -> Result<Self, StoreError> {
        let sequence = Sequence::try_from(row.sequence).map_err(|_| call.unreadable("sequence"))?;
        let head = row
            .next_head
            .to_head()
            .ok_or_else(|| call.unreadable("next_head"))?;
        Ok(Self {
            tail: Tail::At { sequence, head },
            head: row.next_head.clone(),
        })
    }
}

/// Finds the row of a transition.
pub(crate) async fn find(
    lease: &mut Lease,
    transition_id: TransitionId,
) -> Result<Option<PersistedRow>, sqlx::Error> {
    let writer = lease.writer();
    if statements(writer.table).is_none() {
        return Ok(None);
    }
    let query = sqlx::query(BY_TRANSITION).bind(transition_id.to_string());
    optional(&mut writer.connection, query).await
}

/// Finds the row at a sequence.
pub(crate) async fn at(
    connection: &mut SqliteConnection,
    sequence: Sequence,
) -> Result<Option<PersistedRow>, sqlx::Error> {
    optional(connection, sqlx::query(BY_SEQUENCE).bind(sequence.to_i64())).await
}

/// Reads the one row, if any, that a statement without parameters gives.
pub(crate) async fn one(
    connection: &mut SqliteConnection,
    statement: &'static str,
) -> Result<Option<PersistedRow>, sqlx::Error> {
    optional(connection, sqlx::query(statement)).await
}

async fn optional(
    connection: &mut SqliteConnection,
    query: Query<'_, Sqlite, SqliteArguments>,
) -> Result<Option<PersistedRow>, sqlx::Error> {
    match query.fetch_optional(&mut *connection).await? {
        Some(row) => decode(&row).map(Some),
        None => connection::confirm(connection).await.map(|()| None),
    }
}

/// Decodes a row, whatever the types of its values. A sequence that is not a whole number becomes
/// 0, which no intact chain holds.
pub(crate) fn decode(row: &SqliteRow) -> Result<PersistedRow, sqlx::Error> {
    let sequence = match value(row, 0)? {
        Value::Integer(sequence) => sequence,
        Value::Text(_) | Value::Blob(_) | Value::Other => 0,
    };
    let event_bytes = match value(row, 4)? {
        Value::Text(bytes) | Value::Blob(bytes) => Some(bytes.to_vec()),
        Value::Integer(_) | Value::Other => None,
    };
    Ok(PersistedRow {
        sequence,
        transition_id: stored(row, 1)?,
        prior_head: stored(row, 2)?,
        next_head: stored(row, 3)?,
        event_bytes,
        written_at: stored(row, 5)?,
    })
}

enum Value<'r> {
    Integer(i64),
    Text(&'r [u8]),
    Blob(&'r [u8]),
    Other,
}

fn value(row: &SqliteRow, column: usize) -> Result<Value<'_>, sqlx::Error> {
    let value = row.try_get_raw(column)?;
    if value.is_null() {
        return Ok(Value::Other);
    }
    let kind = value.type_info().name().to_owned();
    Ok(match kind.as_str() {
        "INTEGER" => Value::Integer(read(value)?),
        "TEXT" => Value::Text(read(value)?),
        "BLOB" => Value::Blob(read(value)?),
        _ => Value::Other,
    })
}

fn read<'r, T: Decode<'r, Sqlite>>(value: SqliteValueRef<'r>) -> Result<T, sqlx::Error> {
    T::decode(value).map_err(sqlx::Error::Decode)
}

fn stored(row: &SqliteRow, column: usize) -> Result<Stored, sqlx::Error> {
    Ok(match value(row, column)? {
        // A text that is not UTF-8 is kept as the bytes that it is.
        Value::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Stored::from(text),
            Err(_) => Stored::Bytes(bytes.into()),
        },
        Value::Blob(bytes) => Stored::Bytes(bytes.into()),
        Value::Integer(_) | Value::Other => Stored::Null,
    })
}
