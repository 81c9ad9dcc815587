//! Owns the promise that a ledger at rest is counted as SQLite counts it, and without a trace.

mod support;

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use piton_ledger::WorkflowId;
use piton_store::{
    AppendBatch, AppendLock, Batch, CheckpointStore, ExpectedHead, PersistedRow, Stored,
    WorkflowCatalog, WorkflowStats,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use support::{Place, append, event_with, raw, rows, run, workflow};

/// What SQLite says, by the statements of a plain reader; none where it finds damage.
fn by_sqlite(path: &Path, id: &WorkflowId) -> Option<WorkflowStats> {
    let uri = format!("file:{}?immutable=1", path.display());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let database = Connection::open_with_flags(uri, flags).ok()?;
    let count = "SELECT count(*) FROM checkpoint_chain";
    let rows: i64 = database.query_row(count, (), |row| row.get(0)).ok()?;
    let end = |order: &str| {
        let select = "SELECT sequence, transition_id, prior_head, next_head, event_bytes, written_at \
                      FROM checkpoint_chain ORDER BY sequence";
        let mut statement = database
            .prepare(&format!("{select} {order} LIMIT 1"))
            .ok()?;
        let mut found = statement.query(()).ok()?;
        let Some(row) = found.next().ok()? else {
            return Some(None);
        };
        let stored = |column| match row.get_ref(column).ok()? {
            ValueRef::Text(bytes) => Some(match std::str::from_utf8(bytes) {
                Ok(text) => Stored::from(text),
                Err(_) => Stored::Bytes(bytes.into()),
            }),
            ValueRef::Blob(bytes) => Some(Stored::Bytes(bytes.into())),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => Some(Stored::Null),
        };
        let bytes = match row.get_ref(4).ok()? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
        };
        Some(Some(PersistedRow {
            sequence: row.get(0).ok()?,
            transition_id: stored(1)?,
            prior_head: stored(2)?,
            next_head: stored(3)?,
            event_bytes: bytes,
            written_at: stored(5)?,
        }))
    };
    let (first, last) = (end("ASC")?, end("DESC")?);
    Some(WorkflowStats {
        workflow_id: id.clone(),
        rows: u64::try_from(rows).ok()?,
        first_written_at: first.and_then(|row| row.written_at.as_text().map(Box::from)),
        last_row: last,
    })
}

/// Makes a ledger at rest, of one batch.
async fn ledger(place: &Place, id: &WorkflowId, outcomes: &[&str]) {
    let store = place.store();
    let events = (1..).zip(outcomes);
    let events = events.map(|(number, outcome)| event_with(id, number, outcome));
    let batch = Batch::new(events.collect::<Vec<_>>()).expect("a batch");
    let mut lock = store.lock(id).await.expect("nobody holds the lock");
    lock.append_batch(&batch, ExpectedHead::Any)
        .await
        .expect("the append succeeds");
    lock.release().await.expect("the lock is given back");
    store.close().await.expect("the store closes");
}

/// Counts a ledger as SQLite does, and leaves no trace: not even the directory's time moves, as it
/// would if a database were opened in it.
fn check(outcomes: &[&str]) {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        ledger(&place, &id, outcomes).await;
        let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let home = File::open(place.home(&id)).expect("a directory");
        home.set_modified(past).expect("our directory");
        let stats = place.store().stats(&id).await.expect("readable");
        assert_eq!(Some(&stats), by_sqlite(&place.database(&id), &id).as_ref());
        assert_eq!(stats.rows, u64::try_from(outcomes.len()).expect("few"));
        let modified = home.metadata().and_then(|home| home.modified());
        assert_eq!(modified.expect("metadata"), past);
    });
}

#[test]
fn a_ledger_at_rest_is_counted_without_a_trace() {
    check(&["1"]);
    check(&["1", "2", "3"]);
}

#[test]
fn trees_of_several_levels_are_counted() {
    check(&["{\"gate\":\"unit-tests\"}"; 300]);
}

#[test]
fn events_that_overflow_their_page_are_read() {
    for length in [3000, 3700, 4000, 4100, 8000, 60_000] {
        let outcome = format!("\"{}\"", "word ".repeat(length / 5));
        check(&["1", &outcome]);
        check(&[&outcome, "1"]);
    }
}

#[test]
fn an_empty_table_is_empty() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 1).await;
        let database = raw(&place.database(&id));
        database
            .execute_batch("DELETE FROM checkpoint_chain")
            .expect("an empty table");
        drop(database);
        let stats = place.store().stats(&id).await.expect("readable");
        assert_eq!((stats.rows, stats.last_row), (0, None));
    });
}

/// Flips a bit wherever a page says how it is to be read, and here and there in what it holds.
#[test]
fn no_flipped_bit_is_counted_otherwise_than_by_sqlite() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        ledger(&place, &id, &["1", "2", "3"]).await;
        let path = place.database(&id);
        let whole = std::fs::read(&path).expect("readable");
        let store = place.store();
        let mut refused = 0;
        for (at, byte) in whole.iter().enumerate() {
            let bits = match at % 4096 {
                0..40 => 0..8,
                _ if at < 100 => 0..8,
                // Where the schema stands.
                _ if at < 4096 && *byte != 0 => at % 8..at % 8 + 1,
                place if place % 13 == 0 => at % 8..at % 8 + 1,
                _ => continue,
            };
            for bit in bits {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                std::fs::write(&path, &damaged).expect("writable");
                match (store.stats(&id).await, by_sqlite(&path, &id)) {
                    (Ok(found), Some(expected)) => {
                        assert_eq!(found, expected, "bit {bit} of byte {at}");
                    }
                    (Ok(_), None) => panic!("bit {bit} of byte {at} is damage, and was counted"),
                    (Err(_), Some(_) | None) => refused += 1,
                }
            }
        }
        assert!(refused > 100, "{refused} were refused");
    });
}

#[test]
fn rows_in_a_log_are_counted() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 2).await;
        let writer = place.store();
        append(&writer, &id, 3).await;
        for store in [&writer, &place.store()] {
            let stats = store.stats(&id).await.expect("readable");
            assert_eq!(stats.rows, 3);
            assert_eq!(stats.last_row.as_ref(), rows(store, &id).await.last());
        }
    });
}

/// Looks and readers that lock the database share one process, where to close a file ends locks.
#[test]
fn looks_do_not_disturb_readers_and_writers_of_one_process() {
    let place = Place::new();
    let ids = ["a", "b"].map(workflow);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        for id in &ids {
            support::cold_ledger(&place, id, 2).await;
        }
        let mut tasks = Vec::new();
        for id in ids.iter().cycle().take(8) {
            let (store, id) = (place.store(), id.clone());
            tasks.push(tokio::spawn(async move {
                for _ in 0..50 {
                    let counted = store.stats(&id).await.expect("readable").rows;
                    let read = u64::try_from(rows(&store, &id).await.len()).expect("few");
                    assert!((2..=read).contains(&counted), "rows are never lost");
                }
            }));
        }
        for number in 3..13 {
            for id in &ids {
                let store = place.store();
                append(&store, id, number).await;
                store.close().await.expect("the store closes");
            }
        }
        for task in tasks {
            task.await.expect("no reader fails");
        }
        for id in &ids {
            assert_eq!(place.store().stats(id).await.expect("readable").rows, 12);
        }
    });
}
