//! Owns the promise that a reader beside the very first append sees no rows or that row, and never
//! a ledger in between.

mod support;

use std::sync::atomic::{AtomicBool, Ordering};

use piton_store::{CheckpointStore, CheckpointStoreExt};
use support::{Place, append, run, workflow};

const LEDGERS: usize = 80;
const READERS: usize = 3;

#[test]
fn a_read_beside_the_first_append_sees_all_of_it_or_nothing() {
    let place = Place::new();
    for number in 0..LEDGERS {
        let id = workflow(&format!("w{number}"));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..READERS {
                scope.spawn(|| {
                    run(async {
                        let store = place.store();
                        while !is_over.load(Ordering::Relaxed) {
                            let rows = store.collect_rows(&id).await.expect("a whole ledger");
                            assert!(rows.len() <= 1);
                            store.pinned_tail(&id).await.expect("a whole pin");
                            store.tail_chain_head(&id).await.expect("a whole tail");
                        }
                    });
                });
            }
            run(async {
                let store = place.store();
                append(&store, &id, 1).await;
                is_over.store(true, Ordering::Relaxed);
                store.close().await.expect("the store closes");
            });
        });
    }
}
