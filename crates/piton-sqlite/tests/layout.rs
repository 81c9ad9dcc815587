//! Owns the promises about files: schema, settings, modes, versions, and the original's layout.

mod support;

use std::os::unix::fs::PermissionsExt;

use piton_ledger::{ChainHead, Sequence};
use piton_sqlite::{LAYOUT_VERSION, SCHEMA, SqliteStore};
use piton_store::{
    AppendBatch, AppendLock, AppendStatus, Batch, CheckpointStore, ExpectedHead, Retry, StoreError,
    Stored, Tail, WorkflowCatalog,
};
use support::{Place, append, assert_linked, event, files, raw, rows, run, workflow};

#[test]
fn the_schema_is_the_golden_one() {
    let place = Place::new();
    let id = workflow("w");
    run(support::cold_ledger(&place, &id, 1));
    let database = raw(&place.database(&id));
    let mut statement = database
        .prepare("SELECT sql FROM sqlite_schema WHERE sql NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
        .expect("a statement");
    let made: Vec<String> = statement
        .query_map((), |row| row.get(0))
        .expect("rows")
        .collect::<Result<_, _>>()
        .expect("texts");
    let text = made
        .iter()
        .map(|sql| format!("{sql};\n"))
        .collect::<String>();
    assert_eq!(text, SCHEMA.replace("IF NOT EXISTS ", ""));
}

#[test]
fn the_files_say_wal_and_version_one() {
    let place = Place::new();
    let id = workflow("w");
    run(support::cold_ledger(&place, &id, 1));
    let database = raw(&place.database(&id));
    let pragma = |name: &str| {
        database
            .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
            .expect("a pragma")
    };
    assert_eq!(pragma("journal_mode"), "wal".to_owned().into());
    assert_eq!(pragma("user_version"), LAYOUT_VERSION.into());
    let stored: (String, String, String) = database
        .query_row(
            "SELECT typeof(event_bytes), typeof(next_head), next_head FROM checkpoint_chain",
            (),
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .expect("a row");
    assert_eq!((stored.0.as_str(), stored.1.as_str()), ("blob", "text"));
    assert!(stored.2.starts_with("blake3:"));
}

#[test]
fn only_the_owner_can_read() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        append(&store, &id, 1).await;
        for path in files(place.directory.path()).keys() {
            let mode = std::fs::metadata(path)
                .expect("metadata")
                .permissions()
                .mode()
                & 0o777;
            let expected = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode, expected, "{}", path.display());
        }
        assert_eq!(
            files(&place.home(&id)).len(),
            4,
            "database, log, shared memory, lock file"
        );
        store.close().await.expect("the store closes");
        assert_eq!(files(&place.home(&id)).len(), 2);
    });
}

#[test]
fn a_newer_layout_is_refused_by_all() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 1).await;
        raw(&place.database(&id))
            .pragma_update(None, "user_version", 2)
            .expect("a pragma");
        let before = files(&place.root());
        let store = place.store();
        let is_newer = |error: StoreError| {
            matches!(
                error,
                StoreError::NewerLayout {
                    found: 2,
                    newest: 1,
                    ..
                }
            )
        };
        assert!(is_newer(
            store
                .append(&event(&id, 2), ExpectedHead::Any)
                .await
                .expect_err("refused")
        ));
        assert!(is_newer(
            store.iter_persisted_chain(&id).await.expect_err("refused")
        ));
        assert!(is_newer(
            store.tail_chain_head(&id).await.expect_err("refused")
        ));
        assert!(is_newer(store.stats(&id).await.expect_err("refused")));
        store.close().await.expect("the store closes");
        assert_eq!(files(&place.root()), before);
    });
}

/// A ledger as the original wrote it: bare heads, keys in declaration order, no lock file.
fn original_ledger(place: &Place, id: &piton_ledger::WorkflowId, events: &[&str]) {
    std::fs::create_dir_all(place.home(id)).expect("a writable place");
    let database = raw(&place.database(id));
    database
        .pragma_update(None, "journal_mode", "wal")
        .expect("a pragma");
    database.execute_batch(SCHEMA).expect("the schema");
    let mut prior = "0".repeat(64);
    for (index, bytes) in events.iter().enumerate() {
        let next = format!("{:064x}", index + 1);
        database
            .execute(
                "INSERT INTO checkpoint_chain (transition_id, prior_head, next_head, event_bytes, written_at) VALUES (?, ?, ?, ?, 'then')",
                (format!("{index:026}"), &prior, &next, bytes.as_bytes()),
            )
            .expect("an insert");
        prior = next;
    }
}

