//! Flips bits of the values of Postgres rows and of the pin, through SQL.

use anyhow::{Result, ensure};
use piton_ledger::WorkflowId;
use piton_postgres::PostgresStore;
use piton_store::{CheckpointStore as _, ExpectedHead, SealedEvent};
use piton_testkit::history;
use tokio::runtime::Runtime;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::PARTS;
use crate::evidence::Evidence;
use crate::ledger::{self, Finding, Known};
use crate::plan::Plan;
use crate::server::Schema;
use crate::sweep;

const ROWS: u32 = 3;
const SAMPLE: usize = 400;
const PART: u32 = 7;

/// How a column holds its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
    Bytes,
}

/// One column of one table, and what a flip in it is called.
struct Column {
    table: &'static str,
    name: &'static str,
    kind: Kind,
    flip: &'static str,
}

const fn column(table: &'static str, name: &'static str, kind: Kind, flip: &'static str) -> Column {
    Column {
        table,
        name,
        kind,
        flip,
    }
}

const CHAIN: &str = "checkpoint_chain";
const PIN: &str = "pin";

const COLUMNS: [Column; 10] = [
    column(
        CHAIN,
        "workflow_id",
        Kind::Text,
        "bit of a stored workflow id (Postgres)",
    ),
    column(
        CHAIN,
        "sequence",
        Kind::Number,
        "bit of a stored sequence (Postgres)",
    ),
    column(
        CHAIN,
        "transition_id",
        Kind::Text,
        "bit of a stored transition id (Postgres)",
    ),
    column(
        CHAIN,
        "prior_head",
        Kind::Bytes,
        "bit of a stored prior head (Postgres)",
    ),
    column(
        CHAIN,
        "next_head",
        Kind::Bytes,
        "bit of a stored next head (Postgres)",
    ),
    column(
        CHAIN,
        "event_bytes",
        Kind::Bytes,
        "bit of stored event bytes (Postgres)",
    ),
    column(
        CHAIN,
        "written_at",
        Kind::Text,
        "bit of a stored time (Postgres)",
    ),
    column(
        PIN,
        "workflow_id",
        Kind::Text,
        "bit of a pin's workflow id (Postgres)",
    ),
    column(
        PIN,
        "sequence",
        Kind::Number,
        "bit of a pin's sequence (Postgres)",
    ),
    column(PIN, "head", Kind::Bytes, "bit of a pin's head (Postgres)"),
];

/// The outcome of a flip that makes text which the server takes for none in its encoding.
const REFUSED: &str = "not stored";

/// One bit of one stored value: the physical place of the row, which a moved key leaves alone.
#[derive(Debug, Clone, Copy)]
struct Bit {
    column: usize,
    row: usize,
    bit: usize,
}

pub(super) fn run(plan: &Plan, evidence: &mut Evidence) -> Result<()> {
    evidence.announce(&COLUMNS.each_ref().map(|column| column.flip));
    let workflow = ledger::workflow("flipped")?;
    let events = history::first(&workflow, ROWS);
    let surveyor = Worker::prepare(usize::MAX, &events)?;
    let bits = surveyor.bits()?;
    surveyor.finish()?;
    evidence.figure(
        "bits of all columns of all rows (Postgres)",
        u64::try_from(bits.len())?,
    );
    let most = plan.pick(bits.len(), SAMPLE);
    let mut random = plan.random("postgres");
    let order = sweep::order(bits.len(), most, &mut random, |index| bits[index].column);
    let swept = sweep::sweep(
        &order,
        plan.end_of(PART, PARTS),
        |thread| Worker::prepare(thread, &events),
        |worker, index| worker.visit(bits[index], &workflow, &events),
    )?;
    for (label, count) in swept {
        let (column, outcome) = label.split_once(' ').unwrap_or((&label, ""));
        let column: usize = column.parse()?;
        if outcome == REFUSED {
            evidence.add_figure("flips that the server's encoding refuses (Postgres)", count);
        } else {
            evidence.count(COLUMNS[column].flip, outcome, count);
        }
    }
    Ok(())
}

/// What one thread works with.
struct Worker {
    runtime: Runtime,
    schema: Schema,
    client: Client,
    store: PostgresStore,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A schema that stays behind is removed with its server.
        self.runtime.block_on(self.schema.remove()).ok();
    }
}

/// A value as bytes, whatever its kind.
type Raw = Vec<u8>;

