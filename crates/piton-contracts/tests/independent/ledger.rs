//! Owns a ledger as files, damaged or not: rows in a table without constraints, a lock file, and
//! the lines of an export. It writes them from `docs/chain-format.md` and judges nothing.

use std::path::{Path, PathBuf};

use piton_ledger::{Sequence, WorkflowId};
use piton_store::{PersistedRow, Stored, Tail};
use piton_verify::{Expectations, PinPolicy};
use rusqlite::types::Value;

/// The length of a lock file with a pin, and the place of its second slot.
pub(crate) const LOCK_LENGTH: usize = 8192;
pub(crate) const SECOND_SLOT: usize = 4096;

/// One workflow as it lies on a disk, and what it is to be held against.
#[derive(Clone, PartialEq)]
pub(crate) struct Ledger {
    pub(crate) workflow: WorkflowId,
    pub(crate) rows: Vec<PersistedRow>,
    pub(crate) lock: Option<Vec<u8>>,
    pub(crate) layout: i64,
    /// What is done to the database after its rows have been written.
    pub(crate) statement: Option<&'static str>,
    pub(crate) expectations: Expectations,
}

impl Ledger {
    /// A ledger of our layout, or of the original's where there is no pin.
    pub(crate) fn new(workflow: &WorkflowId, rows: Vec<PersistedRow>, pin: Option<Tail>) -> Self {
        Self {
            workflow: workflow.clone(),
            rows,
            lock: pin.map(|tail| lock_file(&[(1, tail)])),
            layout: i64::from(pin.is_some()),
            statement: None,
            expectations: Expectations::default(),
        }
    }

    /// Writes the files of the workflow below a root and gives their directory.
    pub(crate) fn write(&self, root: &Path) -> PathBuf {
        let home = root.join(self.workflow.as_str());
        std::fs::create_dir_all(&home).expect("a directory");
        if let Some(lock) = &self.lock {
            std::fs::write(home.join("checkpoints.lock"), lock).expect("a lock file");
        }
        self.write_database(&home.join("checkpoints.sqlite"));
        home
    }

    fn write_database(&self, path: &Path) {
        let database = rusqlite::Connection::open(path).expect("a database");
        database
            .execute_batch(&format!(
                "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; \
                 PRAGMA user_version = {}; BEGIN; CREATE TABLE checkpoint_chain \
                 (sequence, transition_id, prior_head, next_head, event_bytes, written_at)",
                self.layout
            ))
            .expect("a table");
        for row in &self.rows {
            let columns = (
                row.sequence,
                value(&row.transition_id),
                value(&row.prior_head),
                value(&row.next_head),
                &row.event_bytes,
                value(&row.written_at),
            );
            database
                .execute(
                    "INSERT INTO checkpoint_chain VALUES (?, ?, ?, ?, ?, ?)",
                    columns,
                )
                .expect("a row");
        }
        database.execute_batch("COMMIT").expect("a commit");
        if let Some(statement) = self.statement {
            let before = contents(&database);
            database.execute_batch(statement).expect("a statement");
            assert_ne!(contents(&database), before, "{statement} changes nothing");
        }
    }

    /// The rows as lines of an export; none where a row has something that no line can hold.
    pub(crate) fn lines(&self) -> Option<String> {
        if self.statement.is_some() {
            return None;
        }
        self.rows.iter().map(|row| self.line(row)).collect()
    }

    fn line(&self, row: &PersistedRow) -> Option<String> {
        let event = match &row.event_bytes {
            Some(bytes) => Some(std::str::from_utf8(bytes).ok()?),
            None => None,
        };
        let text = |stored: &Stored| match stored {
            Stored::Text(text) => Some(serde_json::Value::from(&**text)),
            Stored::Null => Some(serde_json::Value::Null),
            Stored::Bytes(_) => None,
        };
        let json = serde_json::json!({
            "workflow_id": self.workflow.as_str(),
            "sequence": row.sequence,
            "transition_id": text(&row.transition_id)?,
            "prior_head": text(&row.prior_head)?,
            "next_head": text(&row.next_head)?,
            "event": event,
            "written_at": text(&row.written_at)?,
        });
        Some(format!("{json}\n"))
    }

    /// The options of `piton verify` that say the expectations.
    pub(crate) fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        if let Some(tail) = self.expectations.expected {
            options.extend(["--expect".to_owned(), tail.to_string()]);
        }
        if self.expectations.pin == PinPolicy::Ignore {
            options.push("--ignore-pin".to_owned());
        }
        options
    }
}

/// Everything that a statement could change.
fn contents(database: &rusqlite::Connection) -> Vec<String> {
    let mut found = Vec::new();
    for query in [
        "SELECT user_version FROM pragma_user_version",
        "SELECT type || name || ifnull(sql, '') FROM sqlite_schema",
        "SELECT rowid || typeof(sequence) || quote(sequence) || quote(transition_id) \
             || quote(prior_head) || quote(next_head) || quote(event_bytes) FROM checkpoint_chain",
    ] {
        // A table that is gone has no contents.
        let Ok(mut statement) = database.prepare(query) else {
            continue;
        };
        let rows = statement
            .query_map((), |row| row.get::<_, Value>(0))
            .expect("rows");
        found.extend(rows.map(|row| format!("{row:?}")));
    }
    found
}

fn value(stored: &Stored) -> Value {
    match stored {
        Stored::Text(text) => Value::Text(text.to_string()),
        Stored::Bytes(bytes) => Value::Blob(bytes.to_vec()),
        Stored::Null => Value::Null,
    }
}

/// A whole lock file with a generation and a tail in its first slot, and perhaps in its second.
pub(crate) fn lock_file(slots: &[(u64, Tail)]) -> Vec<u8> {
    let mut bytes = vec![0; LOCK_LENGTH];
    for (at, (generation, tail)) in [0, SECOND_SLOT].into_iter().zip(slots) {
        let sequence = tail.sequence().map_or(0, Sequence::to_u64);
        let slot = slot(1, *generation, sequence, tail.head().as_bytes());
        bytes[at..at + slot.len()].copy_from_slice(&slot);
    }
    bytes
}

/// One slot with a right checksum, whatever it says.
pub(crate) fn slot(version: u32, generation: u64, sequence: u64, head: &[u8; 32]) -> Vec<u8> {
    let mut slot = b"PITONPIN".to_vec();
    slot.extend(version.to_be_bytes());
    slot.extend(generation.to_be_bytes());
    slot.extend(sequence.to_be_bytes());
    slot.extend(head);
    let checksum = crc32(&slot);
    slot.extend(checksum.to_be_bytes());
    slot
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 * (crc & 1));
        }
    }
    !crc
}
