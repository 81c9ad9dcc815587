//! Cases of workflow ids that tempt a store to name something else by them (C11).

use piton_ledger::WorkflowId;
use piton_store::{CheckpointStore, ExpectedHead, WorkflowCatalog};

use crate::harness::{Harness, IdCase, Settings};
use crate::history::{first, nth, workflow};
use crate::observe::{append_all, assert_chain};

/// Ids that are well-formed and awkward: file names of engines, look-alikes, the longest ones.
fn awkward() -> Vec<WorkflowId> {
    let longest = "w".repeat(WorkflowId::MAX_BYTES);
    let longest_too = format!("{}x", &longest[1..]);
    let dots = format!("a{}z", ".".repeat(WorkflowId::MAX_BYTES - 2));
    let mut ids: Vec<WorkflowId> = [
        "checkpoints.sqlite",
        "checkpoints.sqlite-wal",
        "checkpoints.lock",
        "a..b",
        "a...b",
        "a.b",
        "a-.-b",
        "a--b",
        "0",
        "00",
        "1e0",
        "DROP-TABLE-checkpoint_chain",
        "select.1",
        "null",
        "public.checkpoint_chain",
        "pg_catalog",
        "lost.found",
        "x.tmp",
        longest.as_str(),
        longest_too.as_str(),
        dots.as_str(),
    ]
    .into_iter()
    .map(workflow)
    .collect();
    ids.sort();
    ids
}

/// Awkward ids each own their chain, and the list gives them back unchanged.
pub async fn c11_awkward_ids_stay_apart<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let ids = awkward();
    for (count, id) in (1..).zip(&ids) {
        append_all(&store, &first(id, 1 + count % 3)).await;
    }
    let reader = harness.open(Settings::default()).await;
    for (count, id) in (1..).zip(&ids) {
        assert_chain(&reader, id, &first(id, 1 + count % 3)).await;
    }
    assert_eq!(reader.list().await.expect("a list"), ids);
}

/// Two ids that differ in case alone are two ledgers, or the second is refused with an error; they
/// never share a chain.
pub async fn c11_ids_that_differ_in_case<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let [lower, upper] = ["case-pair", "Case-Pair"].map(workflow);
    append_all(&store, &first(&lower, 2)).await;
    match harness.id_case() {
        IdCase::TwoLedgers => {
            append_all(&store, &first(&upper, 1)).await;
            assert_chain(&store, &upper, &first(&upper, 1)).await;
        }
        IdCase::SecondRefused => {
            let refused = store.append(&nth(&upper, 1), ExpectedHead::Any).await;
            assert!(refused.is_err(), "{refused:?}");
        }
    }
    assert_chain(&store, &lower, &first(&lower, 2)).await;
}
