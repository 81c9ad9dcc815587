//! Owns the promises of one chain read about what a database of ours never holds: heads are counted
//! as they are stored, and memory is bounded whatever a column holds.

mod support;

use std::collections::BTreeMap;

use piton_ledger::WorkflowId;
use piton_store::{CheckpointStore, PersistedChain, PersistedRow, Retry, Stored};
use rusqlite::Connection;
use support::{Place, event_with, raw, run, workflow};

/// Reads a chain to its end, in the batches in which it comes.
async fn batches(chain: &mut impl PersistedChain) -> Vec<Vec<PersistedRow>> {
    let mut batches = Vec::new();
    loop {
        let rows = chain.next_rows().await.expect("readable");
        if rows.is_empty() {
            return batches;
        }
        batches.push(rows);
    }
}

/// Changes a ledger of six rows, and demands that each head is counted as often as it was read.
fn check(change: impl Fn(&dyn Fn() -> Connection)) {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 6).await;
        change(&|| raw(&place.database(&id)));
        let store = place.store();
        let mut chain = store.iter_persisted_chain(&id).await.expect("readable");
        let rows = batches(&mut chain).await.concat();
        assert_eq!(rows.len(), 6);
        let mut seen: BTreeMap<String, (Stored, u64)> = BTreeMap::new();
        for row in rows {
            let key = match &row.next_head {
                Stored::Text(text) => format!("text {text}"),
                Stored::Bytes(bytes) => format!("bytes {bytes:?}"),
                Stored::Null => "null".to_owned(),
            };
            seen.entry(key).or_insert((row.next_head, 0)).1 += 1;
        }
        for (key, (head, count)) in seen {
            let counted = chain.count_next_head(&head).await.expect("readable");
            assert_eq!(counted, count, "{key}");
        }
    });
}

fn execute(database: &Connection, sql: &str) {
    database.execute_batch(sql).expect("a change");
}

/// Replaces the table by one that is declared otherwise.
fn declare(open: &dyn Fn() -> Connection, next_head: &str) {
    let sql = format!(
        "CREATE TABLE other (sequence INTEGER PRIMARY KEY, transition_id, prior_head,
             next_head {next_head}, event_bytes, written_at);
         INSERT INTO other SELECT * FROM checkpoint_chain;
         DROP TABLE checkpoint_chain;
         ALTER TABLE other RENAME TO checkpoint_chain;"
    );
    execute(&open(), &sql);
}

#[test]
fn a_text_and_bytes_alike_are_two_heads() {
    check(|open| {
        execute(
            &open(),
            "UPDATE checkpoint_chain SET next_head = CAST(printf('%032d', 1) AS BLOB) WHERE sequence = 2;
             UPDATE checkpoint_chain SET next_head = printf('%032d', 1) WHERE sequence = 4;",
        );
    });
}

#[test]
fn a_collation_makes_no_two_heads_one() {
    for (collation, other) in [
        ("NOCASE", "upper(next_head)"),
        ("RTRIM", "next_head || ' '"),
    ] {
        check(|open| {
            declare(open, &format!("TEXT COLLATE {collation}"));
            let from_the_first = format!(
                "UPDATE checkpoint_chain SET next_head =
                     (SELECT {other} FROM checkpoint_chain WHERE sequence = 1) WHERE sequence = 5"
            );
            execute(&open(), &from_the_first);
        });
    }
}

#[test]
fn values_without_a_kind_are_counted_together() {
    check(|open| {
        declare(open, "");
        execute(
            &open(),
            "UPDATE checkpoint_chain SET next_head = NULL WHERE sequence = 2;
             UPDATE checkpoint_chain SET next_head = 5 WHERE sequence = 3;
             UPDATE checkpoint_chain SET next_head = 1.5 WHERE sequence = 6;
             UPDATE checkpoint_chain SET next_head = CAST(x'ff' AS TEXT) WHERE sequence = 4;
             UPDATE checkpoint_chain SET next_head = x'ff' WHERE sequence = 5;",
        );
    });
}

