//! Owns the promises within one process: cancellation, waiting, and few open connections.

mod support;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::join_all;
use piton_ledger::{Sequence, WorkflowId};
use piton_sqlite::{MAX_OPEN_CONNECTIONS, SqliteOptions, SqliteStore};
use piton_store::{
    AppendBatch, AppendLock, AppendStatus, Batch, CheckpointStore, ExpectedHead, StoreError,
    WorkflowCatalog,
};
use support::{Place, append, assert_linked, event, event_with, files, rows, run, workflow};

/// Polls a future so many times and then drops it.
async fn poll_times<T>(future: impl Future<Output = T>, times: usize) -> Option<T> {
    let mut future = pin!(future);
    let mut left = times;
    poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// The chain is whole, holds what was acknowledged, and takes the next event at once.
async fn assert_usable(store: &SqliteStore, id: &WorkflowId, number: u128) {
    let appended = append(store, id, number).await;
    let rows = rows(store, id).await;
    assert_linked(id, &rows);
    assert_eq!(u64::try_from(rows.len()), Ok(appended.sequence.to_u64()));
    let pin = store
        .pinned_tail(id)
        .await
        .expect("readable")
        .expect("a pin");
    assert_eq!(pin.sequence(), Some(appended.sequence));
}

#[test]
fn an_append_that_is_dropped_at_any_poll_harms_nothing() {
    let place = Place::new();
    run(async {
        let store = place.store();
        let mut finished = 0;
        for times in 0..40 {
            // On a new workflow the creation is cut off too.
            for id in [workflow("old"), workflow(&format!("new{times}"))] {
                let number = 1 + u128::try_from(times).expect("small") * 2;
                let sealed = event(&id, number);
                let outcome = poll_times(store.append(&sealed, ExpectedHead::Any), times).await;
                finished += usize::from(outcome.is_some());
                assert_usable(&store, &id, number + 1).await;
                let again = append(&store, &id, number).await;
                if outcome.is_some() {
                    assert_eq!(again.status, AppendStatus::AlreadyPresent);
                }
            }
        }
        assert!(
            (1..80).contains(&finished),
            "some were cut off and some were not: {finished}"
        );
    });
}

#[test]
fn an_append_that_is_dropped_at_any_time_harms_nothing() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        for round in 0..120u32 {
            let number = 1 + u128::from(round) * 2;
            let sealed = event(&id, number);
            let patience = Duration::from_micros(u64::from(round) * 23);
            // The outcome is what it is; the chain must bear both.
            let outcome =
                tokio::time::timeout(patience, store.append(&sealed, ExpectedHead::Any)).await;
            if let Ok(outcome) = outcome {
                outcome.expect("appended");
            }
            append(&store, &id, number + 1).await;
        }
        assert_usable(&store, &id, 100_000).await;
    });
}

/// While the guard lives the lock is held, whatever became of its appends.
#[test]
fn a_guard_outlives_its_dropped_appends() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        let impatient = place.impatient_store();
        let mut number = 0;
        for times in 0..20 {
            let mut lock = store.lock(&id).await.expect("free");
            number += 1;
            let sealed = event(&id, number);
            poll_times(lock.append(&sealed, ExpectedHead::Any), times).await;
            assert!(matches!(
                impatient.lock(&id).await,
                Err(StoreError::Busy { .. })
            ));
            number += 1;
            let appended = lock
                .append(&event(&id, number), ExpectedHead::Any)
                .await
                .expect("appended");
            assert_eq!(lock.tail().await.expect("readable").head(), appended.head);
            lock.release().await.expect("released");
            drop(impatient.lock(&id).await.expect("free after the release"));
        }
        assert_usable(&store, &id, 100_000).await;
    });
}

#[test]
fn many_tasks_on_one_workflow_make_one_chain() {
    let place = Place::new();
    let id = workflow("w");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let stores = [place.store(), place.store()];
        let tasks = (0..20u128).map(|task| {
            let (store, id) = (stores[usize::from(task % 2 == 1)].clone(), id.clone());
            tokio::spawn(async move {
                for number in 0..5 {
                    append(&store, &id, 1 + task * 10 + number).await;
                }
            })
        });
        for task in join_all(tasks).await {
            task.expect("no panic");
        }
        let rows = rows(&stores[0], &id).await;
        assert_eq!(rows.len(), 100);
        assert_linked(&id, &rows);
    });
}

/// How many descriptors of this process are open beneath a directory, for writing databases.
fn open_databases(place: &Place) -> usize {
    let root = place.root();
    std::fs::read_dir("/proc/self/fd")
        .expect("a process")
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter(|path| path.starts_with(&root) && path.ends_with(support::DATABASE))
        .count()
}

