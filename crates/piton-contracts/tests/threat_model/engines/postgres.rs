//! Attacks in Postgres, through SQL on the tables of a schema of its own.

use std::sync::atomic::{AtomicU32, Ordering};

use piton_postgres::{PostgresOptions, PostgresStore};
use piton_store::{PersistedRow, Stored, Tail};
use piton_testkit::tamper::Specimen;
use piton_testkit::{Harness, Settings};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls};

use crate::attack::{self, Attack, Guard, Left, PinLeft};
use crate::attacks;
use crate::engine::{Engine, Scene};

/// A schema with the tables of a ledger, and the attacker's way to it.
pub(crate) struct PostgresEngine {
    url: String,
    options: PostgresOptions,
    attacker: Client,
    /// Reads what every attack leaves: a connection costs more than all else here.
    reader: PostgresStore,
}

/// What is done to tables.
#[derive(Clone, Copy)]
pub(crate) enum Deed {
    DeletePin,
    DamagePin,
}

impl PostgresEngine {
    /// Runs statements in the schema, past every constraint of the tables: they are replaced by
    /// bare ones first.
    async fn run(&self, statements: &str) {
        let bare = ["checkpoint_chain", "pin"].map(|table| {
            format!(
                "CREATE TABLE bare AS SELECT * FROM {table}; DROP TABLE {table}; \
                 ALTER TABLE bare RENAME TO {table};"
            )
        });
        let all = format!("BEGIN; {} {} {statements}; COMMIT", bare[0], bare[1]);
        self.attacker
            .batch_execute(&all)
            .await
            .expect("the tables are the attacker's");
    }

    async fn insert(&self, workflow: &str, row: &PersistedRow) {
        self.attacker
            .execute_typed(
                "INSERT INTO checkpoint_chain VALUES ($1, $2, $3, $4, $5, $6, $7)",
                &[
                    (&workflow, Type::TEXT),
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

    /// Puts other rows and another pin in place of those of the workflow.
    async fn put(&self, workflow: &str, rows: &[PersistedRow], pin: Option<Tail>) {
        self.run(&format!(
            "DELETE FROM checkpoint_chain WHERE workflow_id = '{workflow}'; \
             DELETE FROM pin WHERE workflow_id = '{workflow}'"
        ))
        .await;
        for row in rows {
            self.insert(workflow, row).await;
        }
        let Some(pin) = pin else { return };
        let sequence = pin.sequence().map_or(0, |sequence| sequence.to_i64());
        self.attacker
            .execute_typed(
                "INSERT INTO pin VALUES ($1, $2, $3)",
                &[
                    (&workflow, Type::TEXT),
                    (&sequence, Type::INT8),
                    (&pin.head().as_bytes().as_slice(), Type::BYTEA),
                ],
            )
            .await
            .expect("a pin can be set");
    }
}

impl Harness for PostgresEngine {
    type Store = PostgresStore;

    async fn start() -> Self {
        let variable = "PITON_TEST_POSTGRES_URL";
        let url = std::env::var(variable).unwrap_or_else(|_| {
            panic!("{variable} names no server; run `cargo xtask test`, which starts one")
        });
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let schema = format!("threat_{}_{number}", std::process::id());
        let (attacker, driver) = tokio_postgres::connect(&url, NoTls)
            .await
            .expect("the server can be reached");
        tokio::spawn(async move {
            driver.await.ok();
        });
        let options = PostgresOptions {
            schema: schema.parse().expect("a schema name"),
            ..PostgresOptions::default()
        };
        let reader = PostgresStore::with_options(&url, options.clone()).expect("a URL");
        reader.migrate().await.expect("a schema");
        attacker
            .batch_execute(&format!("SET search_path TO \"{schema}\""))
            .await
            .expect("the schema is there");
        Self {
            url,
            options,
            attacker,
            reader,
        }
    }

    async fn open(&self, settings: Settings) -> PostgresStore {
        let options = PostgresOptions {
            clock: settings.clock,
            busy_timeout: settings.busy_timeout,
            ..self.options.clone()
        };
        PostgresStore::with_options(&self.url, options).expect("a URL")
    }
}

impl Engine for PostgresEngine {
    const NAME: &'static str = "Postgres";
    type Attacked = PostgresStore;
    type Own = Deed;

    fn own() -> Vec<Attack<Self>> {
        let handle = |name, deed| Attack {
            name,
            caught_by: Guard::Pin,
            deed: attack::Deed::Handle(deed),
        };
        let mut attacks = attacks::older_copies();
        attacks.push(handle("the pin deleted", Deed::DeletePin));
        attacks.push(handle("the pin damaged", Deed::DamagePin));
        attacks
    }

    async fn renew(used: Specimen<Self>) -> Specimen<Self> {
        let workflow = used.workflow.as_str();
        let pin = Some(used.tail);
        used.harness().put(workflow, &used.rows, pin).await;
        used
    }

    async fn replace(specimen: &Specimen<Self>, left: &Left) -> PostgresStore {
        let engine = specimen.harness();
        let pin = match left.pin {
            PinLeft::Untouched => Some(specimen.tail),
            PinLeft::SetTo(tail) => Some(tail),
            PinLeft::Gone => None,
        };
        let workflow = specimen.workflow.as_str();
        engine.put(workflow, &left.rows, pin).await;
        engine.reader.clone()
    }

    async fn handle(specimen: &Specimen<Self>, deed: Deed) -> Scene<PostgresStore> {
        let engine = specimen.harness();
        let of_workflow = format!("WHERE workflow_id = '{}'", specimen.workflow);
        let statement = match deed {
            Deed::DeletePin => "DELETE FROM pin",
            Deed::DamagePin => "UPDATE pin SET head = substr(head, 2)",
        };
        engine.run(&format!("{statement} {of_workflow}")).await;
        let bytes = specimen.events.iter().map(|event| event.bytes().to_vec());
        Scene {
            store: engine.reader.clone(),
            believed: bytes.collect(),
            noted: specimen.tail,
        }
    }

    async fn end(&self) {
        let sql = format!("DROP SCHEMA \"{}\" CASCADE", self.options.schema);
        let dropped = self.attacker.batch_execute(&sql).await;
        dropped.expect("the schema goes");
    }
}

fn bytes(stored: &Stored) -> Option<&[u8]> {
    match stored {
        Stored::Bytes(bytes) => Some(bytes),
        Stored::Null => None,
        Stored::Text(_) => panic!("this engine holds heads as bytes"),
    }
}
