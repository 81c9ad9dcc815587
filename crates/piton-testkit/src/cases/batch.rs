//! Cases of batches: many events by one commit, all or none, each judged as a single one is.

use piton_ledger::{ChainHead, TransitionId, WorkflowId};
use piton_store::{
    AppendBatch, AppendLock, AppendStatus, Appended, Batch, CheckpointStore, ExpectedHead,
    MAX_BATCH_EVENTS, Repin, SealedEvent, StoreError, Tail,
};

use super::cancel::poll_and_drop;
use crate::harness::{Harness, Settings};
use crate::history::{first, nth, nth_with, workflow};
use crate::observe::{append, append_all, assert_chain, heads, look, tail_of};

fn batch(events: &[SealedEvent]) -> Batch {
    Batch::new(events).expect("events of one workflow, none twice")
}

async fn try_batch<S>(
    store: &S,
    of: &WorkflowId,
    events: &[SealedEvent],
    expected: ExpectedHead,
) -> Result<Vec<Appended>, StoreError>
where
    S: CheckpointStore<Lock: AppendBatch>,
{
    let mut lock = store.lock(of).await.expect("the lock is free");
    let answer = lock.append_batch(&batch(events), expected).await;
    lock.release().await.expect("a lock can be released");
    answer
}

async fn append_batch<S>(store: &S, of: &WorkflowId, events: &[SealedEvent]) -> Vec<Appended>
where
    S: CheckpointStore<Lock: AppendBatch>,
{
    let answer = try_batch(store, of, events, ExpectedHead::Any).await;
    answer.expect("a batch on an intact chain succeeds")
}

/// The rows of a batch follow each other and the tail as if they had been appended one by one,
/// whatever the order of their ids, and single appends follow them.
pub async fn c02_batch_is_chained_in_its_order<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let other = harness.open(Settings::default()).await;
    let (batched, single) = (workflow("batched"), workflow("one-by-one"));
    let in_order = |of: &WorkflowId| {
        let mut events = first(of, 12);
        events.get_mut(2..9).expect("twelve events").reverse();
        events
    };
    let events = in_order(&batched);
    // On an empty chain, with one event, after a tail that another handle wrote, and again.
    let mut answers = append_batch(&store, &batched, &events[..3]).await;
    answers.extend(append_batch(&store, &batched, &events[3..4]).await);
    answers.push(append(&other, &events[4]).await);
    answers.extend(append_batch(&store, &batched, &events[5..9]).await);
    answers.extend(append_batch(&store, &batched, &events[9..11]).await);
    answers.push(append(&store, &events[11]).await);
    let singly = append_all(&store, &in_order(&single)).await;
    assert_eq!(answers.len(), singly.len());
    for (position, (answer, head)) in answers.iter().zip(heads(&events)).enumerate() {
        assert_eq!(answer.sequence, singly[position].sequence);
        assert_eq!(answer.head, head);
        assert_eq!(answer.status, AppendStatus::Appended);
    }
    assert_chain(&other, &batched, &events).await;
}

/// The largest batch is one chain.
pub async fn c02_largest_batch_is_one_chain<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("largest-batch");
    let count = u32::try_from(MAX_BATCH_EVENTS).expect("small");
    let events = first(&workflow, count);
    let answers = append_batch(&store, &workflow, &events).await;
    assert_eq!(answers.len(), MAX_BATCH_EVENTS);
    assert_chain(&store, &workflow, &events).await;
}

/// A batch that is acknowledged is there for every handle, opened before or after.
pub async fn c03_acknowledged_batch_outlives_the_handle<H: Harness>() {
    let harness = H::start().await;
    let workflow = workflow("batch-kept");
    let events = first(&workflow, 4);
    let reader = harness.open(Settings::default()).await;
    let writer = harness.open(Settings::default()).await;
    append_batch(&writer, &workflow, &events).await;
    drop(writer);
    assert_chain(&reader, &workflow, &events).await;
    assert_chain(&harness.open(Settings::default()).await, &workflow, &events).await;
}