#[test]
fn few_connections_serve_many_workflows() {
    let place = Place::new();
    run(async {
        let store = place.store();
        let ids: Vec<_> = (0..200)
            .map(|index| workflow(&format!("w{index}")))
            .collect();
        for round in 1..=2 {
            for id in &ids {
                append(&store, id, round).await;
                assert!(open_databases(&place) <= MAX_OPEN_CONNECTIONS);
            }
        }
        assert_eq!(
            open_databases(&place),
            MAX_OPEN_CONNECTIONS,
            "idle ones are kept"
        );
        for id in &ids {
            assert_linked(id, &rows(&store, id).await);
        }
        store.close().await.expect("the store closes");
        assert_eq!(open_databases(&place), 0);
    });
}

#[test]
fn many_guards_share_the_connections() {
    let place = Place::new();
    run(async {
        let store = place.store();
        let mut guards = Vec::new();
        for index in 0..100 {
            let id = workflow(&format!("w{index}"));
            let mut guard = store.lock(&id).await.expect("free");
            guard
                .append(&event(&id, 1), ExpectedHead::Any)
                .await
                .expect("appended");
            guards.push((id, guard));
        }
        let appends = guards.iter_mut().map(|(id, guard)| {
            let sealed = event(id, 2);
            async move { guard.append(&sealed, ExpectedHead::Any).await }
        });
        for outcome in join_all(appends).await {
            assert_eq!(outcome.expect("appended").sequence.to_u64(), 2);
        }
    });
}

#[test]
fn the_checks_come_in_their_order() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        let first = append(&store, &id, 1).await;
        let second = append(&store, &id, 2).await;
        let check = async |number, outcome: &str, expected| {
            let before = rows(&store, &id).await;
            let result = store
                .append(&event_with(&id, number, outcome), expected)
                .await;
            assert_eq!(rows(&store, &id).await, before);
            result
        };
        // The repeated transition comes before the expectation, which has moved since.
        let again = check(
            1,
            r#"{"number": 1}"#,
            ExpectedHead::Exactly(piton_ledger::ChainHead::GENESIS),
        )
        .await
        .expect("there");
        assert_eq!(
            (again.sequence, again.head, again.status),
            (Sequence::FIRST, first.head, AppendStatus::AlreadyPresent)
        );
        for expected in [
            ExpectedHead::Any,
            ExpectedHead::Exactly(first.head),
            ExpectedHead::Exactly(second.head),
        ] {
            let error = check(1, "{}", expected).await.expect_err("refused");
            assert!(
                matches!(error, StoreError::TransitionConflict { .. }),
                "{error}"
            );
        }
        let error = check(3, "{}", ExpectedHead::Exactly(first.head))
            .await
            .expect_err("refused");
        assert!(
            matches!(error, StoreError::StaleHead { expected, actual, .. } if expected == first.head && actual == second.head),
            "{error}"
        );
        let third = store
            .append(&event(&id, 3), ExpectedHead::Exactly(second.head))
            .await
            .expect("appended");
        assert_eq!(third.sequence.to_u64(), 3);
        let mut lock = store.lock(&workflow("other")).await.expect("free");
        let error = lock
            .append(&event(&id, 4), ExpectedHead::Any)
            .await
            .expect_err("refused");
        assert!(matches!(error, StoreError::WrongWorkflow { .. }), "{error}");
    });
}

#[test]
fn another_writer_without_the_lock_is_noticed() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        append(&store, &id, 1).await;
        let (two, three) = (event(&id, 2), event(&id, 3));
        let first = store.tail_chain_head(&id).await.expect("readable");
        let second = two.link(&first);
        // It neither takes the lock nor notes a pin.
        support::raw(&place.database(&id))
            .execute(
                "INSERT INTO checkpoint_chain (transition_id, prior_head, next_head, event_bytes, written_at) VALUES (?, ?, ?, ?, 'now')",
                (two.transition_id().to_string(), first.to_string(), second.to_string(), two.bytes()),
            )
            .expect("an insert");
        let error = store
            .append(&three, ExpectedHead::Exactly(first))
            .await
            .expect_err("stale");
        assert!(
            matches!(error, StoreError::StaleHead { actual, .. } if actual == second),
            "{error}"
        );
        let appended = store
            .append(&three, ExpectedHead::Any)
            .await
            .expect("appended");
        assert_eq!(appended.sequence.to_u64(), 3);
        assert_linked(&id, &rows(&store, &id).await);
    });
}