impl Worker {
    fn prepare(thread: usize, events: &[SealedEvent]) -> Result<Self> {
        let runtime = ledger::runtime()?;
        let (schema, client, store) = runtime.block_on(async {
            let schema = Schema::make(&format!("flip_{thread}")).await?;
            let store = schema.store()?;
            for event in events {
                store.append(event, ExpectedHead::Any).await?;
            }
            let client = schema.client().await?;
            // No key and no check may stand in the way of damage. The place numbers the rows.
            for table in [CHAIN, PIN] {
                let name = &schema.name;
                client
                    .batch_execute(&format!(
                        "ALTER TABLE \"{name}\".{table} RENAME TO kept; \
                         CREATE TABLE \"{name}\".{table} AS SELECT * FROM \"{name}\".kept; \
                         ALTER TABLE \"{name}\".{table} ADD COLUMN place bigserial; \
                         DROP TABLE \"{name}\".kept"
                    ))
                    .await?;
            }
            anyhow::Ok((schema, client, store))
        })?;
        Ok(Self {
            runtime,
            schema,
            client,
            store,
        })
    }

    fn finish(self) -> Result<()> {
        self.runtime.block_on(self.store.close())?;
        Ok(())
    }

    fn bits(&self) -> Result<Vec<Bit>> {
        let mut bits = Vec::new();
        for (index, column) in COLUMNS.iter().enumerate() {
            let rows = if column.table == PIN {
                1
            } else {
                usize::try_from(ROWS)?
            };
            for row in 1..=rows {
                let length = self.read(column, row)?.len() * 8;
                bits.extend((0..length).map(|bit| Bit {
                    column: index,
                    row,
                    bit,
                }));
            }
        }
        Ok(bits)
    }

    fn read(&self, column: &Column, row: usize) -> Result<Raw> {
        let value = match column.kind {
            Kind::Number => format!("int8send({})", column.name),
            Kind::Text => format!("convert_to({}, 'UTF8')", column.name),
            Kind::Bytes => column.name.to_owned(),
        };
        let sql = format!(
            "SELECT {value} FROM \"{}\".{} WHERE place = $1",
            self.schema.name, column.table
        );
        let place = i64::try_from(row)?;
        let found = self
            .runtime
            .block_on(self.client.query_one(&sql, &[&place]))?;
        Ok(found.try_get(0)?)
    }

    fn write(&self, column: &Column, row: usize, raw: &Raw) -> Result<(), tokio_postgres::Error> {
        let value = match column.kind {
            Kind::Number => "('x' || encode($1::bytea, 'hex'))::bit(64)::bigint",
            Kind::Text => "convert_from($1::bytea, 'UTF8')",
            Kind::Bytes => "$1::bytea",
        };
        let sql = format!(
            "UPDATE \"{}\".{} SET {} = {value} WHERE place = $2",
            self.schema.name, column.table, column.name
        );
        let place = i64::try_from(row).unwrap_or(i64::MAX);
        self.runtime
            .block_on(self.client.execute(&sql, &[raw, &place]))
            .map(drop)
    }

    fn visit(&mut self, bit: Bit, workflow: &WorkflowId, events: &[SealedEvent]) -> Result<String> {
        let column = &COLUMNS[bit.column];
        let before = self.read(column, bit.row)?;
        let mut after = before.clone();
        after[bit.bit / 8] ^= 1 << (bit.bit % 8);
        if let Err(error) = self.write(column, bit.row, &after) {
            let is_encoding = matches!(
                error.code(),
                Some(&SqlState::CHARACTER_NOT_IN_REPERTOIRE | &SqlState::UNTRANSLATABLE_CHARACTER)
            );
            ensure!(
                is_encoding && column.kind == Kind::Text,
                "{}: {error}",
                column.flip
            );
            return Ok(format!("{} {REFUSED}", bit.column));
        }
        ensure!(
            self.read(column, bit.row)? == after,
            "the flipped bit is not in the row"
        );
        let judged = ledger::judge_store(&self.store, workflow, Known::exactly(events), None);
        let finding = self.runtime.block_on(judged)?;
        self.write(column, bit.row, &before)?;
        ensure!(
            column.name == "written_at" || column.table == PIN || finding != Finding::Same,
            "a {} was called intact",
            column.flip
        );
        Ok(format!("{} {}", bit.column, finding.label()))
    }
}
