//! Cases of the expected head: a writer that has been overtaken writes nothing (C6).

use std::sync::Arc;

use piton_ledger::{ChainHead, VulnState, WorkflowId};
use piton_store::{
    AppendStatus, Appended, CheckpointStore, CheckpointStoreExt, ExpectedHead, StoreError,
};

use crate::harness::{Harness, Settings};
use crate::history::{event_after, first, nth, sealed, workflow};
use crate::observe::{append, append_all, assert_chain, assert_verified, heads};

/// Demands that an answer is `StaleHead` with exactly this evidence.
fn assert_stale(
    answer: Result<Appended, StoreError>,
    of: &WorkflowId,
    expected_head: ChainHead,
    actual_head: ChainHead,
) {
    match answer {
        Err(StoreError::StaleHead {
            workflow,
            expected,
            actual,
        }) => {
            assert_eq!(&workflow, of);
            assert_eq!(expected, expected_head);
            assert_eq!(actual, actual_head);
        }
        other => panic!("a moved tail refuses the append, not {other:?}"),
    }
}

/// An append that names the tail is accepted, from genesis on.
pub async fn c06_right_head_is_accepted<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("right-head");
    let events = first(&workflow, 4);
    let mut tail = ChainHead::GENESIS;
    for event in &events {
        let answer = store
            .append(event, ExpectedHead::Exactly(tail))
            .await
            .expect("the head is the tail");
        assert_eq!(answer.status, AppendStatus::Appended);
        tail = answer.head;
    }
    assert_chain(&store, &workflow, &events).await;
}

/// A head that was the tail once is refused, whichever handle moved the tail.
pub async fn c06_moved_tail_is_stale<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let other = harness.open(Settings::default()).await;
    let workflow = workflow("moved-tail");
    let events = first(&workflow, 3);
    let heads = heads(&events);
    append_all(&store, &events[..2]).await;
    append(&other, &events[2]).await;
    for writer in [&store, &other] {
        for stale in &heads[..2] {
            let answer = writer
                .append(&nth(&workflow, 4), ExpectedHead::Exactly(*stale))
                .await;
            assert_stale(answer, &workflow, *stale, heads[2]);
        }
    }
    assert_chain(&store, &workflow, &events).await;
}

/// Genesis names an empty chain and no other.
pub async fn c06_genesis_after_the_first_row_is_stale<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("genesis-stale");
    let events = first(&workflow, 1);
    append_all(&store, &events).await;
    let answer = store
        .append(
            &nth(&workflow, 2),
            ExpectedHead::Exactly(ChainHead::GENESIS),
        )
        .await;
    assert_stale(answer, &workflow, ChainHead::GENESIS, heads(&events)[0]);
    assert_chain(&store, &workflow, &events).await;
}

/// An empty chain refuses every head but genesis.
pub async fn c06_foreign_head_on_an_empty_chain_is_stale<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("foreign-head");
    let foreign = ChainHead::from_bytes([3; 32]);
    let answer = store
        .append(&nth(&workflow, 1), ExpectedHead::Exactly(foreign))
        .await;
    assert_stale(answer, &workflow, foreign, ChainHead::GENESIS);
    assert_chain(&store, &workflow, &[]).await;
}

/// The head that an event carries serves as the expectation.
pub async fn c06_own_head_of_the_event_fences<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("own-head");
    let make = |seen, n| {
        sealed(&event_after(
            seen,
            &workflow,
            n,
            VulnState::PlanReady,
            VulnState::PatchApplied,
            "[]",
        ))
    };
    let one = make(ChainHead::GENESIS, 1);
    let head = store.append_fenced(&one).await.expect("genesis").head;
    let zombie = make(ChainHead::GENESIS, 2);
    assert_stale(
        store.append_fenced(&zombie).await,
        &workflow,
        ChainHead::GENESIS,
        head,
    );
    let two = make(head, 3);
    store.append_fenced(&two).await.expect("the tail");
    assert_chain(&store, &workflow, &[one, two]).await;
}

/// Of many writers that hydrated from one head, exactly one goes on.
pub async fn c06_race_from_one_head_has_one_winner<H: Harness>() {
    const RACERS: u32 = 8;
    let harness = H::start().await;
    let store = Arc::new(harness.open(Settings::default()).await);
    let other = Arc::new(harness.open(Settings::default()).await);
    let workflow = workflow("race");
    let start = append(&*store, &nth(&workflow, 0)).await.head;
    let mut racers = Vec::new();
    for n in 1..=RACERS {
        let writer = Arc::clone(if n % 2 == 0 { &store } else { &other });
        let event = nth(&workflow, n);
        racers.push(tokio::spawn(async move {
            writer.append(&event, ExpectedHead::Exactly(start)).await
        }));
    }
    let mut winners = 0;
    for racer in racers {
        match racer.await.expect("a racer does not panic") {
            Ok(_) => winners += 1,
            Err(StoreError::StaleHead { expected, .. }) => assert_eq!(expected, start),
            Err(other) => panic!("a loser is told of the moved tail, not {other:?}"),
        }
    }
    assert_eq!(winners, 1);
    assert_eq!(assert_verified(&*store, &workflow).await, 2);
}
