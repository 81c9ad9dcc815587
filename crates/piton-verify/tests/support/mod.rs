//! Owns what the tests of the verifier share: a runtime, small chains, and rows laid over a store.
#![allow(dead_code, reason = "each test file takes what it needs")]
#![allow(unreachable_pub, reason = "each test file is a crate of its own")]

use std::future::Future;

use piton_ledger::{Sequence, VulnState, WorkflowId};
use piton_memory::MemoryStore;
use piton_store::{CheckpointStoreExt, PersistedRow, Tail};
use piton_testkit::history::{first, workflow};
use piton_testkit::observe::append_all;
use piton_testkit::tamper::TamperedStore;
use piton_verify::{ReplayVerdict, ReplayVerifier};

/// Runs a future to its end.
pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime starts")
        .block_on(future)
}

/// A chain in memory, and what it holds.
pub struct Chain {
    pub store: MemoryStore,
    pub workflow: WorkflowId,
    pub rows: Vec<PersistedRow>,
    pub tail: Tail,
}

/// Appends plain events to a workflow named `chain`.
pub async fn chain(length: u32) -> Chain {
    let store = MemoryStore::new();
    let workflow = workflow("chain");
    append_all(&store, &first(&workflow, length)).await;
    let rows = store.collect_rows(&workflow).await.expect("rows");
    let tail = rows.last().map_or(Tail::Empty, |row| Tail::At {
        sequence: Sequence::try_from(row.sequence).expect("from 1"),
        head: row.next_head.to_head().expect("a head"),
    });
    Chain {
        store,
        workflow,
        rows,
        tail,
    }
}

impl Chain {
    /// Lays rows over the store, with the pin where it is.
    pub fn tampered(&self, rows: Vec<PersistedRow>) -> TamperedStore<MemoryStore> {
        let pin = Some(self.tail);
        TamperedStore::new(self.store.clone(), self.workflow.clone(), rows, pin)
    }
}

/// Verifies a workflow of the vulnerability ledger.
pub async fn verify<S: piton_store::CheckpointStore>(
    store: &S,
    workflow: &WorkflowId,
) -> ReplayVerdict<VulnState> {
    ReplayVerifier::new(store)
        .verify(workflow)
        .await
        .expect("the chain can be checked")
}
