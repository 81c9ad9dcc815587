//! Owns the reading of rows as the server holds them. It judges none.

use piton_ledger::Sequence;
use piton_store::{PersistedRow, Stored, Tail};
use tokio_postgres::Row;

/// Reads the six columns of a row, which stand first and in the table's order.
pub(crate) fn decode(row: &Row) -> Result<PersistedRow, tokio_postgres::Error> {
    Ok(PersistedRow {
        sequence: row.try_get(0)?,
        transition_id: text(row, 1)?,
        prior_head: bytes(row, 2)?,
        next_head: bytes(row, 3)?,
        event_bytes: row.try_get(4)?,
        written_at: text(row, 5)?,
    })
}

fn text(row: &Row, column: usize) -> Result<Stored, tokio_postgres::Error> {
    let text: Option<&str> = row.try_get(column)?;
    Ok(text.map_or(Stored::Null, Stored::from))
}

fn bytes(row: &Row, column: usize) -> Result<Stored, tokio_postgres::Error> {
    let bytes: Option<&[u8]> = row.try_get(column)?;
    Ok(bytes.map_or(Stored::Null, |bytes| Stored::Bytes(bytes.into())))
}

/// A position as two columns hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredTail {
    pub(crate) sequence: i64,
    pub(crate) head: Stored,
}

impl StoredTail {
    /// Reads a sequence and a head; none when there is no such row.
    pub(crate) fn decode(row: &Row, column: usize) -> Result<Option<Self>, tokio_postgres::Error> {
        let sequence: Option<i64> = row.try_get(column)?;
        let head = bytes(row, column + 1)?;
        Ok(sequence.map(|sequence| Self { sequence, head }))
    }

    /// Reads the position; the name of the first column that can't be read otherwise.
    pub(crate) fn to_tail(&self) -> Result<Tail, &'static str> {
        let sequence = Sequence::try_from(self.sequence).map_err(|_| "sequence")?;
        let head = self.head.to_head().ok_or("next_head")?;
        Ok(Tail::At { sequence, head })
    }

    /// Reads a pin, which stands at sequence 0 while nothing is recorded.
    pub(crate) fn to_pin(&self) -> Option<Tail> {
        if self.sequence == 0 {
            return Some(Tail::Empty);
        }
        self.to_tail().ok()
    }
}
