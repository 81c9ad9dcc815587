//! Owns the small alterations that damage is made of. Each keeps the kind of a column, so that
//! an engine that stores bytes gets bytes.

use piton_chain::link;
use piton_ledger::{ChainHead, WorkflowId};
use piton_store::{PersistedRow, Stored};

use crate::history::{nth, nth_with, transition_id};

/// Writes a head in the kind of another column.
pub(crate) fn stored_as(kind: &Stored, head: ChainHead) -> Stored {
    match kind {
        Stored::Bytes(_) => Stored::Bytes(head.as_bytes().as_slice().into()),
        Stored::Text(_) | Stored::Null => head.to_string().into(),
    }
}

/// Gives another readable head of the same kind, one bit away.
pub fn altered_head(column: &Stored) -> Stored {
    let mut bytes = *column
        .to_head()
        .expect("an intact row has readable heads")
        .as_bytes();
    bytes[13] ^= 0x10;
    stored_as(column, ChainHead::from_bytes(bytes))
}

/// Gives columns of the same kind that are no heads, and NULL.
pub fn unreadable_heads(column: &Stored) -> Vec<Stored> {
    match column {
        Stored::Bytes(bytes) => vec![
            Stored::Bytes(Box::default()),
            Stored::Bytes(bytes[1..].into()),
            Stored::Null,
        ],
        Stored::Text(text) => vec![
            "".into(),
            "nonsense".into(),
            text.to_uppercase().into(),
            text[..text.len() - 1].into(),
            format!("{text} ").into(),
            Stored::Null,
        ],
        Stored::Null => vec![Stored::Null],
    }
}

/// Links rows anew from one position on, as a forger would: prior heads, next heads and sequences
/// are made to fit the bytes.
pub fn relink(rows: &mut [PersistedRow], from: usize) {
    let mut prior = match from.checked_sub(1).and_then(|before| rows.get(before)) {
        None => ChainHead::GENESIS,
        Some(before) => before
            .next_head
            .to_head()
            .expect("an intact row has readable heads"),
    };
    for (position, row) in (1i64..).zip(rows).skip(from) {
        let next = link(&prior, row.event_bytes.as_deref().unwrap_or_default());
        row.sequence = position;
        row.prior_head = stored_as(&row.prior_head, prior);
        row.next_head = stored_as(&row.next_head, next);
        prior = next;
    }
}

/// Moves the sequences from one position on.
pub fn shift_sequences(rows: &mut [PersistedRow], from: usize, by: i64) {
    for row in rows.iter_mut().skip(from) {
        row.sequence += by;
    }
}

/// Numbers rows 1, 2, 3 … and leaves their contents.
pub fn renumber(rows: &mut [PersistedRow]) {
    for (position, row) in (1..).zip(rows) {
        row.sequence = position;
    }
}

/// Gives the bytes of a valid event that could stand at a position, with its transition id.
pub fn forged_bytes(workflow: &WorkflowId, at: usize) -> Vec<u8> {
    let n = u32::try_from(at + 1).expect("few rows");
    let forged = nth_with(workflow, n, r#"{"step":"forged"}"#);
    forged.bytes().to_vec()
}

/// Replaces every event from one position on by another valid one, and links them anew.
pub fn rewrite(rows: &mut [PersistedRow], workflow: &WorkflowId, from: usize) {
    for (at, row) in rows.iter_mut().enumerate().skip(from) {
        row.event_bytes = Some(forged_bytes(workflow, at));
    }
    relink(rows, from);
}

/// Puts a forged row at a position, linked to the row before it; those after it stay as they are.
pub fn insert_forged(rows: &mut Vec<PersistedRow>, workflow: &WorkflowId, at: usize) {
    let mut forged = rows[at].clone();
    forged.event_bytes = Some(nth(workflow, 50).bytes().to_vec());
    forged.transition_id = transition_id(50).to_string().into();
    rows.insert(at, forged);
    relink(&mut rows[..=at], at);
}

/// Makes an event move along an edge that the ledger does not have.
pub fn along_an_illegal_edge(row: &mut PersistedRow) {
    let bytes = row.event_bytes.take().expect("an intact row has bytes");
    let mut event: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&bytes).expect("an event is an object");
    event.insert("prior_state_id".to_owned(), "completed".into());
    row.event_bytes = Some(serde_json::to_vec(&event).expect("an object can be written"));
}

/// Replaces a part of the bytes of a row, which must be there.
pub(crate) fn replace_in_bytes(row: &mut PersistedRow, from: &str, to: &str) {
    let bytes = row.event_bytes.take().expect("an intact row has bytes");
    let text = String::from_utf8(bytes).expect("sealed bytes are UTF-8");
    assert!(text.contains(from), "the part to be replaced is there");
    row.event_bytes = Some(text.replacen(from, to, 1).into_bytes());
}
