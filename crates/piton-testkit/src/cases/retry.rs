//! Cases of retries: the same transition with the same bytes is one row, with other bytes a
//! conflict (C7).

use std::sync::Arc;

use piton_ledger::{ChainHead, WorkflowId};
use piton_store::{AppendStatus, Appended, CheckpointStore, ExpectedHead, SealedEvent, StoreError};

use crate::harness::{Harness, Settings};
use crate::history::{first, nth, nth_with, workflow};
use crate::observe::{append, append_all, assert_chain, heads};

/// Demands that every event is answered as it was the first time, whatever head is expected.
async fn assert_retries<S: CheckpointStore>(
    store: &S,
    events: &[SealedEvent],
    answers: &[Appended],
    expected: ExpectedHead,
) {
    for (event, first) in events.iter().zip(answers) {
        let again = store
            .append(event, expected)
            .await
            .expect("a retry is safe");
        assert_eq!(again.status, AppendStatus::AlreadyPresent);
        assert_eq!((again.sequence, again.head), (first.sequence, first.head));
    }
}

/// A retry of the last event gives its sequence and head, and writes nothing.
pub async fn c07_retry_gives_the_first_answer<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let other = harness.open(Settings::default()).await;
    let workflow = workflow("retried-last");
    let event = nth(&workflow, 1);
    let answer = append(&store, &event).await;
    assert_eq!(answer.status, AppendStatus::Appended);
    let events = [event];
    for writer in [&store, &other] {
        assert_retries(writer, &events, &[answer], ExpectedHead::Any).await;
    }
    assert_chain(&store, &workflow, &events).await;
}

/// A retry of an event that others follow gives its own sequence and head, not the tail's.
pub async fn c07_retry_after_other_rows_gives_the_first_answer<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("retried-late");
    let events = first(&workflow, 5);
    let answers = append_all(&store, &events).await;
    assert_retries(&store, &events, &answers, ExpectedHead::Any).await;
    let reopened = harness.open(Settings::default()).await;
    assert_retries(&reopened, &events, &answers, ExpectedHead::Any).await;
    assert_chain(&store, &workflow, &events).await;
}

/// A retry is answered though the head that it expects is stale: that it is stale is the retry's
/// own doing.
pub async fn c07_retry_outranks_a_stale_head<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("retried-stale");
    let events = first(&workflow, 4);
    let answers = append_all(&store, &events).await;
    for stale in [
        ChainHead::GENESIS,
        heads(&events)[1],
        ChainHead::from_bytes([1; 32]),
    ] {
        assert_retries(&store, &events, &answers, ExpectedHead::Exactly(stale)).await;
    }
    assert_chain(&store, &workflow, &events).await;
}

fn assert_conflict(answer: Result<Appended, StoreError>, of: &WorkflowId, event: &SealedEvent) {
    match answer {
        Err(StoreError::TransitionConflict {
            workflow,
            transition_id,
        }) => {
            assert_eq!(&workflow, of);
            assert_eq!(transition_id, event.transition_id());
        }
        other => panic!("other bytes under a used id conflict, not {other:?}"),
    }
}

/// The same id with other bytes is a conflict, for the last row and for earlier ones.
pub async fn c07_other_bytes_conflict<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("conflict");
    let events = first(&workflow, 3);
    append_all(&store, &events).await;
    for n in 1..=3 {
        let other = nth_with(&workflow, n, r#"{"step":0}"#);
        let answer = store.append(&other, ExpectedHead::Any).await;
        assert_conflict(answer, &workflow, &other);
    }
    assert_chain(&store, &workflow, &events).await;
}

/// A conflict is told though the head is stale as well.
pub async fn c07_conflict_outranks_a_stale_head<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("conflict-stale");
    let events = first(&workflow, 3);
    append_all(&store, &events).await;
    let other = nth_with(&workflow, 1, "7");
    let answer = store
        .append(&other, ExpectedHead::Exactly(ChainHead::GENESIS))
        .await;
    assert_conflict(answer, &workflow, &other);
    assert_chain(&store, &workflow, &events).await;
}

/// Transition ids are unique within a workflow, not across workflows.
pub async fn c07_one_id_in_two_workflows_is_two_transitions<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let [left, right] = ["id-left", "id-right"].map(workflow);
    for workflow in [&left, &right] {
        let answer = append(&store, &nth_with(workflow, 1, r#""same""#)).await;
        assert_eq!(answer.status, AppendStatus::Appended);
        assert_eq!(answer.sequence.to_u64(), 1);
    }
    for workflow in [&left, &right] {
        assert_chain(&store, workflow, &[nth_with(workflow, 1, r#""same""#)]).await;
    }
}

/// Many callers that send one event at once leave one row and get one answer; one of them wrote.
pub async fn c07_concurrent_retries_leave_one_row<H: Harness>() {
    let harness = H::start().await;
    let stores = [
        Arc::new(harness.open(Settings::default()).await),
        Arc::new(harness.open(Settings::default()).await),
    ];
    let workflow = workflow("at-once");
    let event = nth(&workflow, 1);
    let mut callers = Vec::new();
    for n in 0..8 {
        let (store, event) = (Arc::clone(&stores[n % 2]), event.clone());
        callers.push(tokio::spawn(async move { append(&*store, &event).await }));
    }
    let mut wrote = 0;
    for caller in callers {
        let answer = caller.await.expect("a caller does not panic");
        assert_eq!(answer.sequence.to_u64(), 1);
        wrote += match answer.status {
            AppendStatus::Appended => 1,
            AppendStatus::AlreadyPresent => 0,
        };
    }
    assert_eq!(wrote, 1);
    assert_chain(&*stores[0], &workflow, &[event]).await;
}
