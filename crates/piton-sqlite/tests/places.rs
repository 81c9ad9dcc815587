//! Owns the promises about places: what is listed, what is deleted, and what is no ledger.

mod support;

use std::os::unix::fs::symlink;
use std::time::Duration;

use piton_store::{CheckpointStore, ExpectedHead, Retry, StoreError, WorkflowCatalog};
use support::{Place, append, event, files, rows, run, workflow};

#[test]
fn the_list_holds_ledgers_and_nothing_else() {
    let place = Place::new();
    run(async {
        let store = place.store();
        for name in ["b", "a", "A", "c.d"] {
            append(&store, &workflow(name), 1).await;
        }
        drop(store.lock(&workflow("locked")).await.expect("free"));
        std::fs::create_dir(place.root().join("empty")).expect("writable");
        std::fs::create_dir(place.root().join("not an id")).expect("writable");
        std::fs::write(place.root().join("file"), b"").expect("writable");
        symlink(place.home(&workflow("a")), place.root().join("link")).expect("writable");
        let listed = store.list().await.expect("readable");
        // The link is no ledger, but to pass over it would hide it from a check of everything.
        assert_eq!(listed, ["A", "a", "b", "c.d", "link"].map(workflow));
        let error = store.stats(&workflow("link")).await.expect_err("refused");
        assert!(matches!(error, StoreError::Unfit { .. }), "{error}");
        store.close().await.expect("the store closes");
        // A lost database is still listed, by its pin.
        std::fs::remove_file(place.database(&workflow("b"))).expect("writable");
        assert!(
            place
                .store()
                .list()
                .await
                .expect("readable")
                .contains(&workflow("b"))
        );
    });
}

#[test]
fn ids_that_differ_in_case_are_two_ledgers() {
    let place = Place::new();
    run(async {
        let store = place.store();
        append(&store, &workflow("Case"), 1).await;
        append(&store, &workflow("case"), 1).await;
        append(&store, &workflow("case"), 2).await;
        assert_eq!(rows(&store, &workflow("Case")).await.len(), 1);
        assert_eq!(rows(&store, &workflow("case")).await.len(), 2);
    });
}

#[test]
fn symbolic_links_are_refused_by_all() {
    let outside = Place::new();
    let target = workflow("w");
    run(async {
        support::cold_ledger(&outside, &target, 1).await;
        let home = outside.home(&target);
        let link_directory = |place: &Place| symlink(&home, place.home(&target)).expect("writable");
        let link_file = |name: &'static str| {
            let home = home.clone();
            move |place: &Place| {
                std::fs::create_dir(place.home(&workflow("w"))).expect("writable");
                symlink(home.join(name), place.home(&workflow("w")).join(name)).expect("writable");
            }
        };
        let database = link_file(support::DATABASE);
        let lock = link_file(support::LOCK);
        let wal = link_file("checkpoints.sqlite-wal");
        let ways: [&dyn Fn(&Place); 4] = [&link_directory, &database, &lock, &wal];
        let before = files(outside.directory.path());
        for make in ways {
            let place = Place::new();
            std::fs::create_dir(place.root()).expect("writable");
            make(&place);
            let store = place.store();
            let unfit = |error: StoreError| {
                assert_eq!(error.retry(), Retry::IsUseless);
                assert!(matches!(error, StoreError::Unfit { .. }), "{error}");
            };
            unfit(
                store
                    .append(&event(&target, 2), ExpectedHead::Any)
                    .await
                    .expect_err("refused"),
            );
            unfit(store.lock(&target).await.expect_err("refused"));
            unfit(
                store
                    .iter_persisted_chain(&target)
                    .await
                    .expect_err("refused"),
            );
            unfit(store.tail_chain_head(&target).await.expect_err("refused"));
            unfit(store.pinned_tail(&target).await.expect_err("refused"));
            unfit(store.stats(&target).await.expect_err("refused"));
            unfit(store.delete(&target).await.expect_err("refused"));
        }
        assert_eq!(files(outside.directory.path()), before);
    });
}

#[test]
fn what_is_no_directory_or_no_file_is_refused() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        std::fs::create_dir(place.root()).expect("writable");
        std::fs::write(place.home(&id), b"").expect("writable");
        let error = place
            .store()
            .append(&event(&id, 1), ExpectedHead::Any)
            .await
            .expect_err("refused");
        assert!(matches!(error, StoreError::Unfit { .. }), "{error}");
        let id = workflow("v");
        std::fs::create_dir_all(place.database(&id)).expect("writable");
        let error = place
            .store()
            .append(&event(&id, 1), ExpectedHead::Any)
            .await
            .expect_err("refused");
        assert!(matches!(error, StoreError::Unfit { .. }), "{error}");
    });
}

#[test]
fn a_root_with_odd_characters_is_a_place_like_others() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        for odd in ["file:x?mode=memory&vfs=none", "ä ö#%41", "a'b\"c"] {
            let root = place.directory.path().join(odd);
            let store = piton_sqlite::SqliteStore::open(&root).expect("a store");
            append(&store, &id, 1).await;
            store.close().await.expect("the store closes");
            let database = root.join("w").join(support::DATABASE);
            assert!(database.exists());
            // A copy with a log, and one that is read as immutable, have their own ways to open.
            std::fs::write(root.join("w").join("checkpoints.sqlite-wal"), b"").expect("writable");
            let store = piton_sqlite::SqliteStore::open(&root).expect("a store");
            assert_eq!(rows(&store, &id).await.len(), 1);
        }
    });
}

