//! Owns what a case can see of a workflow, and the assertions that most cases share. It writes
//! through the port alone.

use piton_chain::link;
use piton_ledger::{ChainHead, Sequence, VulnState, WorkflowId};
use piton_store::{
    Appended, CheckpointStore, CheckpointStoreExt, ExpectedHead, PersistedRow, SealedEvent, Tail,
};
use piton_verify::{ReplayVerdict, ReplayVerifier};

/// Everything that the port shows of one workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The raw rows.
    pub rows: Vec<PersistedRow>,
    /// The persisted head of the tail.
    pub tail: ChainHead,
    /// What is noted outside the rows.
    pub pin: Option<Tail>,
}

/// Looks at a workflow.
pub async fn look<S: CheckpointStore>(store: &S, workflow: &WorkflowId) -> Seen {
    Seen {
        rows: store
            .collect_rows(workflow)
            .await
            .expect("the rows can be read"),
        tail: store
            .tail_chain_head(workflow)
            .await
            .expect("the tail can be read"),
        pin: store
            .pinned_tail(workflow)
            .await
            .expect("the pin can be read"),
    }
}

/// Appends one event after whatever the tail is.
pub async fn append<S: CheckpointStore>(store: &S, event: &SealedEvent) -> Appended {
    store
        .append(event, ExpectedHead::Any)
        .await
        .expect("an append to an intact chain succeeds")
}

/// Appends events in order.
pub async fn append_all<S: CheckpointStore>(store: &S, events: &[SealedEvent]) -> Vec<Appended> {
    let mut acknowledged = Vec::new();
    for event in events {
        acknowledged.push(append(store, event).await);
    }
    acknowledged
}

/// Gives the heads that events must have, one after the other from genesis.
pub fn heads(events: &[SealedEvent]) -> Vec<ChainHead> {
    let mut head = ChainHead::GENESIS;
    events
        .iter()
        .map(|event| {
            head = link(&head, event.bytes());
            head
        })
        .collect()
}

/// Gives the tail of a chain of these events.
pub fn tail_of(events: &[SealedEvent]) -> Tail {
    let count = u64::try_from(events.len()).expect("a case counts within 64 bits");
    match (Sequence::try_from(count), heads(events).last()) {
        (Ok(sequence), Some(head)) => Tail::At {
            sequence,
            head: *head,
        },
        _ => Tail::Empty,
    }
}

/// Demands that a workflow holds exactly these events as one linear chain, that its tail and pin
/// are those of the last one, and that the verifier agrees.
pub async fn assert_chain<S: CheckpointStore>(
    store: &S,
    workflow: &WorkflowId,
    events: &[SealedEvent],
) {
    let seen = look(store, workflow).await;
    assert_eq!(
        seen.rows.len(),
        events.len(),
        "one row for each acknowledged event, and no other"
    );
    let mut prior = ChainHead::GENESIS;
    for ((position, row), event) in (1i64..).zip(&seen.rows).zip(events) {
        let next = link(&prior, event.bytes());
        assert_eq!(row.sequence, position, "sequences are dense from 1");
        assert!(
            row.event_bytes.as_deref() == Some(event.bytes()),
            "row {position} holds the sealed bytes of the event appended there"
        );
        assert_eq!(
            row.transition_id.to_transition_id(),
            Some(event.transition_id()),
            "row {position} holds the id of the event appended there"
        );
        assert_eq!(
            row.prior_head.to_head(),
            Some(prior),
            "row {position} follows the head before it"
        );
        assert_eq!(
            row.next_head.to_head(),
            Some(next),
            "row {position} links to the head before it"
        );
        prior = next;
    }
    assert_eq!(seen.tail, prior, "the tail is the head of the last row");
    if !events.is_empty() {
        assert_eq!(
            seen.pin,
            Some(tail_of(events)),
            "the pin stands at the last acknowledged row"
        );
    }
    assert_verified(store, workflow).await;
}

/// Demands that the verifier finds a workflow intact, or empty; gives the number of its events.
pub async fn assert_verified<S: CheckpointStore>(store: &S, workflow: &WorkflowId) -> usize {
    let verdict = ReplayVerifier::new(store)
        .verify::<VulnState>(workflow)
        .await
        .expect("the chain can be checked");
    match verdict {
        ReplayVerdict::Verified { events, .. } => events.len(),
        ReplayVerdict::EmptyWorkflow { .. } => 0,
        ReplayVerdict::ChainMismatch(mismatch) => {
            panic!("the chain is not intact: {mismatch:?}")
        }
        ReplayVerdict::TornWrite(torn) => panic!("the chain is not intact: {torn:?}"),
    }
}
