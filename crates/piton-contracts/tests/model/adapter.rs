//! Owns how each adapter's ledgers are opened, and damaged past the store.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use piton_ledger::WorkflowId;
use piton_memory::MemoryStore;
use piton_postgres::{PostgresOptions, PostgresStore};
use piton_sqlite::{SqliteOptions, SqliteStore};
use piton_store::{Repin, WorkflowCatalog};
use piton_testkit::history;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use tempfile::TempDir;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls};

use crate::plain::Waits;

/// A waiter in a walk never gets what it waits for.
const IMPATIENCE: Duration = Duration::from_millis(15);
const PATIENCE: Duration = Duration::from_secs(60);

/// One engine.
#[allow(async_fn_in_trait, reason = "nothing here is sent between threads")]
pub(crate) trait Adapter: Sized {
    type Store: WorkflowCatalog<Lock: Repin>;
    /// Where one walk's ledger is.
    type Ground;
    const NAME: &'static str;
    /// Whether there is anything that could be changed past the store.
    const CAN_BE_DAMAGED: bool;
    /// Whether another's lock is waited for before anything else.
    const WAITS: Waits;

    async fn start() -> Self;
    async fn ground(&self) -> (Self::Ground, WorkflowId);
    async fn open(&self, ground: &Self::Ground) -> Self::Store;
    async fn open_patient(&self, ground: &Self::Ground) -> Self::Store;
    /// Takes the rows after so many away.
    async fn cut(&self, ground: &Self::Ground, workflow: &WorkflowId, keep: usize);
    /// Replaces the event bytes of a row.
    async fn alter(&self, ground: &Self::Ground, workflow: &WorkflowId, row: usize, bytes: &[u8]);
    async fn end(self) {}
}

/// The model adapter, which holds nothing that anybody else could reach.
pub(crate) struct Memory;

impl Adapter for Memory {
    type Store = MemoryStore;
    type Ground = MemoryStore;
    const NAME: &'static str = "memory";
    const WAITS: Waits = Waits::Always;
    const CAN_BE_DAMAGED: bool = false;

    async fn start() -> Self {
        Self
    }

    async fn ground(&self) -> (MemoryStore, WorkflowId) {
        (MemoryStore::new(), history::workflow("walked"))
    }

    async fn open(&self, ground: &MemoryStore) -> MemoryStore {
        ground.reopen().with_busy_timeout(IMPATIENCE)
    }

    async fn open_patient(&self, ground: &MemoryStore) -> MemoryStore {
        ground.reopen().with_busy_timeout(PATIENCE)
    }

    async fn cut(&self, _: &MemoryStore, _: &WorkflowId, _: usize) {
        unreachable!("memory is not damaged");
    }

    async fn alter(&self, _: &MemoryStore, _: &WorkflowId, _: usize, _: &[u8]) {
        unreachable!("memory is not damaged");
    }
}

pub(crate) struct Sqlite;

impl Sqlite {
    fn with(ground: &TempDir, busy_timeout: Duration) -> SqliteStore {
        let options = SqliteOptions {
            busy_timeout,
            ..SqliteOptions::default()
        };
        SqliteStore::with_options(ground.path(), options).expect("a store")
    }

    async fn raw(ground: &TempDir, workflow: &WorkflowId) -> sqlx::SqliteConnection {
        let database = ground
            .path()
            .join(workflow.as_str())
            .join("checkpoints.sqlite");
        SqliteConnectOptions::new()
            .filename(database)
            .connect()
            .await
            .expect("the database opens")
    }
}

impl Adapter for Sqlite {
    type Store = SqliteStore;
    type Ground = TempDir;
    const NAME: &'static str = "sqlite";
    const WAITS: Waits = Waits::Always;
    const CAN_BE_DAMAGED: bool = true;

    async fn start() -> Self {
        Self
    }

    async fn ground(&self) -> (TempDir, WorkflowId) {
        // Nothing here asks for durability, and memory is faster than any disk.
        let ground = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        (ground.expect("a directory"), history::workflow("walked"))
    }

    async fn open(&self, ground: &TempDir) -> SqliteStore {
        Self::with(ground, IMPATIENCE)
    }

