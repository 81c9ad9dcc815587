//! Cases of cancellation: a future that is dropped half way leaves a usable store (C12).

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use piton_store::{
    AppendLock, CheckpointStore, CheckpointStoreExt, ExpectedHead, PersistedChain, WorkflowCatalog,
};

use crate::harness::{Harness, Settings};
use crate::history::{first, nth, workflow};
use crate::observe::{append, append_all, assert_chain};

/// The greatest number of polls before a future is dropped.
const MOST_POLLS: u32 = 30;

/// Polls a future once; none while it is pending.
pub(crate) async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Polls a future so many times, each time after it asked for it, and drops it where it stands.
pub(crate) async fn poll_and_drop<F: Future>(future: F, polls: u32) {
    let mut future = Box::pin(future);
    let mut left = polls;
    std::future::poll_fn(|context| {
        let Some(rest) = left.checked_sub(1) else {
            return Poll::Ready(());
        };
        left = rest;
        match future.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(()),
            Poll::Pending if left == 0 => Poll::Ready(()),
            Poll::Pending => Poll::Pending,
        }
    })
    .await;
}

/// Polls a future that may never ask for it so many times, lets others run in between, and drops
/// it.
async fn poll_unasked_and_drop<F: Future>(future: F, polls: u32) {
    let mut future = Box::pin(future);
    for _ in 0..polls {
        if poll_once(future.as_mut()).await.is_some() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// An append that is dropped after any number of polls has happened or has not; the next append
/// finds the store usable, and a retry gives one row.
pub async fn c12_dropped_append_happened_or_did_not<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("cut");
    for polls in 0..=MOST_POLLS {
        let event = nth(&workflow, polls + 1);
        poll_and_drop(store.append(&event, ExpectedHead::Any), polls).await;
        append(&store, &event).await;
        assert_chain(&store, &workflow, &first(&workflow, polls + 1)).await;
    }
}

/// The same for an append under a lock that is dropped with it.
pub async fn c12_dropped_append_under_a_lock_happened_or_did_not<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("cut-under-lock");
    for polls in 0..=MOST_POLLS {
        let event = nth(&workflow, polls + 1);
        let mut lock = store.lock(&workflow).await.expect("the lock is free");
        poll_and_drop(lock.append(&event, ExpectedHead::Any), polls).await;
        drop(lock);
        let rows = store.collect_rows(&workflow).await.expect("rows").len();
        let before = usize::try_from(polls).expect("a small number");
        assert!((before..=before + 1).contains(&rows), "{rows} rows");
        append(&store, &event).await;
        assert_chain(&store, &workflow, &first(&workflow, polls + 1)).await;
    }
}

/// A wait for the lock that is dropped leaves nobody owning it.
pub async fn c12_dropped_lock_holds_nothing<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let other = harness.open(Settings::default()).await;
    let workflow = workflow("cut-wait");
    for polls in 0..=MOST_POLLS {
        poll_and_drop(store.lock(&workflow), polls).await;
        let holder = other.lock(&workflow).await.expect("nobody owns it");
        poll_unasked_and_drop(store.lock(&workflow), polls).await;
        holder.release().await.expect("a lock can be released");
        append(&store, &nth(&workflow, polls + 1)).await;
    }
    assert_chain(&other, &workflow, &first(&workflow, MOST_POLLS + 1)).await;
}

/// Reads that are dropped half way, more of them than any pool holds, stand in nobody's way.
pub async fn c12_dropped_reads_hold_nothing<H: Harness>() {
    const READS: u32 = 100;
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("cut-read");
    let events = first(&workflow, 300);
    append_all(&store, &events).await;
    for polls in 0..READS {
        poll_and_drop(store.iter_persisted_chain(&workflow), polls % 5).await;
        let mut chain = store.iter_persisted_chain(&workflow).await.expect("rows");
        if polls % 2 == 0 {
            assert!(!chain.next_rows().await.expect("rows").is_empty());
        }
        poll_and_drop(chain.next_rows(), polls % 7).await;
    }
    append(&store, &nth(&workflow, 301)).await;
    assert_chain(&store, &workflow, &first(&workflow, 301)).await;
    store.delete(&workflow).await.expect("no read holds it");
    assert_chain(&store, &workflow, &[]).await;
}
