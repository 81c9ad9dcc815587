//! Owns the promise that calls leave no descriptor open. It is the one test of its program, since
//! descriptors are counted for the whole process.
#![cfg(target_os = "linux")]

mod support;

use piton_sqlite::{MAX_OPEN_CONNECTIONS, SqliteStore};
use piton_store::{CheckpointStore, WorkflowCatalog};
use support::{Place, append, rows, run, workflow};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd")
        .expect("this process has descriptors")
        .count()
}

/// Lists, counts and reads workflows of every kind: at rest, at work, damaged, missing.
async fn use_everything(place: &Place, store: &SqliteStore) {
    for id in store.list().await.expect("readable") {
        let stats = store.stats(&id).await;
        assert_eq!(stats.is_ok(), id.as_str() != "damaged", "{id}");
        if stats.is_ok() {
            rows(store, &id).await;
            store.tail_chain_head(&id).await.expect("readable");
            store.pinned_tail(&id).await.expect("readable");
        }
    }
    store.stats(&workflow("missing")).await.expect("none");
    // A store of its own for each round, opened and closed.
    let passing = place.store();
    append(&passing, &workflow("w1"), 1).await;
    passing.stats(&workflow("w2")).await.expect("readable");
    passing.close().await.expect("the store closes");
}

#[test]
fn lists_and_opens_leave_no_descriptor() {
    let place = Place::new();
    // More workflows than connections, so that some are closed to make room.
    let ids: Vec<_> = (1..MAX_OPEN_CONNECTIONS + 6)
        .map(|number| workflow(&format!("w{number}")))
        .collect();
    run(async {
        for id in &ids {
            support::cold_ledger(&place, id, 1).await;
        }
        support::cold_ledger(&place, &workflow("damaged"), 1).await;
        std::fs::write(place.database(&workflow("damaged")), b"no database").expect("writable");
        let store = place.store();
        for id in &ids {
            append(&store, id, 2).await;
        }
        use_everything(&place, &store).await;
        let before = descriptors();
        for _ in 0..5 {
            use_everything(&place, &store).await;
            assert_eq!(descriptors(), before);
        }
        let open = descriptors();
        store.close().await.expect("the store closes");
        assert!(descriptors() < open, "a closed store holds none");
    });
}