/// A batch that is refused for any of its events, or for the pin, leaves rows, tail and pin as
/// they were.
pub async fn c04_refused_batch_changes_nothing<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("batch-refused");
    let events = first(&workflow, 3);
    append_all(&store, &events).await;
    let before = look(&store, &workflow).await;
    let new = |n| nth(&workflow, n);
    let conflicting = nth_with(&workflow, 2, r#"{"other":true}"#);
    let conflicts: TransitionId = conflicting.transition_id();
    for mixed in [
        vec![new(4), new(5), conflicting.clone()],
        vec![new(4), conflicting.clone(), new(5)],
        vec![conflicting, new(4)],
    ] {
        // A conflict outranks a stale head, whichever event comes first.
        for expected in [ExpectedHead::Any, ExpectedHead::Exactly(ChainHead::GENESIS)] {
            match try_batch(&store, &workflow, &mixed, expected).await {
                Err(StoreError::TransitionConflict { transition_id, .. }) => {
                    assert_eq!(transition_id, conflicts);
                }
                other => panic!("another content is a conflict, not {other:?}"),
            }
            assert_eq!(look(&store, &workflow).await, before);
        }
    }
    let stale = ExpectedHead::Exactly(ChainHead::from_bytes([9; 32]));
    let refused = try_batch(&store, &workflow, &[new(4), new(5)], stale).await;
    assert!(matches!(refused, Err(StoreError::StaleHead { .. })));
    assert_eq!(look(&store, &workflow).await, before);

    let foreign = first(&crate::history::workflow("batch-foreign"), 2);
    let refused = try_batch(&store, &workflow, &foreign, ExpectedHead::Any).await;
    assert!(matches!(refused, Err(StoreError::WrongWorkflow { .. })));
    assert_eq!(look(&store, &workflow).await, before);

    // A pin that lags may be moved by what is acknowledged, and by nothing else.
    let mut lock = store.lock(&workflow).await.expect("the lock is free");
    let lagging = tail_of(&events[..1]);
    lock.repin(lagging).await.expect("a pin can be replaced");
    lock.release().await.expect("a lock can be released");
    let before = look(&store, &workflow).await;
    let refused = [
        events[2].clone(),
        nth_with(&workflow, 2, r#"{"other":true}"#),
    ];
    let refused = try_batch(&store, &workflow, &refused, ExpectedHead::Any).await;
    assert!(matches!(
        refused,
        Err(StoreError::TransitionConflict { .. })
    ));
    assert_eq!(look(&store, &workflow).await, before);

    let mut lock = store.lock(&workflow).await.expect("the lock is free");
    let false_pin = Tail::At {
        sequence: before.rows.len().try_into().map_or_else(
            |_| panic!("few rows"),
            |rows: u64| rows.try_into().expect("from 1"),
        ),
        head: ChainHead::from_bytes([7; 32]),
    };
    lock.repin(false_pin).await.expect("a pin can be replaced");
    lock.release().await.expect("a lock can be released");
    let before = look(&store, &workflow).await;
    for batch in [vec![new(4), new(5)], vec![new(1), new(2)]] {
        let refused = try_batch(&store, &workflow, &batch, ExpectedHead::Any).await;
        assert!(matches!(refused, Err(StoreError::PinContradicted { .. })));
        assert_eq!(look(&store, &workflow).await, before);
    }
}

/// A batch is held against the tail that its first new event follows.
pub async fn c06_batch_is_held_against_the_tail<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("batch-fenced");
    let events = first(&workflow, 6);
    let heads = heads(&events);
    let genesis = ExpectedHead::Exactly(ChainHead::GENESIS);
    try_batch(&store, &workflow, &events[..2], genesis)
        .await
        .expect("an empty chain stands at genesis");
    for stale in [ChainHead::GENESIS, heads[0]] {
        let expected = ExpectedHead::Exactly(stale);
        match try_batch(&store, &workflow, &events[2..4], expected).await {
            Err(StoreError::StaleHead {
                expected, actual, ..
            }) => assert_eq!((expected, actual), (stale, heads[1])),
            other => panic!("a moved tail refuses, not {other:?}"),
        }
    }
    let right = ExpectedHead::Exactly(heads[1]);
    try_batch(&store, &workflow, &events[2..6], right)
        .await
        .expect("the tail is the expected one");
    assert_chain(&store, &workflow, &events).await;
}

/// Events of a batch that are there already keep their places, and the new ones follow the tail:
/// a retry of a batch, or of a longer one, is safe.
pub async fn c07_batch_retry_gives_the_first_answers<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let other = harness.open(Settings::default()).await;
    let workflow = workflow("batch-retried");
    let events = first(&workflow, 8);
    let answers = append_batch(&store, &workflow, &events[..4]).await;
    let places = |answers: &[Appended]| -> Vec<_> {
        let place = |answer: &Appended| (answer.sequence, answer.head);
        answers.iter().map(place).collect()
    };
    for (store, stale) in [(&store, ChainHead::GENESIS), (&other, heads(&events)[1])] {
        for expected in [ExpectedHead::Any, ExpectedHead::Exactly(stale)] {
            let again = try_batch(store, &workflow, &events[..4], expected).await;
            let again = again.expect("a retry is safe");
            assert_eq!(places(&again), places(&answers));
            let status = |answer: &Appended| answer.status == AppendStatus::AlreadyPresent;
            assert!(again.iter().all(status));
        }
    }
    // Old and new events in turn: the new ones are chained in their order.
    let mixed: Vec<_> = [4, 1, 5, 0, 6].map(|at: usize| events[at].clone()).into();
    let tail = ExpectedHead::Exactly(answers[3].head);
    let answers = try_batch(&other, &workflow, &mixed, tail).await;
    let found: Vec<_> = answers
        .expect("a longer retry is safe")
        .iter()
        .map(|answer| (answer.sequence.to_u64(), answer.status))
        .collect();
    let (old, new) = (AppendStatus::AlreadyPresent, AppendStatus::Appended);
    assert_eq!(found, [(5, new), (2, old), (6, new), (1, old), (7, new)]);
    append(&store, &events[7]).await;
    assert_chain(&store, &workflow, &events).await;
}

/// A batch that is dropped after any number of polls is there as a whole or not at all, and its
/// retry leaves each event once.
pub async fn c12_dropped_batch_happened_or_did_not<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("batch-cut");
    let mut count = 0;
    for polls in 0..=20 {
        let new = [nth(&workflow, count + 1), nth(&workflow, count + 2)];
        let mut lock = store.lock(&workflow).await.expect("the lock is free");
        let parts = batch(&new);
        poll_and_drop(lock.append_batch(&parts, ExpectedHead::Any), polls).await;
        drop(lock);
        let rows = look(&store, &workflow).await.rows.len();
        let before = usize::try_from(count).expect("small");
        assert!(rows == before || rows == before + 2, "half a batch: {rows}");
        append_batch(&store, &workflow, &new).await;
        count += 2;
        assert_chain(&store, &workflow, &first(&workflow, count)).await;
    }
}
