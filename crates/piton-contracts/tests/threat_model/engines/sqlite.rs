//! Attacks in SQLite, through real files in a temporary directory and through SQL of another
//! driver.

mod files;

use std::path::{Path, PathBuf};

use piton_ledger::WorkflowId;
use piton_sqlite::{SqliteOptions, SqliteStore};
use piton_store::{AppendLock, CheckpointStore, PersistedRow, Repin, Stored, Tail};
use piton_testkit::tamper::Specimen;
use piton_testkit::{Harness, Settings};
use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

use crate::attack::{Attack, Left, PinLeft};
use crate::engine::{Engine, Scene};

const DATABASE: &str = "checkpoints.sqlite";
const LOG: &str = "checkpoints.sqlite-wal";
const LOCK: &str = "checkpoints.lock";

/// A temporary directory of ledgers.
pub(crate) struct SqliteEngine(TempDir);

impl SqliteEngine {
    fn root(&self) -> PathBuf {
        self.0.path().join("ledgers")
    }

    fn home(&self, workflow: &WorkflowId) -> PathBuf {
        self.root().join(workflow.as_str())
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open(self.root()).expect("a store opens")
    }
}

impl Harness for SqliteEngine {
    type Store = SqliteStore;

    async fn start() -> Self {
        // Nothing here asks for durability, and memory is faster than any disk.
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self(directory.expect("a directory"))
    }

    async fn open(&self, settings: Settings) -> SqliteStore {
        let options = SqliteOptions {
            busy_timeout: settings.busy_timeout,
            clock: settings.clock,
        };
        SqliteStore::with_options(self.root(), options).expect("a store opens")
    }
}

impl Engine for SqliteEngine {
    const NAME: &'static str = "SQLite";
    type Attacked = SqliteStore;
    type Own = files::Deed;

    fn own() -> Vec<Attack<Self>> {
        files::all()
    }

    async fn replace(specimen: &Specimen<Self>, left: &Left) -> SqliteStore {
        let home = specimen.harness().home(&specimen.workflow);
        let store = specimen.harness().store();
        match left.pin {
            PinLeft::Untouched => replace_rows(&home, &left.rows),
            PinLeft::SetTo(tail) => {
                replace_rows(&home, &left.rows);
                set_pin(&store, &specimen.workflow, tail).await;
            }
            PinLeft::Gone => {
                assert!(left.rows.is_empty(), "the rows go with the directory");
                std::fs::remove_dir_all(&home).expect("the directory is ours");
            }
        }
        store
    }

    async fn handle(specimen: &Specimen<Self>, own: files::Deed) -> Scene<SqliteStore> {
        files::handle(specimen, own).await
    }
}

fn connect(home: &Path) -> Connection {
    Connection::open(home.join(DATABASE)).expect("the database opens")
}

fn replace_rows(home: &Path, rows: &[PersistedRow]) {
    let database = connect(home);
    // A table without types and constraints takes whatever an attacker writes.
    database
        .execute_batch(
            "DROP TABLE checkpoint_chain; \
             CREATE TABLE checkpoint_chain \
             (sequence, transition_id, prior_head, next_head, event_bytes, written_at)",
        )
        .expect("the table can be replaced");
    for row in rows {
        database
            .execute(
                "INSERT INTO checkpoint_chain VALUES (?, ?, ?, ?, ?, ?)",
                (
                    row.sequence,
                    value(&row.transition_id),
                    value(&row.prior_head),
                    value(&row.next_head),
                    &row.event_bytes,
                    value(&row.written_at),
                ),
            )
            .expect("a bare table takes any row");
    }
}

fn value(stored: &Stored) -> Value {
    match stored {
        Stored::Text(text) => Value::Text(text.to_string()),
        Stored::Bytes(bytes) => Value::Blob(bytes.to_vec()),
        Stored::Null => Value::Null,
    }
}

async fn set_pin(store: &SqliteStore, workflow: &WorkflowId, tail: Tail) {
    let mut lock = store.lock(workflow).await.expect("the lock is free");
    lock.repin(tail).await.expect("the pin can be written");
    lock.release().await.expect("the lock is released");
}
