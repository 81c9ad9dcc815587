//! Cases of order, linking and visibility: what was appended is there, in that order (C1 to C3).

use piton_store::CheckpointStore;

use crate::harness::{Harness, Settings};
use crate::history::{first, nth, sealed, workflow};
use crate::observe::{append, append_all, assert_chain, heads, look};

/// Sequences run 1, 2, 3 … and every answer carries the sequence of its row.
pub async fn c01_sequences_are_dense<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("dense");
    let events = first(&workflow, 6);
    let acknowledged = append_all(&store, &events).await;
    let sequences: Vec<u64> = acknowledged
        .iter()
        .map(|answer| answer.sequence.to_u64())
        .collect();
    assert_eq!(sequences, [1, 2, 3, 4, 5, 6]);
    assert_chain(&store, &workflow, &events).await;
}

/// Rows come in the order in which they were appended though their ids descend.
pub async fn c01_order_is_append_order_whatever_the_ids<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("descending");
    let mut events = first(&workflow, 9);
    events.reverse();
    events.swap(2, 5);
    append_all(&store, &events).await;
    assert_chain(&store, &workflow, &events).await;
}

/// A chain of more rows than any batch of a read holds comes whole and in order.
pub async fn c01_long_chains_stay_in_order<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("long");
    let events = first(&workflow, 600);
    append_all(&store, &events).await;
    assert_chain(&store, &workflow, &events).await;
}

/// Each answered head is the link of the head before it and the sealed bytes.
pub async fn c02_heads_are_the_fold_of_the_bytes<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("folded");
    let events = first(&workflow, 4);
    let mut answered = Vec::new();
    for event in &events {
        answered.push(append(&store, event).await.head);
    }
    assert_eq!(answered, heads(&events));
    assert_chain(&store, &workflow, &events).await;
}

/// Workflows that are written in turns, through one handle, never share a chain.
pub async fn c02_interleaved_workflows_stay_apart<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflows = ["left", "right", "middle"].map(workflow);
    for n in 1..=4 {
        for workflow in &workflows {
            append(&store, &nth(workflow, n)).await;
        }
    }
    for workflow in &workflows {
        assert_chain(&store, workflow, &first(workflow, 4)).await;
    }
}

/// The known histories are found intact, the one whose rows do not connect among them.
pub async fn c02_known_histories_verify<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let clean = workflow("clean");
    let retried = workflow("retried");
    for (workflow, history) in [
        (&clean, crate::history::clean_completion(&clean)),
        (&retried, crate::history::retry_then_recovery(&retried)),
    ] {
        let events: Vec<_> = history.iter().map(sealed).collect();
        append_all(&store, &events).await;
        assert_chain(&store, workflow, &events).await;
    }
}

/// Rows are there for a handle that is opened after the writing one is gone.
pub async fn c03_acknowledged_rows_outlive_the_handle<H: Harness>() {
    let harness = H::start().await;
    let workflow = workflow("outlives");
    let events = first(&workflow, 3);
    for event in &events {
        let store = harness.open(Settings::default()).await;
        append(&store, event).await;
        drop(store);
    }
    let store = harness.open(Settings::default()).await;
    assert_chain(&store, &workflow, &events).await;
}

/// Rows are there after every handle was closed.
pub async fn c03_acknowledged_rows_outlive_a_close<H: Harness>() {
    let harness = H::start().await;
    let workflow = workflow("outlives-close");
    let events = first(&workflow, 3);
    for event in &events {
        let store = harness.open(Settings::default()).await;
        append(&store, event).await;
        store.close().await.expect("a store can be closed");
    }
    let store = harness.open(Settings::default()).await;
    assert_chain(&store, &workflow, &events).await;
}

/// An acknowledged row is at once there for a handle that was open, and used, before.
pub async fn c03_other_handles_see_an_acknowledged_row<H: Harness>() {
    let harness = H::start().await;
    let writer = harness.open(Settings::default()).await;
    let reader = harness.open(Settings::default()).await;
    let workflow = workflow("seen");
    let events = first(&workflow, 4);
    assert!(look(&reader, &workflow).await.rows.is_empty());
    for count in 1..=events.len() {
        append(&writer, &events[count - 1]).await;
        assert_chain(&reader, &workflow, &events[..count]).await;
    }
}
