//! Cases of atomicity: an append leaves a whole row, a refusal leaves nothing (C4).

use piton_ledger::{ChainHead, Sequence, VulnState};
use piton_store::{
    AppendLock, CheckpointStore, ExpectedHead, Repin, StoreError, Tail, WorkflowCatalog,
};

use crate::harness::{Harness, Settings};
use crate::history::{event, first, nth, nth_with, sealed, workflow};
use crate::observe::{append, append_all, assert_chain, heads, look};

/// Two boundary moves leave exactly two rows.
pub async fn c04_two_moves_leave_two_rows<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("two-moves");
    let moves = [
        (VulnState::NeedsPlan, VulnState::PlanReady),
        (VulnState::PlanReady, VulnState::PatchApplied),
    ];
    let events: Vec<_> = (1..)
        .zip(moves)
        .map(|(n, (prior, next))| sealed(&event(&workflow, n, prior, next, "null")))
        .collect();
    append_all(&store, &events).await;
    assert_eq!(look(&store, &workflow).await.rows.len(), 2);
    assert_chain(&store, &workflow, &events).await;
}

/// An append with a stale head leaves rows, tail and pin as they were.
pub async fn c04_stale_append_changes_nothing<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("refused-stale");
    let events = first(&workflow, 3);
    append_all(&store, &events).await;
    let before = look(&store, &workflow).await;
    for stale in [ChainHead::GENESIS, heads(&events)[1]] {
        let refused = store
            .append(&nth(&workflow, 4), ExpectedHead::Exactly(stale))
            .await;
        assert!(
            matches!(refused, Err(StoreError::StaleHead { .. })),
            "{refused:?}"
        );
        assert_eq!(look(&store, &workflow).await, before);
    }
    assert_chain(&store, &workflow, &events).await;
}

/// An append that reuses an id for other bytes leaves rows, tail and pin as they were.
pub async fn c04_conflicting_append_changes_nothing<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("refused-conflict");
    let events = first(&workflow, 3);
    append_all(&store, &events).await;
    let before = look(&store, &workflow).await;
    for n in 1..=3 {
        let refused = store
            .append(&nth_with(&workflow, n, r#""other""#), ExpectedHead::Any)
            .await;
        assert!(
            matches!(refused, Err(StoreError::TransitionConflict { .. })),
            "{refused:?}"
        );
        assert_eq!(look(&store, &workflow).await, before);
    }
    assert_chain(&store, &workflow, &events).await;
}

/// An append to rows that contradict the pin leaves rows, tail and pin as they were.
pub async fn c04_append_against_the_pin_changes_nothing<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("refused-pin");
    let events = first(&workflow, 3);
    append_all(&store, &events).await;
    let mut lock = store.lock(&workflow).await.expect("the lock is free");
    let beyond = Tail::At {
        sequence: Sequence::try_from(4u64).expect("from 1"),
        head: ChainHead::from_bytes([7; 32]),
    };
    lock.repin(beyond).await.expect("a pin can be replaced");
    lock.release().await.expect("a lock can be released");
    let before = look(&store, &workflow).await;
    assert_eq!(before.pin, Some(beyond));
    let refused = store.append(&nth(&workflow, 4), ExpectedHead::Any).await;
    assert!(
        matches!(refused, Err(StoreError::PinContradicted { .. })),
        "{refused:?}"
    );
    assert_eq!(look(&store, &workflow).await, before);
}

/// A lock refuses an event of another workflow, and neither workflow changes.
pub async fn c04_append_to_the_wrong_workflow_changes_nothing<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let [owned, other] = ["owned", "other"].map(workflow);
    append_all(&store, &first(&owned, 2)).await;
    append_all(&store, &first(&other, 1)).await;
    let mut lock = store.lock(&owned).await.expect("the lock is free");
    let refused = lock.append(&nth(&other, 3), ExpectedHead::Any).await;
    match refused {
        Err(StoreError::WrongWorkflow {
            workflow,
            event_workflow,
        }) => assert_eq!((workflow, event_workflow), (owned.clone(), other.clone())),
        answer => panic!("an event of another workflow was not refused: {answer:?}"),
    }
    lock.release().await.expect("a lock can be released");
    assert_chain(&store, &owned, &first(&owned, 2)).await;
    assert_chain(&store, &other, &first(&other, 1)).await;
}

/// A workflow whose very first append is refused is an empty chain that can still begin.
pub async fn c04_refused_first_append_leaves_an_empty_chain<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("refused-first");
    let unknown = ExpectedHead::Exactly(ChainHead::from_bytes([9; 32]));
    let refused = store.append(&nth(&workflow, 1), unknown).await;
    assert!(
        matches!(refused, Err(StoreError::StaleHead { .. })),
        "{refused:?}"
    );
    let seen = look(&store, &workflow).await;
    assert!(seen.rows.is_empty());
    assert_eq!(seen.tail, ChainHead::GENESIS);
    assert!(matches!(seen.pin, None | Some(Tail::Empty)), "{seen:?}");
    append(&store, &nth(&workflow, 1)).await;
    assert_chain(&store, &workflow, &first(&workflow, 1)).await;
}

/// Statistics count the rows that reads give, and show the last one.
pub async fn c04_stats_count_whole_rows<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("counted");
    let empty = store.stats(&workflow).await.expect("statistics");
    assert_eq!(empty.workflow_id, workflow);
    assert_eq!((empty.rows, &empty.last_row), (0, &None));
    assert_eq!(empty.first_written_at, None);
    assert_eq!(empty.latest_state::<VulnState>(), None);
    let events: Vec<_> = crate::history::clean_completion(&workflow)
        .iter()
        .map(sealed)
        .collect();
    append_all(&store, &events).await;
    let rows = look(&store, &workflow).await.rows;
    let stats = store.stats(&workflow).await.expect("statistics");
    assert_eq!(stats.rows, 3);
    assert_eq!(stats.last_row.as_ref(), rows.last());
    assert_eq!(
        stats.first_written_at.as_deref(),
        rows[0].written_at.as_text()
    );
    assert_eq!(
        stats.latest_state::<VulnState>(),
        Some(VulnState::Completed)
    );
}