#[test]
fn the_originals_ledger_goes_on_as_it_is() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        original_ledger(&place, &id, &["{\"z\": 1}", "{\"y\":  2}"]);
        let store = place.store();
        assert_eq!(store.pinned_tail(&id).await.expect("readable"), None);
        let head: ChainHead = format!("{:064x}", 2).parse().expect("a bare head");
        assert_eq!(store.tail_chain_head(&id).await.expect("readable"), head);

        let third = event(&id, 3);
        let appended = store
            .append(&third, ExpectedHead::Exactly(head))
            .await
            .expect("appended");
        assert_eq!(appended.head, third.link(&head));
        assert_eq!(appended.sequence.to_u64(), 3);
        let pin = Tail::At {
            sequence: appended.sequence,
            head: appended.head,
        };
        assert_eq!(store.pinned_tail(&id).await.expect("readable"), Some(pin));

        let rows = rows(&store, &id).await;
        assert_eq!(
            rows[0].event_bytes.as_deref(),
            Some("{\"z\": 1}".as_bytes()),
            "bytes as they are"
        );
        assert_eq!(
            rows[1].next_head,
            Stored::from(format!("{:064x}", 2)),
            "heads as they are"
        );
        assert_eq!(rows[2].prior_head.to_head(), Some(head));
        append(&store, &id, 4).await;
        store.close().await.expect("the store closes");
        let version: i64 = raw(&place.database(&id))
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .expect("a pragma");
        assert_eq!(version, 0, "the layout version stays the original's");
    });
}

#[test]
fn an_original_ledger_without_rows_is_an_empty_chain() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        original_ledger(&place, &id, &[]);
        let store = place.store();
        assert!(rows(&store, &id).await.is_empty());
        assert_eq!(store.pinned_tail(&id).await.expect("readable"), None);
        assert_eq!(append(&store, &id, 1).await.sequence, Sequence::FIRST);
    });
}

#[test]
fn an_empty_or_tableless_database_is_an_empty_chain() {
    let check = |make: &dyn Fn(&std::path::Path)| {
        let place = Place::new();
        let id = workflow("w");
        std::fs::create_dir_all(place.home(&id)).expect("a writable place");
        make(&place.database(&id));
        run(async {
            let store = place.store();
            assert!(rows(&store, &id).await.is_empty());
            assert_eq!(
                store.tail_chain_head(&id).await.expect("readable"),
                ChainHead::GENESIS
            );
            assert_eq!(store.pinned_tail(&id).await.expect("readable"), None);
            assert_eq!(store.stats(&id).await.expect("readable").rows, 0);
            append(&store, &id, 1).await;
            append(&store, &id, 2).await;
            assert_linked(&id, &rows(&store, &id).await);
            store.close().await.expect("the store closes");
            let version: i64 = raw(&place.database(&id))
                .pragma_query_value(None, "user_version", |row| row.get(0))
                .expect("a pragma");
            assert_eq!(version, LAYOUT_VERSION);
        });
    };
    check(&|path| {
        std::fs::write(path, b"").expect("a writable place");
    });
    check(&|path| {
        raw(path)
            .execute_batch("CREATE TABLE other (a); DROP TABLE other")
            .expect("a database");
    });
}

#[test]
fn a_creation_that_was_cut_off_is_finished() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 0).await;
        let store = place.store();
        append(&store, &id, 1).await;
        store.close().await.expect("the store closes");
        // The pin of the empty chain is on disk, and nothing else but the remains of a database.
        let empty = workflow("cut");
        let mut pin = std::fs::read(place.lock_file(&id)).expect("readable");
        pin[..64].fill(0);
        std::fs::create_dir_all(place.home(&empty)).expect("a writable place");
        std::fs::write(place.lock_file(&empty), &pin).expect("a writable place");
        std::fs::write(place.home(&empty).join("checkpoints.new"), b"half")
            .expect("a writable place");
        std::fs::write(place.home(&empty).join("checkpoints.new-wal"), b"half")
            .expect("a writable place");
        let store = place.store();
        assert_eq!(
            store.pinned_tail(&empty).await.expect("readable"),
            Some(Tail::Empty)
        );
        assert!(rows(&store, &empty).await.is_empty());
        append(&store, &empty, 1).await;
        assert_linked(&empty, &rows(&store, &empty).await);
        store.close().await.expect("the store closes");
        assert_eq!(files(&place.home(&empty)).len(), 2);
    });
}

#[test]
fn a_refused_first_append_leaves_nothing_recorded() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        let head = ChainHead::from_bytes([9; 32]);
        let error = store
            .append(&event(&id, 1), ExpectedHead::Exactly(head))
            .await
            .expect_err("refused");
        assert!(matches!(
            error,
            StoreError::StaleHead {
                actual: ChainHead::GENESIS,
                ..
            }
        ));
        assert_eq!(store.pinned_tail(&id).await.expect("readable"), None);
        assert!(store.list().await.expect("readable").is_empty());
    });
}

