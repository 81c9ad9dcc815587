//! Owns what the tests of this crate share: the servers, stores in schemas of their own, and
//! looks at the tables through a plain driver. It asserts nothing about the store.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use piton_ledger::{ChainHead, WorkflowId};
use piton_postgres::{
    Mode, PostgresChain, PostgresLock, PostgresOptions, PostgresStore, SchemaName,
};
use piton_store::{
    Appended, CheckpointStore, ExpectedHead, PersistedRow, SealedEvent, StoreError, Stored, Tail,
};
use piton_testkit::{Harness, Settings, TamperHarness};
use tokio_postgres::NoTls;
use tokio_postgres::types::Type;

const SERVER: &str = "PITON_TEST_POSTGRES_URL";
const POOLER: &str = "PITON_TEST_PGBOUNCER_URL";

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} names no server; run the tests by `cargo xtask test`, which starts one")
    })
}

/// The URL of a superuser's access to a throw-away server.
pub(crate) fn server_url() -> String {
    variable(SERVER)
}

/// The same through a pooler in transaction mode.
pub(crate) fn pooler_url() -> String {
    variable(POOLER)
}

/// A name that no other test uses, as a schema, database or role.
pub(crate) fn unique_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("the clock is past 1970")
        .as_micros();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("test_{}_{now}_{number}", std::process::id())
}

pub(crate) fn unique_schema() -> SchemaName {
    unique_name().parse().expect("a schema name")
}

/// Adds a parameter to a URL.
pub(crate) fn with_parameter(url: &str, parameter: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}{parameter}")
}

/// The URL of another database of the same server.
pub(crate) fn with_database(url: &str, database: &str) -> String {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let (_, authority) = base.split_once("://").expect("a URL has a scheme");
    let authority = authority.split('/').next().unwrap_or(authority);
    let mark = if query.is_empty() { "" } else { "?" };
    format!("postgres://{authority}/{database}{mark}{query}")
}

/// The URL of another user of the same server.
pub(crate) fn with_user(url: &str, user: &str, password: &str) -> String {
    let (_, rest) = url.split_once("://").expect("a URL has a scheme");
    let place = rest.split_once('@').map_or(rest, |(_, place)| place);
    format!("postgres://{user}:{password}@{place}")
}

/// A plain connection to the server, for what the store does not offer.
pub(crate) async fn raw(url: &str) -> tokio_postgres::Client {
    let (client, driver) = tokio_postgres::connect(url, NoTls)
        .await
        .expect("the server can be reached");
    tokio::spawn(async move {
        driver.await.ok();
    });
    client
}

/// A schema with the tables of a ledger, and how to reach it.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) url: String,
    pub(crate) options: PostgresOptions,
}

impl Place {
    pub(crate) async fn direct() -> Self {
        Self::make(server_url(), PostgresOptions::default()).await
    }

    pub(crate) async fn pooled() -> Self {
        let options = PostgresOptions {
            mode: Mode::TransactionPooler,
            ..PostgresOptions::default()
        };
        Self::make(pooler_url(), options).await
    }

    async fn make(url: String, options: PostgresOptions) -> Self {
        let options = PostgresOptions {
            schema: unique_schema(),
            ..options
        };
        let place = Self { url, options };
        place.store().migrate().await.expect("tables can be made");
        place
    }

    pub(crate) fn schema(&self) -> &str {
        self.options.schema.as_str()
    }

    pub(crate) fn store(&self) -> PostgresStore {
        self.store_with(self.options.clone())
    }

    pub(crate) fn store_with(&self, options: PostgresOptions) -> PostgresStore {
        PostgresStore::with_options(&self.url, options).expect("a well-formed URL")
    }

    fn open(&self, settings: Settings) -> PostgresStore {
        self.store_with(PostgresOptions {
            clock: settings.clock,
            busy_timeout: settings.busy_timeout,
            ..self.options.clone()
        })
    }
}

/// Stores that speak to the server themselves.
pub(crate) struct Direct(Place);

impl Harness for Direct {
    type Store = PostgresStore;

    async fn start() -> Self {
        Self(Place::direct().await)
    }

    async fn open(&self, settings: Settings) -> PostgresStore {
        self.0.open(settings)
    }
}

/// Stores whose pool holds one connection.
pub(crate) struct Single(Place);

impl Harness for Single {
    type Store = PostgresStore;

    async fn start() -> Self {
        let mut place = Place::direct().await;
        place.options.pool_size = NonZeroUsize::MIN;
        Self(place)
    }

    async fn open(&self, settings: Settings) -> PostgresStore {
        self.0.open(settings)
    }
}

/// Stores that speak through a pooler in transaction mode.
pub(crate) struct Pooled(Place);

impl Harness for Pooled {
    type Store = PostgresStore;

    async fn start() -> Self {
        Self(Place::pooled().await)
    }

    async fn open(&self, settings: Settings) -> PostgresStore {
        self.0.open(settings)
    }
}

