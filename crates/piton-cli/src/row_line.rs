//! Owns the line form of one raw row, out and in. It proves nothing and touches no store.

use piton_ledger::WorkflowId;
use piton_store::{PersistedRow, Stored};
use serde::{Deserialize, Serialize};

use crate::failure::LineError;

/// One raw row as one line of JSON.
#[derive(Debug, Serialize)]
pub(crate) struct RowLine<'a> {
    workflow_id: &'a WorkflowId,
    sequence: i64,
    transition_id: &'a str,
    prior_head: String,
    next_head: String,
    /// The stored bytes: JSON within a JSON string, so that not a space of them can change.
    event: &'a str,
    written_at: Option<&'a str>,
}

impl<'a> RowLine<'a> {
    /// Gives the line of a row, or none for a row with a column that can't be read, which no
    /// intact chain has.
    pub(crate) fn of(workflow_id: &'a WorkflowId, row: &'a PersistedRow) -> Option<Self> {
        Some(Self {
            workflow_id,
            sequence: row.sequence,
            transition_id: row.transition_id.as_text()?,
            prior_head: head_text(&row.prior_head)?,
            next_head: head_text(&row.next_head)?,
            event: std::str::from_utf8(row.event_bytes.as_deref()?).ok()?,
            written_at: row.written_at.as_text(),
        })
    }
}

/// Heads keep the text in which they are stored; an engine that stores bytes has none.
fn head_text(head: &Stored) -> Option<String> {
    match head.as_text() {
        Some(text) => Some(text.to_owned()),
        None => head.to_head().map(|head| head.to_string()),
    }
}

/// A row that was read from a line; nothing about it has been judged.
#[derive(Debug)]
pub(crate) struct ReadRow {
    pub(crate) workflow: WorkflowId,
    pub(crate) row: PersistedRow,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    workflow_id: WorkflowId,
    sequence: i64,
    transition_id: String,
    prior_head: String,
    next_head: String,
    event: String,
    written_at: Option<String>,
}

impl ReadRow {
    pub(crate) fn parse(line: &[u8]) -> Result<Self, LineError> {
        let text =
            std::str::from_utf8(line).map_err(|error| LineError::NotUtf8(error.valid_up_to()))?;
        // What serde says may repeat text of the line, so only the place is kept.
        let members: Members = serde_json::from_str(text).map_err(|error| {
            if error.is_data() {
                LineError::NotARow(error.column())
            } else {
                LineError::Syntax(error.column())
            }
        })?;
        Ok(Self {
            workflow: members.workflow_id,
            row: PersistedRow {
                sequence: members.sequence,
                transition_id: members.transition_id.into(),
                prior_head: members.prior_head.into(),
                next_head: members.next_head.into(),
                event_bytes: Some(members.event.into_bytes()),
                written_at: members.written_at.map_or(Stored::Null, Stored::from),
            },
        })
    }
}
