//! Cases of the note that a store keeps outside the rows (C14).

use std::sync::Arc;

use piton_ledger::{ChainHead, Sequence, VulnState, WorkflowId};
use piton_store::{
    AppendLock, CheckpointStore, CheckpointStoreExt, ExpectedHead, PinFinding, Repin, StoreError,
    Tail,
};

use crate::harness::{Harness, Settings};
use crate::history::{first, nth, nth_with, workflow};
use crate::observe::{append, append_all, assert_chain, heads, look, tail_of};

fn at(sequence: u64, head: ChainHead) -> Tail {
    Tail::At {
        sequence: Sequence::try_from(sequence).expect("from 1"),
        head,
    }
}

async fn set_pin<S>(store: &S, workflow: &WorkflowId, pin: Tail)
where
    S: CheckpointStore<Lock: Repin>,
{
    let mut lock = store.lock(workflow).await.expect("the lock is free");
    lock.repin(pin).await.expect("a pin can be replaced");
    lock.release().await.expect("a lock can be released");
}

fn assert_contradicted<T: std::fmt::Debug>(
    answer: Result<T, StoreError>,
    of: &WorkflowId,
    expected_pin: Tail,
    expected_finding: PinFinding,
) {
    match answer {
        Err(StoreError::PinContradicted {
            workflow,
            pin,
            finding,
        }) => {
            assert_eq!(&workflow, of);
            assert_eq!((pin, finding), (expected_pin, expected_finding));
        }
        other => panic!("rows that contradict the pin refuse to grow, not {other:?}"),
    }
}

/// After each acknowledged append the pin stands at its row, for every handle.
pub async fn c14_pin_follows_each_append<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let other = harness.open(Settings::default()).await;
    let workflow = workflow("pinned");
    let events = first(&workflow, 6);
    for count in 1..=events.len() {
        let writer = if count % 2 == 0 { &store } else { &other };
        append(writer, &events[count - 1]).await;
        for reader in [&store, &other] {
            let pin = reader.pinned_tail(&workflow).await.expect("a pin");
            assert_eq!(pin, Some(tail_of(&events[..count])));
        }
        // A retry and a refusal leave it there.
        append(&store, &events[0]).await;
        let stale = ExpectedHead::Exactly(ChainHead::from_bytes([8; 32]));
        assert!(store.append(&nth(&workflow, 99), stale).await.is_err());
        let pin = store.pinned_tail(&workflow).await.expect("a pin");
        assert_eq!(pin, Some(tail_of(&events[..count])));
    }
}

/// Whoever reads the pin and then the rows finds the pinned row, while others write.
pub async fn c14_pin_never_leads_the_rows<H: Harness>() {
    let harness = H::start().await;
    let writer = Arc::new(harness.open(Settings::default()).await);
    let reader = harness.open(Settings::default()).await;
    let workflow = workflow("never-leads");
    let events = first(&workflow, 60);
    let writing = {
        let (writer, events) = (Arc::clone(&writer), events.clone());
        tokio::spawn(async move { append_all(&*writer, &events).await.len() })
    };
    let heads = heads(&events);
    let mut finished = false;
    while !finished {
        finished = writing.is_finished();
        let pin = reader.pinned_tail(&workflow).await.expect("a pin");
        let rows = reader.collect_rows(&workflow).await.expect("rows");
        if let Some(Tail::At { sequence, head }) = pin {
            let count = usize::try_from(sequence.to_u64()).expect("a small number");
            assert!(rows.len() >= count, "the pin leads the rows");
            assert_eq!(head, heads[count - 1]);
            assert_eq!(rows[count - 1].next_head.to_head(), Some(head));
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(writing.await.expect("the writer does not panic"), 60);
    assert_chain(&reader, &workflow, &events).await;
}

/// Rows that end before the pin refuse to grow and are left alone, an empty chain among them.
pub async fn c14_short_chain_contradicts_the_pin<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let other = harness.open(Settings::default()).await;
    for (id, rows) in [("short", 3), ("short-empty", 0)] {
        let workflow = workflow(id);
        append_all(&store, &first(&workflow, rows)).await;
        let pin = at(u64::from(rows) + 1, ChainHead::from_bytes([2; 32]));
        set_pin(&store, &workflow, pin).await;
        let before = look(&other, &workflow).await;
        assert_eq!(before.pin, Some(pin));
        for writer in [&store, &other] {
            let answer = writer
                .append(&nth(&workflow, rows + 1), ExpectedHead::Any)
                .await;
            assert_contradicted(answer, &workflow, pin, PinFinding::TooShort);
        }
        assert_eq!(look(&store, &workflow).await, before);
    }
}

/// Rows that have another head at the pin refuse to grow and are left alone, whether the pin
/// stands at the tail or before it.
pub async fn c14_other_head_contradicts_the_pin<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("other-head");
    let events = first(&workflow, 4);
    append_all(&store, &events).await;
    // The last head is one that the chain has, elsewhere.
    for pin in [
        at(4, ChainHead::from_bytes([6; 32])),
        at(2, ChainHead::from_bytes([6; 32])),
        at(2, heads(&events)[2]),
    ] {
        set_pin(&store, &workflow, pin).await;
        let before = look(&store, &workflow).await;
        let answer = store.append(&nth(&workflow, 5), ExpectedHead::Any).await;
        assert_contradicted(answer, &workflow, pin, PinFinding::DifferentHead);
        assert_eq!(look(&store, &workflow).await, before);
    }
}