/// A store on damaged tables. The engine always has pins; a ledger without one is the case of
/// another layout, and is played by hiding it.
pub(crate) struct Tampered {
    store: PostgresStore,
    pin: HasPin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HasPin {
    Yes,
    No,
}

impl CheckpointStore for Tampered {
    type Lock = PostgresLock;
    type Chain = PostgresChain;

    async fn append(
        &self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> Result<Appended, StoreError> {
        self.store.append(event, expected).await
    }

    async fn iter_persisted_chain(
        &self,
        workflow: &WorkflowId,
    ) -> Result<PostgresChain, StoreError> {
        self.store.iter_persisted_chain(workflow).await
    }

    async fn tail_chain_head(&self, workflow: &WorkflowId) -> Result<ChainHead, StoreError> {
        self.store.tail_chain_head(workflow).await
    }

    async fn pinned_tail(&self, workflow: &WorkflowId) -> Result<Option<Tail>, StoreError> {
        match self.pin {
            HasPin::Yes => self.store.pinned_tail(workflow).await,
            HasPin::No => Ok(None),
        }
    }

    async fn lock(&self, workflow: &WorkflowId) -> Result<PostgresLock, StoreError> {
        self.store.lock(workflow).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.store.close().await
    }
}

impl Place {
    /// Damages a workflow's tables behind the store's back, and past any pooler.
    async fn tampered(
        &self,
        workflow: &WorkflowId,
        rows: Vec<PersistedRow>,
        pin: Option<Tail>,
    ) -> Tampered {
        let client = raw(&server_url()).await;
        replace_rows(&client, self.schema(), workflow, &rows).await;
        replace_pin(&client, self.schema(), workflow, pin).await;
        Tampered {
            store: self.store(),
            pin: if pin.is_some() {
                HasPin::Yes
            } else {
                HasPin::No
            },
        }
    }
}

macro_rules! tamper_harness {
    ($harness:ty) => {
        impl TamperHarness for $harness {
            type Tampered = Tampered;

            async fn tampered(
                &self,
                workflow: &WorkflowId,
                rows: Vec<PersistedRow>,
                pin: Option<Tail>,
            ) -> Tampered {
                self.0.tampered(workflow, rows, pin).await
            }
        }
    };
}

tamper_harness!(Direct);
tamper_harness!(Single);
tamper_harness!(Pooled);

/// Replaces a workflow's rows, past every constraint, which do not come back.
pub(crate) async fn replace_rows(
    client: &tokio_postgres::Client,
    schema: &str,
    workflow: &WorkflowId,
    rows: &[PersistedRow],
) {
    client
        .batch_execute(&format!(
            "BEGIN; CREATE TABLE \"{schema}\".bare AS SELECT * FROM \"{schema}\".checkpoint_chain; \
             DROP TABLE \"{schema}\".checkpoint_chain; \
             ALTER TABLE \"{schema}\".bare RENAME TO checkpoint_chain; COMMIT"
        ))
        .await
        .expect("the table can be replaced");
    let table = format!("\"{schema}\".checkpoint_chain");
    client
        .execute_typed(
            &format!("DELETE FROM {table} WHERE workflow_id = $1"),
            &[(&workflow.as_str(), Type::TEXT)],
        )
        .await
        .expect("rows can be deleted");
    let insert = format!("INSERT INTO {table} VALUES ($1, $2, $3, $4, $5, $6, $7)");
    for row in rows {
        client
            .execute_typed(
                &insert,
                &[
                    (&workflow.as_str(), Type::TEXT),
                    (&row.sequence, Type::INT8),
                    (&row.transition_id.as_text(), Type::TEXT),
                    (&bytes(&row.prior_head), Type::BYTEA),
                    (&bytes(&row.next_head), Type::BYTEA),
                    (&row.event_bytes, Type::BYTEA),
                    (&row.written_at.as_text(), Type::TEXT),
                ],
            )
            .await
            .expect("a bare table takes any row");
    }
}

fn bytes(stored: &Stored) -> Option<&[u8]> {
    match stored {
        Stored::Bytes(bytes) => Some(bytes),
        Stored::Null => None,
        Stored::Text(_) => panic!("this engine holds heads as bytes"),
    }
}

/// Replaces a workflow's pin.
pub(crate) async fn replace_pin(
    client: &tokio_postgres::Client,
    schema: &str,
    workflow: &WorkflowId,
    pin: Option<Tail>,
) {
    client
        .execute_typed(
            &format!("DELETE FROM \"{schema}\".pin WHERE workflow_id = $1"),
            &[(&workflow.as_str(), Type::TEXT)],
        )
        .await
        .expect("a pin can be deleted");
    let Some(pin) = pin else { return };
    client
        .execute_typed(
            &format!("INSERT INTO \"{schema}\".pin VALUES ($1, $2, $3)"),
            &[
                (&workflow.as_str(), Type::TEXT),
                (
                    &pin.sequence().map_or(0, |sequence| sequence.to_i64()),
                    Type::INT8,
                ),
                (&pin.head().as_bytes().as_slice(), Type::BYTEA),
            ],
        )
        .await
        .expect("a pin can be set");
}
