//! Runs the conformance kit and the tamper matrix on ledgers in SQLite, plain and erased.

mod support;

use piton_ledger::WorkflowId;
use piton_sqlite::{SqliteOptions, SqliteStore};
use piton_store::{AppendLock, CheckpointStore, PersistedRow, Repin, Stored, Tail};
use piton_testkit::{Harness, Settings, TamperHarness};
use rusqlite::types::Value;
use support::{Place, raw};

/// A temporary directory of ledgers.
struct SqliteHarness(Place);

impl Harness for SqliteHarness {
    type Store = SqliteStore;

    async fn start() -> Self {
        Self(Place::new())
    }

    async fn open(&self, settings: Settings) -> SqliteStore {
        let options = SqliteOptions {
            busy_timeout: settings.busy_timeout,
            clock: settings.clock,
        };
        SqliteStore::with_options(self.0.root(), options).expect("the store opens")
    }
}

impl TamperHarness for SqliteHarness {
    type Tampered = SqliteStore;

    async fn tampered(
        &self,
        workflow: &WorkflowId,
        rows: Vec<PersistedRow>,
        pin: Option<Tail>,
    ) -> SqliteStore {
        let home = self.0.home(workflow);
        if home.exists() {
            std::fs::remove_dir_all(&home).expect("the directory is ours");
        }
        std::fs::create_dir_all(&home).expect("the directory is ours");
        write_rows(&self.0, workflow, &rows);
        let store = self.0.store();
        if let Some(tail) = pin {
            raw(&self.0.database(workflow))
                .pragma_update(None, "user_version", piton_sqlite::LAYOUT_VERSION)
                .expect("a pragma");
            let mut lock = store.lock(workflow).await.expect("the lock is free");
            lock.repin(tail).await.expect("the pin can be written");
            lock.release().await.expect("the lock is released");
        }
        store
    }
}

fn write_rows(place: &Place, workflow: &WorkflowId, rows: &[PersistedRow]) {
    let database = raw(&place.database(workflow));
    database
        .execute_batch(
            "CREATE TABLE checkpoint_chain \
             (sequence, transition_id, prior_head, next_head, event_bytes, written_at)",
        )
        .expect("a table without constraints");
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
            .expect("an insert");
    }
}

fn value(stored: &Stored) -> Value {
    match stored {
        Stored::Text(text) => Value::Text(text.to_string()),
        Stored::Bytes(bytes) => Value::Blob(bytes.to_vec()),
        Stored::Null => Value::Null,
    }
}

mod plain {
    piton_testkit::conformance!(super::SqliteHarness);
}

mod erased {
    piton_testkit::conformance!(piton_testkit::Erased<super::SqliteHarness>);
}

mod tampered {
    piton_testkit::tamper_matrix!(super::SqliteHarness);
}