#[test]
fn deletion_leaves_nothing() {
    let place = Place::new();
    let (id, other) = (workflow("w"), workflow("other"));
    run(async {
        let store = place.store();
        append(&store, &id, 1).await;
        append(&store, &other, 1).await;
        store.delete(&id).await.expect("deleted");
        assert!(!place.home(&id).exists());
        assert_eq!(
            store.list().await.expect("readable"),
            std::slice::from_ref(&other)
        );
        let unknown = |error: StoreError| matches!(error, StoreError::UnknownWorkflow { .. });
        assert!(unknown(store.delete(&id).await.expect_err("unknown")));
        assert!(!place.home(&id).exists());
        assert_eq!(store.pinned_tail(&id).await.expect("readable"), None);
        // The name is free again, in this store too.
        assert_eq!(append(&store, &id, 2).await.sequence.to_u64(), 1);
        assert_eq!(rows(&store, &other).await.len(), 1);
    });
}

#[test]
fn deletion_does_not_wait_for_a_holder() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        append(&store, &id, 1).await;
        let guard = store.lock(&id).await.expect("free");
        let error = store.delete(&id).await.expect_err("held");
        assert!(
            matches!(
                error,
                StoreError::Busy {
                    waited: Duration::ZERO,
                    ..
                }
            ),
            "{error}"
        );
        drop(guard);
        assert_eq!(rows(&store, &id).await.len(), 1, "nothing was deleted");
        store.delete(&id).await.expect("deleted");
    });
}

/// How many open files of this process have a path.
fn descriptors(path: &std::path::Path) -> usize {
    std::fs::read_dir("/proc/self/fd")
        .expect("Linux lists open files")
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter(|target| target == path)
        .count()
}

/// A waiter that had opened the deleted lock file must not own the workflow that follows.
#[test]
fn a_waiter_survives_a_deletion() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        append(&store, &id, 1).await;
        let guard = store.lock(&id).await.expect("free");
        let waiter = append(&store, &id, 2);
        let deleter = async {
            let lock_file = place.lock_file(&id);
            // The holder's and the waiter's. Before the waiter has it open, it would make a new one.
            while descriptors(&lock_file) < 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // What `delete` does under the lock.
            std::fs::remove_dir_all(place.home(&id)).expect("writable");
            drop(guard);
        };
        let (appended, ()) = futures_util::future::join(waiter, deleter).await;
        assert_eq!(appended.sequence.to_u64(), 1);
        assert_eq!(
            rows(&place.store(), &id).await.len(),
            1,
            "the row is where others find it"
        );
    });
}

/// Whoever comes second finds a whole ledger or none.
#[test]
fn deletions_that_meet_are_told_apart() {
    const ROUNDS: usize = 500;
    let place = Place::new();
    let id = workflow("w");
    let start = std::sync::Barrier::new(2);
    let delete = || {
        let mut outcomes = Vec::new();
        for _ in 0..ROUNDS {
            // The shortest way to a directory's end: what an interruption leaves at most.
            if start.wait().is_leader() {
                std::fs::create_dir_all(place.home(&id)).expect("writable");
                std::fs::write(place.lock_file(&id), b"").expect("writable");
            }
            start.wait();
            outcomes.push(run(place.store().delete(&id)));
        }
        outcomes
    };
    let outcomes = std::thread::scope(|scope| {
        let other = scope.spawn(delete);
        let mut outcomes = delete();
        outcomes.extend(other.join().expect("no panic"));
        outcomes
    });
    for outcome in outcomes {
        assert!(
            matches!(
                outcome,
                Err(StoreError::UnknownWorkflow { .. } | StoreError::Busy { .. })
            ),
            "{outcome:?}"
        );
    }
}

#[test]
fn a_deletion_that_was_cut_off_is_finished() {
    let place = Place::new();
    run(async {
        for (index, removed) in [
            &["checkpoints.sqlite"][..],
            &["checkpoints.sqlite", "checkpoints.lock"],
        ]
        .into_iter()
        .enumerate()
        {
            let id = workflow(&format!("w{index}"));
            support::cold_ledger(&place, &id, 1).await;
            for name in removed {
                std::fs::remove_file(place.home(&id).join(name)).expect("writable");
            }
            std::fs::write(place.home(&id).join("checkpoints.new"), b"").expect("writable");
            std::fs::write(place.wal(&id), b"left").expect("writable");
            let outcome = place.store().delete(&id).await;
            assert!(
                matches!(outcome, Ok(()) | Err(StoreError::UnknownWorkflow { .. })),
                "{outcome:?}"
            );
            assert!(!place.home(&id).exists());
        }
    });
}

#[test]
fn a_foreign_file_survives_a_deletion() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        support::cold_ledger(&place, &id, 1).await;
        std::fs::write(place.home(&id).join("notes.txt"), b"mine").expect("writable");
        place.store().delete(&id).await.expect("deleted");
        assert_eq!(files(&place.home(&id)).len(), 1);
        assert!(place.store().list().await.expect("readable").is_empty());
    });
}

#[test]
fn an_original_ledger_can_be_deleted() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        std::fs::create_dir_all(place.home(&id)).expect("writable");
        support::raw(&place.database(&id))
            .execute_batch(piton_sqlite::SCHEMA)
            .expect("the schema");
        place.store().delete(&id).await.expect("deleted");
        assert!(!place.home(&id).exists());
    });
}
