//! Fixes what handles show in debug output, plain and erased, and what a new store begins with.

use std::fmt::Debug;
use std::time::Duration;

use piton_memory::MemoryStore;
use piton_store::{AnyStore, PersistedChain, Repin, WorkflowCatalog};
use piton_testkit::history::{first, workflow};
use piton_testkit::observe::append_all;
use piton_testkit::run;

/// Shows a store, its lock on `wf-1`, and a read of three rows before and after its first step.
async fn shown<S>(store: S) -> [String; 4]
where
    S: WorkflowCatalog<Lock: Repin + Debug, Chain: Debug> + Debug,
{
    let workflow = workflow("wf-1");
    append_all(&store, &first(&workflow, 3)).await;
    let lock = store.lock(&workflow).await.expect("the lock is free");
    let mut chain = store.iter_persisted_chain(&workflow).await.expect("a read");
    let begun = format!("{chain:?}");
    let rows = chain.next_rows().await.expect("rows");
    assert_eq!(rows.len(), 3);
    [
        format!("{store:?}"),
        format!("{lock:?}"),
        begun,
        format!("{chain:?}"),
    ]
}

#[test]
fn handles_show_what_they_are_and_no_event() {
    run(async {
        assert_eq!(
            shown(MemoryStore::new()).await,
            [
                "MemoryStore { busy_timeout: 5s, .. }",
                "MemoryLock(wf-1)",
                "MemoryChain(0 of 3)",
                "MemoryChain(3 of 3)",
            ]
        );
        assert_eq!(
            shown(AnyStore::new(MemoryStore::new())).await,
            ["AnyStore", "AnyLock(wf-1)", "AnyChain", "AnyChain"]
        );
    });
}

#[test]
fn a_default_store_is_a_new_one() {
    run(async {
        let store = MemoryStore::default();
        assert_eq!(store.list().await.expect("a list"), []);
        assert_eq!(format!("{store:?}"), format!("{:?}", MemoryStore::new()));
        let patient = store.with_busy_timeout(Duration::from_secs(7));
        assert_eq!(
            format!("{patient:?}"),
            "MemoryStore { busy_timeout: 7s, .. }"
        );
    });
}