/// A copy that has lost its keys and indexes still works, and repeats are still found.
#[test]
fn no_constraint_is_needed() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 2).await;
        raw(&place.database(&id))
            .execute_batch(
                "CREATE TABLE plain (sequence, transition_id, prior_head, next_head, event_bytes, written_at);
                 INSERT INTO plain SELECT * FROM checkpoint_chain;
                 DROP TABLE checkpoint_chain;
                 ALTER TABLE plain RENAME TO checkpoint_chain;",
            )
            .expect("a change of schema");
        let store = place.store();
        append(&store, &id, 3).await;
        append(&store, &id, 4).await;
        let again = append(&store, &id, 3).await;
        assert_eq!(
            (again.sequence.to_u64(), again.status),
            (3, AppendStatus::AlreadyPresent)
        );
        let again = append(&store, &id, 1).await;
        assert_eq!(
            (again.sequence.to_u64(), again.status),
            (1, AppendStatus::AlreadyPresent)
        );
        let events = |numbers: [u128; 3]| numbers.map(|number| event(&id, number)).to_vec();
        let mut lock = store.lock(&id).await.expect("the lock is free");
        for (numbers, statuses) in [
            ([5, 6, 7], [AppendStatus::Appended; 3]),
            // The tail is known, so that the statement itself meets what is there.
            (
                [8, 2, 9],
                [
                    AppendStatus::Appended,
                    AppendStatus::AlreadyPresent,
                    AppendStatus::Appended,
                ],
            ),
        ] {
            let batch = Batch::new(events(numbers)).expect("a batch");
            let answers = lock.append_batch(&batch, ExpectedHead::Any).await;
            let answers = answers.expect("an append");
            assert_eq!(
                answers
                    .iter()
                    .map(|answer| answer.status)
                    .collect::<Vec<_>>(),
                statuses
            );
        }
        lock.release().await.expect("released");
        let rows = rows(&store, &id).await;
        assert_eq!(rows.len(), 9);
        assert_linked(&id, &rows);
    });
}

#[test]
fn values_of_any_type_are_read_as_they_are() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 1).await;
        raw(&place.database(&id))
            .execute_batch(
                "CREATE TABLE plain (sequence, transition_id, prior_head, next_head, event_bytes, written_at);
                 INSERT INTO plain VALUES
                     (1, 5, x'0102', CAST(x'ff' AS TEXT), 'text', NULL),
                     ('two', NULL, 1.5, '', NULL, x''),
                     (NULL, 'a', 'b', 'c', 7, 'd');
                 DROP TABLE checkpoint_chain;
                 ALTER TABLE plain RENAME TO checkpoint_chain;",
            )
            .expect("a change of schema");
        let store = place.store();
        let rows = rows(&store, &id).await;
        let sequences: Vec<_> = rows.iter().map(|row| row.sequence).collect();
        assert_eq!(sequences, [0, 1, 0], "NULL sorts first, text last");
        let odd = &rows[1];
        assert_eq!(odd.transition_id, Stored::Null);
        assert_eq!(odd.prior_head, Stored::Bytes([1, 2].into()));
        assert_eq!(odd.next_head, Stored::Bytes([0xff].into()));
        assert_eq!(odd.event_bytes.as_deref(), Some(b"text".as_slice()));
        assert_eq!(odd.written_at, Stored::Null);
        assert_eq!(rows[2].event_bytes, None);
        assert_eq!(rows[2].next_head, Stored::from(""));
        assert_eq!(rows[2].written_at, Stored::Bytes([].into()));
        let error = store.tail_chain_head(&id).await.expect_err("not a head");
        assert!(matches!(
            error,
            StoreError::UnreadableColumn {
                column: "next_head",
                ..
            }
        ));
    });
}

#[test]
fn a_database_that_is_none_is_an_error_and_no_short_chain() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 200).await;
        let whole = std::fs::read(place.database(&id)).expect("readable");
        let check = |bytes: &[u8]| std::fs::write(place.database(&id), bytes).expect("writable");
        let store = place.store();

        check(&[b"no database at all".as_slice(), &whole[18..]].concat());
        let error = store.tail_chain_head(&id).await.expect_err("unreadable");
        assert!(
            matches!(
                error,
                StoreError::Engine {
                    retry: Retry::IsUseless,
                    ..
                }
            ),
            "{error}"
        );
        let error = store
            .append(&event(&id, 201), ExpectedHead::Any)
            .await
            .expect_err("unreadable");
        assert!(
            matches!(
                error,
                StoreError::Engine {
                    retry: Retry::IsUseless,
                    ..
                }
            ),
            "{error}"
        );

        // The pages in the middle are gone, the first ones are whole.
        let mut holed = whole.clone();
        let middle = holed.len() / 2;
        holed[middle..middle + 8192].fill(0xff);
        check(&holed);
        let outcome = async {
            let mut chain = store.iter_persisted_chain(&id).await?;
            while !piton_store::PersistedChain::next_rows(&mut chain)
                .await?
                .is_empty()
            {}
            Ok::<_, StoreError>(())
        };
        let error = outcome.await.expect_err("unreadable");
        assert!(matches!(error, StoreError::Engine { .. }), "{error}");

        check(&whole);
        assert_eq!(rows(&store, &id).await.len(), 200);
    });
}

#[test]
fn the_root_must_be_a_directory() {
    let place = Place::new();
    std::fs::write(place.root(), b"").expect("a writable place");
    assert!(matches!(
        SqliteStore::open(place.root()),
        Err(StoreError::Unfit { workflow: None, .. })
    ));
}
