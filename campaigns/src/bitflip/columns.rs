//! Flips bits of the values of SQLite rows, through SQL: the engine then agrees with the damage.

use anyhow::{Result, ensure};
use piton_ledger::WorkflowId;
use piton_store::SealedEvent;
use piton_testkit::history;
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::PARTS;
use crate::evidence::Evidence;
use crate::ledger::{self, DATABASE, Known};
use crate::plan::Plan;
use crate::scratch::{self, Image};
use crate::sweep;

const ROWS: u32 = 50;
const SAMPLE: usize = 600;

/// The columns, and what a flip in each is called.
const COLUMNS: [(&str, &str); 6] = [
    ("sequence", "bit of a stored sequence (SQLite)"),
    ("transition_id", "bit of a stored transition id (SQLite)"),
    ("prior_head", "bit of a stored prior head (SQLite)"),
    ("next_head", "bit of a stored next head (SQLite)"),
    ("event_bytes", "bit of stored event bytes (SQLite)"),
    ("written_at", "bit of a stored time (SQLite)"),
];

const PART: u32 = 6;

/// One bit of one stored value.
#[derive(Debug, Clone, Copy)]
struct Bit {
    row: i64,
    column: usize,
    bit: usize,
}

pub(super) fn run(plan: &Plan, evidence: &mut Evidence) -> Result<()> {
    evidence.announce(&COLUMNS.map(|(_, kind)| kind));
    let workflow = ledger::workflow("flipped")?;
    let events = history::first(&workflow, ROWS);
    let place = scratch::in_memory()?;
    let runtime = ledger::runtime()?;
    runtime.block_on(ledger::record(place.path(), &events))?;
    let image = Image::read(&scratch::home(place.path(), &workflow))?;
    let bits = bits(&Connection::open(
        scratch::home(place.path(), &workflow).join(DATABASE),
    )?)?;
    evidence.figure(
        "bits of all columns of all rows (SQLite)",
        u64::try_from(bits.len())?,
    );
    let most = plan.pick(bits.len(), SAMPLE);
    let mut random = plan.random("columns");
    let order = sweep::order(bits.len(), most, &mut random, |index| bits[index].column);
    let swept = sweep::sweep(
        &order,
        plan.end_of(PART, PARTS),
        |_| Worker::prepare(&image, &workflow),
        |worker, index| worker.visit(bits[index], &workflow, &events),
    )?;
    for (label, count) in swept {
        let (column, outcome) = label.split_once(' ').unwrap_or((&label, ""));
        let column: usize = column.parse()?;
        if outcome == REFUSED {
            evidence.add_figure("flips that a key of the table refuses (SQLite)", count);
        } else {
            evidence.count(COLUMNS[column].1, outcome, count);
        }
    }
    Ok(())
}

/// The outcome of a flip that would give two rows one sequence or one id, which no key allows.
const REFUSED: &str = "not stored";

/// Every bit that there is.
fn bits(connection: &Connection) -> Result<Vec<Bit>> {
    let mut bits = Vec::new();
    for row in 1..=i64::from(ROWS) {
        for (column, (name, _)) in COLUMNS.iter().enumerate() {
            let length = match read(connection, name, row)? {
                Value::Integer(_) => 64,
                Value::Blob(bytes) => bytes.len() * 8,
                Value::Null | Value::Real(_) | Value::Text(_) => 0,
            };
            ensure!(length > 0, "row {row} has no {name} to flip");
            bits.extend((0..length).map(|bit| Bit { row, column, bit }));
        }
    }
    Ok(bits)
}

/// Reads a value; text as bytes, for damaged text need not be UTF-8.
fn read(connection: &Connection, column: &str, row: i64) -> Result<Value> {
    let value = if column == "sequence" {
        "sequence".to_owned()
    } else {
        format!("CAST({column} AS BLOB)")
    };
    let sql = format!("SELECT {value} FROM checkpoint_chain WHERE sequence = ?1");
    Ok(connection
        .prepare_cached(&sql)?
        .query_row([row], |found| found.get(0))?)
}

/// Stores a value, text as text.
fn store(connection: &Connection, column: &str, row: i64, value: &Value) -> rusqlite::Result<()> {
    let value_sql = match column {
        "sequence" | "event_bytes" => "?1",
        _ => "CAST(?1 AS TEXT)",
    };
    let sql = format!("UPDATE checkpoint_chain SET {column} = {value_sql} WHERE sequence = ?2");
    connection
        .prepare_cached(&sql)?
        .execute(params![value, row])
        .map(drop)
}

/// What one thread works with.
struct Worker {
    runtime: Runtime,
    place: TempDir,
    connection: Connection,
}

impl Worker {
    fn prepare(image: &Image, workflow: &WorkflowId) -> Result<Self> {
        let place = scratch::in_memory()?;
        let home = scratch::home(place.path(), workflow);
        image.write(&home)?;
        let connection = Connection::open(home.join(DATABASE))?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        Ok(Self {
            runtime: ledger::runtime()?,
            place,
            connection,
        })
    }

    fn visit(&mut self, bit: Bit, workflow: &WorkflowId, events: &[SealedEvent]) -> Result<String> {
        let (name, _) = COLUMNS[bit.column];
        let before = read(&self.connection, name, bit.row)?;
        let after = flipped(&before, bit.bit);
        let row = match &after {
            Value::Integer(moved) => *moved,
            Value::Null | Value::Real(_) | Value::Text(_) | Value::Blob(_) => bit.row,
        };
        if let Err(error) = store(&self.connection, name, bit.row, &after) {
            let is_taken =
                error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation);
            ensure!(is_taken, "{name}: {error}");
            return Ok(format!("{} {REFUSED}", bit.column));
        }
        ensure!(
            read(&self.connection, name, row)? == after && after != before,
            "the flipped bit is not in the row"
        );
        let judged = ledger::judge(self.place.path(), workflow, Known::exactly(events), None);
        let finding = self.runtime.block_on(judged)?;
        store(&self.connection, name, row, &before)?;
        ensure!(
            name == "written_at" || finding != ledger::Finding::Same,
            "a flipped {name} was called intact"
        );
        Ok(format!("{} {}", bit.column, finding.label()))
    }
}

fn flipped(value: &Value, bit: usize) -> Value {
    match value {
        Value::Integer(number) => Value::Integer(number ^ (1 << bit)),
        Value::Blob(bytes) => {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            Value::Blob(bytes)
        }
        other @ (Value::Null | Value::Real(_) | Value::Text(_)) => other.clone(),
    }
}