/// A store with one row, whose connection was open when a trigger was planted beneath it: the
/// check at opening can't see it.
async fn planted(place: &Place, id: &WorkflowId) -> SqliteStore {
    if place.database(id).exists() {
        support::raw(&place.database(id))
            .execute_batch("DROP TRIGGER quiet")
            .expect("a change of schema");
    }
    let store = place.store();
    append(&store, id, 1).await;
    support::raw(&place.database(id))
        .execute_batch("CREATE TRIGGER quiet BEFORE INSERT ON checkpoint_chain BEGIN SELECT RAISE(IGNORE); END")
        .expect("a change of schema");
    store
}

#[test]
fn a_silent_trigger_is_no_success() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = planted(&place, &id).await;
        let error = store
            .append(&event(&id, 2), ExpectedHead::Any)
            .await
            .expect_err("refused");
        assert!(matches!(error, StoreError::Engine { .. }), "{error}");
        let batch = Batch::new([event(&id, 2), event(&id, 3)]).expect("a batch");
        // Planted once more: after a failure the store opens the database anew, and refuses it.
        let store = planted(&place, &id).await;
        let mut lock = store.lock(&id).await.expect("the lock is free");
        let error = lock.append_batch(&batch, ExpectedHead::Any).await;
        let error = error.expect_err("refused");
        assert!(matches!(error, StoreError::Engine { .. }), "{error}");
        lock.release().await.expect("released");
        assert_eq!(rows(&store, &id).await.len(), 1);
    });
}

#[test]
fn the_clock_is_the_callers() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let options = SqliteOptions {
            clock: std::sync::Arc::new(|| "2024-02-29T12:00:00.25Z".parse().expect("a time")),
            ..SqliteOptions::default()
        };
        let store = SqliteStore::with_options(place.root(), options).expect("a store");
        append(&store, &id, 1).await;
        assert_eq!(
            rows(&store, &id).await[0].written_at.as_text(),
            Some("2024-02-29T12:00:00.25Z")
        );
        let stats = store.stats(&id).await.expect("readable");
        assert_eq!(
            stats.first_written_at.as_deref(),
            Some("2024-02-29T12:00:00.25Z")
        );
    });
}

#[test]
fn a_closed_store_refuses_everything() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        append(&store, &id, 1).await;
        let mut guard = store.lock(&id).await.expect("free");
        store.close().await.expect("closed");
        store.clone().close().await.expect("closed twice");
        let closed = |error: StoreError| matches!(error, StoreError::Closed);
        assert!(closed(
            guard
                .append(&event(&id, 2), ExpectedHead::Any)
                .await
                .expect_err("closed")
        ));
        assert!(closed(guard.tail().await.expect_err("closed")));
        drop(guard);
        assert!(closed(
            store
                .append(&event(&id, 2), ExpectedHead::Any)
                .await
                .expect_err("closed")
        ));
        assert!(closed(store.lock(&id).await.expect_err("closed")));
        assert!(closed(
            store.iter_persisted_chain(&id).await.expect_err("closed")
        ));
        assert!(closed(
            store.tail_chain_head(&id).await.expect_err("closed")
        ));
        assert!(closed(store.pinned_tail(&id).await.expect_err("closed")));
        assert!(closed(store.list().await.expect_err("closed")));
        assert!(closed(store.stats(&id).await.expect_err("closed")));
        assert!(closed(store.delete(&id).await.expect_err("closed")));
        assert_eq!(files(&place.home(&id)).len(), 2, "no connection is open");
    });
}

/// Connections that open and close all the time: every read is whole, and nothing stays behind.
#[test]
fn readers_and_writers_come_and_go() {
    let place = Place::new();
    let id = workflow("w");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        support::cold_ledger(&place, &id, 1).await;
        let tasks = (0..6u128).map(|task| {
            let (root, id) = (place.root(), id.clone());
            tokio::spawn(async move {
                let mut seen = 0;
                for round in 0..15 {
                    let store = SqliteStore::open(&root).expect("a store");
                    if task < 2 {
                        append(&store, &id, 1_000 * (task + 1) + round).await;
                    }
                    let rows = rows(&store, &id).await;
                    assert_linked(&id, &rows);
                    assert!(rows.len() >= seen, "a later read sees no less");
                    seen = rows.len();
                    store.close().await.expect("the store closes");
                }
            })
        });
        for task in join_all(tasks).await {
            task.expect("no failure");
        }
        let store = place.store();
        assert_eq!(rows(&store, &id).await.len(), 31);
        append(&store, &id, 100_000).await;
        store.close().await.expect("the store closes");
        assert_eq!(
            files(&place.home(&id)).len(),
            2,
            "the last writer clears up"
        );
    });
}