/// A contradicted pin is told before a retry is answered, and before any other refusal.
pub async fn c14_pin_outranks_retry_conflict_and_stale_head<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("pin-first");
    let events = first(&workflow, 3);
    append_all(&store, &events).await;
    let pin = at(5, ChainHead::from_bytes([2; 32]));
    set_pin(&store, &workflow, pin).await;
    let before = look(&store, &workflow).await;
    let stale = ExpectedHead::Exactly(ChainHead::GENESIS);
    for (event, expected) in [
        (events[2].clone(), ExpectedHead::Any),
        (events[0].clone(), stale),
        (nth_with(&workflow, 2, "0"), ExpectedHead::Any),
        (nth(&workflow, 4), stale),
    ] {
        let answer = store.append(&event, expected).await;
        assert_contradicted(answer, &workflow, pin, PinFinding::TooShort);
        assert_eq!(look(&store, &workflow).await, before);
    }
}

/// A pin that lags the rows, as a crash between the two leaves it, contradicts nothing: the chain
/// grows, and the pin follows.
pub async fn c14_lagging_pin_contradicts_nothing<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let other = harness.open(Settings::default()).await;
    let workflow = workflow("lagging");
    let mut events = first(&workflow, 4);
    append_all(&store, &events).await;
    for (n, old) in (5..).zip([tail_of(&events[..3]), tail_of(&events[..1]), Tail::Empty]) {
        set_pin(&store, &workflow, old).await;
        append(&store, &events[1]).await;
        let event = nth(&workflow, n);
        append(&other, &event).await;
        events.push(event);
        assert_chain(&store, &workflow, &events).await;
    }
}

/// An operator who accepts the tail of an intact chain makes it writable again; nothing else is
/// accepted.
pub async fn c14_accepted_tail_may_grow_again<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("accepted");
    let events = first(&workflow, 3);
    append_all(&store, &events).await;
    let lost = at(7, ChainHead::from_bytes([2; 32]));
    set_pin(&store, &workflow, lost).await;
    for refused in [lost, tail_of(&events[..2]), Tail::Empty] {
        let answer = piton_verify::repin::<VulnState, _>(&store, &workflow, refused).await;
        assert!(answer.is_err(), "{refused} is not the tail");
        assert_eq!(look(&store, &workflow).await.pin, Some(lost));
    }
    piton_verify::repin::<VulnState, _>(&store, &workflow, tail_of(&events))
        .await
        .expect("this is the tail");
    assert_chain(&store, &workflow, &events).await;
    let other = harness.open(Settings::default()).await;
    append(&other, &nth(&workflow, 4)).await;
    assert_chain(&store, &workflow, &first(&workflow, 4)).await;
}
