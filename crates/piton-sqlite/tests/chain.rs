//! Owns the promises of one chain read about what a database of ours never holds: heads are counted
//! as they are stored, and memory is bounded whatever a column holds.

mod support;

use std::collections::BTreeMap;

use piton_ledger::WorkflowId;
use piton_store::{CheckpointStore, MappedChain, PersistedChain, PersistedRow, Retry, Stored};
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

/// Rows that are given back change nothing about those that follow, whatever either holds.
#[test]
fn rows_that_are_given_back_leave_no_trace() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 6).await;
        let database = raw(&place.database(&id));
        declare(&|| raw(&place.database(&id)), "");
        execute(&database, &mixed(3_000));
        let store = place.store();
        let mut chain = store.iter_persisted_chain(&id).await.expect("readable");
        let plain = batches(&mut chain).await.concat();
        assert_eq!(plain.len(), 3_000);

        for batches_before in [0, 2, usize::MAX] {
            let mut chain = store.iter_persisted_chain(&id).await.expect("readable");
            let mut seen = Vec::new();
            for _ in 0..batches_before {
                let rows = chain.next_rows().await.expect("readable");
                if rows.is_empty() {
                    break;
                }
                seen.extend(rows.clone());
                chain.recycle(rows);
            }
            let mut chain = chain.map_batches(|rows| rows);
            while let Some(rows) = chain.next_batch().await.expect("readable") {
                seen.extend(rows.clone());
                chain.recycle(rows);
            }
            assert!(seen == plain, "other rows once their memory was used again");
        }
    });
}

/// A ledger of 3,000 rows, hence of several batches.
async fn long(place: &Place, id: &WorkflowId) {
    support::cold_ledger(place, id, 6).await;
    declare(&|| raw(&place.database(id)), "");
    execute(&raw(&place.database(id)), &mixed(3_000));
}

/// What is made of rows is made of each row once and in order: by the caller who asks in time, by
/// the thread that reads once the caller is behind, and whether or not rows were asked for before.
#[test]
fn batches_are_mapped_by_whoever_has_the_time() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        long(&place, &id).await;
        let store = place.store();
        let mut chain = store.iter_persisted_chain(&id).await.expect("readable");
        let plain = batches(&mut chain).await.concat();
        let head = &plain[0].next_head;
        let expected = plain.iter().filter(|row| row.next_head == *head).count();
        let here = std::thread::current().id();
        for begun in [false, true] {
            let mut chain = store.iter_persisted_chain(&id).await.expect("readable");
            let mut seen = if begun {
                chain.next_rows().await.expect("readable")
            } else {
                Vec::new()
            };
            let (elsewhere, ahead) = std::sync::mpsc::channel();
            let mut chain = chain.map_batches(move |rows| {
                let maker = std::thread::current().id();
                if maker != here {
                    elsewhere.send(()).expect("the test waits");
                }
                (maker, rows)
            });
            if !begun {
                ahead.recv().expect("a batch is made while nobody asks");
            }
            let mut makers = Vec::new();
            while let Some((maker, rows)) = chain.next_batch().await.expect("readable") {
                makers.push(maker);
                seen.extend(rows);
            }
            assert_eq!(makers.first(), Some(&here), "it waited for the caller");
            assert_eq!(makers.iter().all(|maker| *maker == here), begun);
            assert!(seen == plain, "other rows than unmapped ones");
            assert!(chain.next_batch().await.expect("readable").is_none());
            let count = chain.count_next_head(head).await.expect("a count");
            assert_eq!(usize::try_from(count), Ok(expected));
        }
    });
}

/// A panic in what is made of rows is no end of the chain.
#[test]
fn a_map_that_panics_ahead_is_an_error() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        long(&place, &id).await;
        let store = place.store();
        let chain = store.iter_persisted_chain(&id).await.expect("readable");
        let here = std::thread::current().id();
        let (elsewhere, ahead) = std::sync::mpsc::channel();
        let mut chain = chain.map_batches(move |rows| {
            if std::thread::current().id() != here {
                elsewhere.send(()).expect("the test waits");
                panic!("on purpose");
            }
            rows.len()
        });
        ahead.recv().expect("a batch is made while nobody asks");
        let error = loop {
            match chain.next_batch().await {
                Ok(batch) => assert!(batch.is_some(), "it looks like the end"),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("reading the chain"), "{error}");
        chain.next_batch().await.expect_err("the read is over");
        store.close().await.expect("the store closes");
    });
}

/// Replaces the rows by others, whose columns take values of every kind and length by turns.
fn mixed(rows: u64) -> String {
    let column = |period: u64| {
        format!(
            "CASE (i / {period}) % 7
                 WHEN 0 THEN 'text ' || i
                 WHEN 1 THEN NULL
                 WHEN 2 THEN CAST('bytes ' || i AS BLOB)
                 WHEN 3 THEN i
                 WHEN 4 THEN CAST(x'ff' || i AS TEXT)
                 WHEN 5 THEN ''
                 ELSE printf('%0*d', i % 900, i) END"
        )
    };
    let columns = [1, 2, 5, 3, 11].map(column).join(", ");
    format!(
        "DELETE FROM checkpoint_chain;
         WITH RECURSIVE number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < {rows})
         INSERT INTO checkpoint_chain SELECT i, {columns} FROM number;"
    )
}

/// Gives back each row with this much memory for its event; tells how much those have that come.
fn memory_after(capacity: usize, mapped: bool) -> Vec<usize> {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 1).await;
        let more = "WITH RECURSIVE number(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM number WHERE i < 10000)
             INSERT INTO checkpoint_chain
             SELECT i, i, prior_head, i, zeroblob(100), written_at FROM number, checkpoint_chain";
        execute(&raw(&place.database(&id)), more);
        let store = place.store();
        let mut chain = store.iter_persisted_chain(&id).await.expect("readable");
        let mut held = Vec::new();
        let mut used = |mut rows: Vec<PersistedRow>| {
            let capacities = rows.iter().filter_map(|row| row.event_bytes.as_ref());
            held.extend(capacities.map(Vec::capacity));
            for row in &mut rows {
                row.event_bytes = Some(Vec::with_capacity(capacity));
            }
            rows
        };
        if mapped {
            let mut chain = chain.map_batches(|rows| rows);
            while let Some(rows) = chain.next_batch().await.expect("readable") {
                chain.recycle(used(rows));
            }
        } else {
            loop {
                let rows = chain.next_rows().await.expect("readable");
                if rows.is_empty() {
                    break;
                }
                chain.recycle(used(rows));
            }
        }
        held
    })
}

/// A batch that nobody has given back in time is made anew, hence not all.
#[test]
fn the_memory_of_rows_is_used_again() {
    for mapped in [false, true] {
        let held = memory_after(200, mapped);
        let again = held.iter().filter(|&&held| held == 200).count();
        assert!(again > held.len() / 2, "{again} of {}", held.len());
    }
}

/// Otherwise each row of a batch could come to hold as much as the longest of the chain.
#[test]
fn the_memory_of_a_much_longer_event_is_let_go() {
    for mapped in [false, true] {
        let held = memory_after(100_000, mapped);
        assert!(held.iter().all(|&held| held < 1_000));
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
