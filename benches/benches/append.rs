//! One durable append, sealed, locked and pinned, against a bare insert of the same row.

use futures_util::future::join_all;
use piton_benches::{OUTCOME, Size, alternate, event, event_of, open_bare, print_table, runtime};
use piton_ledger::{CanonicalJson, ChainHead};
use piton_sqlite::SqliteStore;
use piton_store::{AppendBatch, AppendLock, Batch, CheckpointStore, ExpectedHead, seal};
use rusqlite::params;
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

const INSERT: &str = "INSERT INTO checkpoint_chain \
     (transition_id, prior_head, next_head, event_bytes, written_at) VALUES (?1, ?2, ?3, ?4, ?5)";
/// How many events a batch has.
const BATCH: usize = 64;
const WRITTEN_AT: &str = "2026-01-01T00:00:00Z";

/// A row as the floors insert it: made beforehand, so that they measure the insert alone.
struct Row {
    id: String,
    prior: String,
    head: String,
    bytes: Vec<u8>,
}

/// The numbers of the events, so that popping gives them in ascending order.
fn numbers(rounds: usize) -> impl Iterator<Item = u64> {
    (0..=u64::try_from(rounds).expect("small")).rev()
}

fn linked_rows(rounds: usize, outcome: &CanonicalJson) -> Vec<Row> {
    let mut head = ChainHead::GENESIS;
    let mut rows: Vec<_> = numbers(rounds)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .map(|number| {
            let sealed = seal(&event(number, outcome)).expect("sealable");
            let prior = head;
            head = sealed.link(&prior);
            Row {
                id: sealed.transition_id().to_string(),
                prior: prior.to_string(),
                head: head.to_string(),
                bytes: sealed.bytes().to_vec(),
            }
        })
        .collect();
    rows.reverse();
    rows
}

fn main() {
    let size = Size::from_args();
    let rounds = size.pick(3_000, 5);
    let runtime = runtime();
    let outcome = CanonicalJson::parse(OUTCOME.as_bytes()).expect("JSON");
    let directory = tempfile::tempdir().expect("a directory");

    let bare = open_bare(&directory.path().join("bare.sqlite"));
    let mut insert = bare.prepare(INSERT).expect("a statement");
    let mut rows = linked_rows(rounds, &outcome);
    let mut sqlx_rows = linked_rows(rounds, &outcome);
    open_bare(&directory.path().join("sqlx.sqlite"));
    let options = SqliteConnectOptions::new()
        .filename(directory.path().join("sqlx.sqlite"))
        .pragma("synchronous", "FULL")
        .disable_statement_logging();
    let mut connection = runtime.block_on(options.connect()).expect("a database");

    let store = SqliteStore::open(directory.path().join("piton"));
    let store = store.expect("a store");
    let mut events: Vec<_> = numbers(rounds)
        .map(|number| event(number, &outcome))
        .collect();

    let figures = alternate(
        rounds,
        &mut [
            ("bare rusqlite insert", &mut || {
                let row = rows.pop().expect("a row a round");
                insert
                    .execute(params![row.id, row.prior, row.head, row.bytes, WRITTEN_AT])
                    .expect("a row");
            }),
            ("bare sqlx insert", &mut || {
                let row = sqlx_rows.pop().expect("a row a round");
                let query = sqlx::query(INSERT)
                    .bind(row.id)
                    .bind(row.prior)
                    .bind(row.head)
                    .bind(row.bytes)
                    .bind(WRITTEN_AT);
                runtime
                    .block_on(query.execute(&mut connection))
                    .expect("a row");
            }),
            ("piton-sqlite: seal, lock, append, pin", &mut || {
                let sealed = seal(&events.pop().expect("an event a round")).expect("sealable");
                runtime
                    .block_on(store.append(&sealed, ExpectedHead::Any))
                    .expect("an append");
            }),
        ],
    );
    print_table("Durable append of a 533-byte event", &figures, 1, "append");
    batches(size, &runtime, &store, &outcome);
}

/// Batches of 64, and 64 appends that meet, against single appends under a lock that is held all
/// the while.
fn batches(
    size: Size,
    runtime: &tokio::runtime::Runtime,
    store: &SqliteStore,
    outcome: &CanonicalJson,
) {
    let rounds = size.pick(200, 2);
    let lock = |id: &str| {
        let workflow = id.parse().expect("a workflow id");
        let events = (0..=u64::try_from(rounds * BATCH).expect("small") + 64)
            .map(|number| seal(&event_of(&workflow, number, outcome)).expect("sealable"));
        let events: Vec<_> = events.collect();
        let lock = runtime.block_on(store.lock(&workflow)).expect("a lock");
        (lock, events.into_iter())
    };
    let (mut single, mut singles) = lock("single");
    let (mut batched, mut events) = lock("batched");
    let (free, mut meeting) = lock("meeting");
    runtime.block_on(free.release()).expect("a free workflow");
    let directory = tempfile::tempdir().expect("a directory");
    let bare = open_bare(&directory.path().join("bare.sqlite"));
    let mut insert = bare.prepare(INSERT).expect("a statement");
    let mut rows = linked_rows((rounds + 1) * BATCH, outcome);
    let figures = alternate(
        rounds,
        &mut [
            ("single appends", &mut || {
                for event in singles.by_ref().take(BATCH) {
                    runtime
                        .block_on(single.append(&event, ExpectedHead::Any))
                        .expect("an append");
                }
            }),
            ("bare rusqlite, 64 inserts and a commit", &mut || {
                bare.execute_batch("BEGIN").expect("a transaction");
                for row in rows.split_off(rows.len() - BATCH).iter().rev() {
                    insert
                        .execute(params![row.id, row.prior, row.head, row.bytes, WRITTEN_AT])
                        .expect("a row");
                }
                bare.execute_batch("COMMIT").expect("a commit");
            }),
            ("one batch", &mut || {
                let events: Vec<_> = events.by_ref().take(BATCH).collect();
                let batch = Batch::new(events).expect("a batch");
                runtime
                    .block_on(batched.append_batch(&batch, ExpectedHead::Any))
                    .expect("an append");
            }),
            ("64 appends at once", &mut || {
                let events: Vec<_> = meeting.by_ref().take(BATCH).collect();
                let appends = events
                    .iter()
                    .map(|event| store.append(event, ExpectedHead::Any));
                for answer in runtime.block_on(join_all(appends)) {
                    answer.expect("an append");
                }
            }),
        ],
    );
    print_table(
        "64 durable appends of sealed events of 533 bytes",
        &figures,
        1,
        "64 events",
    );
}