    async fn open_patient(&self, ground: &TempDir) -> SqliteStore {
        Self::with(ground, PATIENCE)
    }

    async fn cut(&self, ground: &TempDir, workflow: &WorkflowId, keep: usize) {
        let mut raw = Self::raw(ground, workflow).await;
        sqlx::query("DELETE FROM checkpoint_chain WHERE sequence > ?1")
            .bind(i64::try_from(keep).expect("few rows"))
            .execute(&mut raw)
            .await
            .expect("rows can be deleted");
        raw.close().await.expect("closed");
    }

    async fn alter(&self, ground: &TempDir, workflow: &WorkflowId, row: usize, bytes: &[u8]) {
        let mut raw = Self::raw(ground, workflow).await;
        sqlx::query("UPDATE checkpoint_chain SET event_bytes = ?2 WHERE sequence = ?1")
            .bind(i64::try_from(row).expect("few rows"))
            .bind(bytes.to_vec())
            .execute(&mut raw)
            .await
            .expect("a row can be altered");
        raw.close().await.expect("closed");
    }
}

pub(crate) struct Postgres {
    url: String,
    options: PostgresOptions,
    raw: Client,
}

impl Postgres {
    fn with(&self, busy_timeout: Duration) -> PostgresStore {
        let options = PostgresOptions {
            busy_timeout,
            ..self.options.clone()
        };
        PostgresStore::with_options(&self.url, options).expect("a URL")
    }
}

impl Adapter for Postgres {
    type Store = PostgresStore;
    type Ground = ();
    const NAME: &'static str = "postgres";
    const WAITS: Waits = Waits::ToWrite;
    const CAN_BE_DAMAGED: bool = true;

    async fn start() -> Self {
        let variable = "PITON_TEST_POSTGRES_URL";
        let url = std::env::var(variable).unwrap_or_else(|_| {
            panic!("{variable} names no server; run `cargo xtask test`, which starts one")
        });
        let schema = format!("model_{}", std::process::id());
        let (raw, driver) = tokio_postgres::connect(&url, NoTls)
            .await
            .expect("the server can be reached");
        tokio::spawn(async move {
            driver.await.ok();
        });
        let adapter = Self {
            url,
            options: PostgresOptions {
                schema: schema.parse().expect("a schema name"),
                ..PostgresOptions::default()
            },
            raw,
        };
        adapter.with(PATIENCE).migrate().await.expect("a schema");
        adapter
    }

    /// A walk has a workflow of its own, since a schema for each would be slow.
    async fn ground(&self) -> ((), WorkflowId) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        ((), history::workflow(&format!("walked-{number}")))
    }

    async fn open(&self, (): &()) -> PostgresStore {
        // A server answers later than a file system does.
        self.with(IMPATIENCE * 8)
    }

    async fn open_patient(&self, (): &()) -> PostgresStore {
        self.with(PATIENCE)
    }

    async fn cut(&self, (): &(), workflow: &WorkflowId, keep: usize) {
        let schema = &self.options.schema;
        let keep = i64::try_from(keep).expect("few rows");
        self.raw
            .execute_typed(
                &format!(
                    "DELETE FROM \"{schema}\".checkpoint_chain \
                     WHERE workflow_id = $1 AND sequence > $2"
                ),
                &[(&workflow.as_str(), Type::TEXT), (&keep, Type::INT8)],
            )
            .await
            .expect("rows can be deleted");
    }

    async fn alter(&self, (): &(), workflow: &WorkflowId, row: usize, bytes: &[u8]) {
        let schema = &self.options.schema;
        let row = i64::try_from(row).expect("few rows");
        self.raw
            .execute_typed(
                &format!(
                    "UPDATE \"{schema}\".checkpoint_chain SET event_bytes = $3 \
                     WHERE workflow_id = $1 AND sequence = $2"
                ),
                &[
                    (&workflow.as_str(), Type::TEXT),
                    (&row, Type::INT8),
                    (&bytes, Type::BYTEA),
                ],
            )
            .await
            .expect("a row can be altered");
    }

    async fn end(self) {
        let sql = format!("DROP SCHEMA \"{}\" CASCADE", self.options.schema);
        self.raw.batch_execute(&sql).await.expect("the schema goes");
    }
}