/// The index of heads knows nothing of what the rows hold since it was taken out of the schema.
#[test]
fn a_stale_index_is_not_asked() {
    for alike in ["x'00ff'", "'same'"] {
        check(|open| {
            let index = "SELECT rootpage, sql FROM sqlite_schema WHERE name = 'ix_chain_next_head'";
            let (root, sql): (i64, String) = open()
                .query_row(index, (), |row| Ok((row.get(0)?, row.get(1)?)))
                .expect("an index");
            execute(
                &open(),
                "PRAGMA writable_schema = ON;
                 DELETE FROM sqlite_schema WHERE name = 'ix_chain_next_head';",
            );
            let update =
                format!("UPDATE checkpoint_chain SET next_head = {alike} WHERE sequence IN (2, 4)");
            execute(&open(), &update);
            let database = open();
            execute(&database, "PRAGMA writable_schema = ON;");
            database
                .execute(
                    "INSERT INTO sqlite_schema VALUES
                         ('index', 'ix_chain_next_head', 'checkpoint_chain', ?1, ?2)",
                    (root, sql),
                )
                .expect("the index again");
        });
    }
}

/// The bytes of a row's columns.
fn size(row: &PersistedRow) -> usize {
    let texts = [
        &row.transition_id,
        &row.prior_head,
        &row.next_head,
        &row.written_at,
    ];
    let texts = texts.map(|column| column.as_text().map_or(0, str::len));
    texts.iter().sum::<usize>() + row.event_bytes.as_ref().map_or(0, Vec::len)
}

/// A batch ends with the row that makes it large, whichever column does.
#[test]
fn a_batch_is_bounded_whatever_column_is_large() {
    const MOST: usize = 256 * 1024;
    for column in [
        "transition_id",
        "prior_head",
        "next_head",
        "event_bytes",
        "written_at",
    ] {
        let place = Place::new();
        let id = workflow("w");
        run(async {
            support::cold_ledger(&place, &id, 30).await;
            let value = "printf('%0100000d', sequence)";
            let value = match column {
                "event_bytes" => format!("CAST({value} AS BLOB)"),
                _ => value.to_owned(),
            };
            let sql = format!("UPDATE checkpoint_chain SET {column} = {value}");
            execute(&raw(&place.database(&id)), &sql);
            let store = place.store();
            let mut chain = store.iter_persisted_chain(&id).await.expect("readable");
            let batches = batches(&mut chain).await;
            assert_eq!(batches.iter().map(Vec::len).sum::<usize>(), 30);
            for batch in batches {
                let before_the_last: usize = batch.iter().rev().skip(1).map(size).sum();
                assert!(before_the_last < MOST, "{column}: {before_the_last}");
            }
        });
    }
}

/// A database that ends in the middle of an event is not mended by waiting.
#[test]
fn a_database_cut_short_is_no_passing_fault() {
    let place = Place::new();
    let id: WorkflowId = workflow("w");
    run(async {
        let store = place.store();
        let long = format!("\"{}\"", "word ".repeat(12_000));
        for number in 1..=3 {
            let sealed = event_with(&id, number, &long);
            let appended = store.append(&sealed, piton_store::ExpectedHead::Any).await;
            appended.expect("an append");
        }
        store.close().await.expect("the store closes");
        let database = place.database(&id);
        // The log says how long the database is, so nothing is wrong before the page is read.
        let writer = place.store();
        support::append(&writer, &id, 4).await;
        let file = std::fs::OpenOptions::new().write(true).open(&database);
        let file = file.expect("the database");
        let length = file.metadata().expect("metadata").len();
        file.set_len(length - 5 * 4096).expect("cut");
        let reader = place.store();
        let mut chain = reader.iter_persisted_chain(&id).await.expect("a snapshot");
        let error = loop {
            match chain.next_rows().await {
                Ok(rows) if rows.is_empty() => panic!("a short chain"),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error.retry(), Retry::IsUseless, "{error:?}");
    });
}
