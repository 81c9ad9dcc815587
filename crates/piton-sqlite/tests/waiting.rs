//! Owns the promise about waiting threads. It stands alone, since it counts those of its process.

mod support;

use std::time::Duration;

use piton_store::{AppendLock, CheckpointStore};
use support::{Place, append, run, workflow};

#[test]
fn dropped_waiters_leave_no_lock_behind() {
    let place = Place::new();
    let id = workflow("w");
    run(async {
        let store = place.store();
        let impatient = place.impatient_store();
        let guard = store.lock(&id).await.expect("free");
        for _ in 0..10 {
            let waiter = impatient.lock(&id);
            let outcome = tokio::time::timeout(Duration::from_micros(300), waiter).await;
            assert!(outcome.is_err(), "the waiter was dropped while it waited");
        }
        let waiting = threads("piton-lock");
        assert_eq!(
            waiting, 1,
            "one thread waits for one path, however many gave up"
        );
        guard.release().await.expect("released");
        append(&store, &id, 1).await;
        append(&place.store(), &id, 2).await;
    });
}

/// How many threads of this process bear a name.
fn threads(name: &str) -> usize {
    std::fs::read_dir("/proc/self/task")
        .expect("a process")
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
        .filter(|comm| comm.trim_end() == name)
        .count()
}
