//! Cases of the catalogue: listing, and deleting one workflow (C10, C11, C14, C15).

use piton_ledger::ChainHead;
use piton_store::{AppendStatus, CheckpointStore, ExpectedHead, StoreError, WorkflowCatalog};

use crate::harness::{Harness, Settings};
use crate::history::{first, nth, workflow};
use crate::observe::{append, append_all, assert_chain, look};

/// The list holds every workflow once, in the order of the ids' bytes.
pub async fn c10_list_is_complete_and_sorted<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let other = harness.open(Settings::default()).await;
    for id in ["b", "a.b", "Z", "a-b", "a", "10", "a_b", "9"] {
        append(&store, &nth(&workflow(id), 1)).await;
        append(&other, &nth(&workflow(id), 2)).await;
    }
    let expected = ["10", "9", "Z", "a", "a-b", "a.b", "a_b", "b"].map(workflow);
    for reader in [&store, &other] {
        assert_eq!(reader.list().await.expect("a list"), expected);
    }
}

/// A deleted workflow is gone for every handle, and its neighbours are untouched.
pub async fn c11_delete_takes_that_workflow_alone<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let other = harness.open(Settings::default()).await;
    let ids = ["gone", "gone.too", "gone-1", "go"].map(workflow);
    for id in &ids {
        append_all(&store, &first(id, 2)).await;
        assert_chain(&other, id, &first(id, 2)).await;
    }
    store.delete(&ids[0]).await.expect("nobody holds the lock");
    for reader in [&store, &other] {
        assert_chain(reader, &ids[0], &[]).await;
        assert_eq!(look(reader, &ids[0]).await.pin, None);
        for kept in &ids[1..] {
            assert_chain(reader, kept, &first(kept, 2)).await;
        }
        let listed = reader.list().await.expect("a list");
        assert_eq!(listed, ["go", "gone-1", "gone.too"].map(workflow));
    }
}

/// A workflow that is made again after its deletion starts at genesis, with no memory of ids.
pub async fn c14_deleted_workflow_starts_again_at_genesis<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let other = harness.open(Settings::default()).await;
    let workflow = workflow("again");
    for writer in [&store, &other, &store] {
        append_all(writer, &first(&workflow, 3)).await;
        writer
            .delete(&workflow)
            .await
            .expect("nobody holds the lock");
        let answer = writer
            .append(
                &nth(&workflow, 2),
                ExpectedHead::Exactly(ChainHead::GENESIS),
            )
            .await
            .expect("the chain is empty");
        assert_eq!(answer.sequence.to_u64(), 1);
        assert_eq!(answer.status, AppendStatus::Appended);
        for reader in [&store, &other] {
            assert_chain(reader, &workflow, &[nth(&workflow, 2)]).await;
        }
        writer
            .delete(&workflow)
            .await
            .expect("nobody holds the lock");
    }
}

/// A workflow that does not exist can't be deleted, nor deleted twice.
pub async fn c15_delete_of_an_unknown_workflow_says_so<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("never");
    let assert_unknown = |answer: Result<(), StoreError>| match answer {
        Err(StoreError::UnknownWorkflow { workflow: unknown }) => assert_eq!(unknown, workflow),
        other => panic!("an unknown workflow can't be deleted, not {other:?}"),
    };
    assert_unknown(store.delete(&workflow).await);
    append(&store, &nth(&workflow, 1)).await;
    store
        .delete(&workflow)
        .await
        .expect("nobody holds the lock");
    assert_unknown(store.delete(&workflow).await);
    assert!(store.list().await.expect("a list").is_empty());
}
