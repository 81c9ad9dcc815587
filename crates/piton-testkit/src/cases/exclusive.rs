//! Cases of exclusive append ownership, between handles as between processes (C5).

use std::sync::Arc;
use std::time::Duration;

use piton_ledger::WorkflowId;
use piton_store::{
    AppendLock, AppendStatus, CheckpointStore, CheckpointStoreExt, ExpectedHead, StoreError, Tail,
    WorkflowCatalog,
};

use crate::cases::cancel::poll_once;
use crate::harness::{Harness, Settings};
use crate::history::{first, nth, workflow};
use crate::observe::{append, append_all, assert_chain, assert_verified, look, tail_of};

/// Demands that an answer is `Busy` for this workflow after about the impatient time-out.
fn assert_busy<T>(answer: Result<T, StoreError>, expected: &WorkflowId) {
    match answer {
        Err(StoreError::Busy { workflow, waited }) => {
            assert_eq!(&workflow, expected);
            assert!(
                waited >= Settings::impatient().busy_timeout / 2,
                "{waited:?}"
            );
            assert!(waited < Duration::from_secs(10), "{waited:?}");
        }
        Err(other) => panic!("a contended lock gives Busy, not {other:?}"),
        Ok(_) => panic!("two handles own one workflow"),
    }
}

/// While one handle holds the lock, another gives up with `Busy` after its time-out.
pub async fn c05_lock_excludes_other_handles<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let impatient = harness.open(Settings::impatient()).await;
    let workflow = workflow("contended");
    let holder = store.lock(&workflow).await.expect("the lock is free");
    assert_busy(impatient.lock(&workflow).await, &workflow);
    assert_eq!(holder.workflow_id(), &workflow);
    drop(holder);
}

/// While one handle holds the lock, an append of another is `Busy` and writes nothing.
pub async fn c05_append_of_another_handle_is_busy<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let impatient = harness.open(Settings::impatient()).await;
    let workflow = workflow("held");
    let events = first(&workflow, 2);
    append_all(&store, &events).await;
    let holder = store.lock(&workflow).await.expect("the lock is free");
    let refused = impatient
        .append(&nth(&workflow, 3), ExpectedHead::Any)
        .await;
    assert_busy(refused, &workflow);
    assert_chain(&impatient, &workflow, &events).await;
    drop(holder);
    assert_chain(&store, &workflow, &events).await;
}

/// A dropped guard frees the workflow.
pub async fn c05_dropping_the_lock_releases_it<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let other = harness.open(Settings::default()).await;
    let workflow = workflow("dropped");
    for n in 1..=3 {
        let holder = store.lock(&workflow).await.expect("the lock is free");
        drop(holder);
        append(&other, &nth(&workflow, n)).await;
    }
    assert_chain(&store, &workflow, &first(&workflow, 3)).await;
}

/// A released guard frees the workflow at once, even for the most impatient.
pub async fn c05_releasing_the_lock_releases_it<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let other = harness.open(Settings::default()).await;
    let workflow = workflow("released");
    for n in 1..=3 {
        let mut holder = store.lock(&workflow).await.expect("the lock is free");
        holder
            .append(&nth(&workflow, n), ExpectedHead::Any)
            .await
            .expect("the holder may append");
        holder.release().await.expect("a lock can be released");
        let holder = other.lock(&workflow).await.expect("the lock is free again");
        holder.release().await.expect("a lock can be released");
    }
    assert_chain(&store, &workflow, &first(&workflow, 3)).await;
}

/// A waiter gets the lock when the holder lets go, and sees what the holder wrote.
pub async fn c05_waiter_takes_over<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let other = harness.open(Settings::default()).await;
    let workflow = workflow("handed-over");
    let mut holder = store.lock(&workflow).await.expect("the lock is free");
    let mut waiting = Box::pin(other.lock(&workflow));
    assert!(
        poll_once(waiting.as_mut()).await.is_none(),
        "a waiter waits"
    );
    let events = first(&workflow, 2);
    holder
        .append(&events[0], ExpectedHead::Any)
        .await
        .expect("the holder may append");
    drop(holder);
    let mut successor = waiting.await.expect("the waiter takes over");
    assert_eq!(
        successor.tail().await.expect("a tail"),
        tail_of(&events[..1])
    );
    successor
        .append(&events[1], ExpectedHead::Any)
        .await
        .expect("the successor may append");
    drop(successor);
    assert_chain(&store, &workflow, &events).await;
}

/// Reads of every kind go on while the lock is held, through the holder's handle and another.
pub async fn c05_reads_do_not_wait_for_the_lock<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::impatient()).await;
    let other = harness.open(Settings::impatient()).await;
    let workflow = workflow("read-while-held");
    let events = first(&workflow, 2);
    append_all(&store, &events).await;
    let holder = store.lock(&workflow).await.expect("the lock is free");
    for reader in [&store, &other] {
        assert_chain(reader, &workflow, &events).await;
        assert_eq!(
            reader.stats(&workflow).await.expect("statistics").rows,
            2,
            "statistics are reads"
        );
    }
    drop(holder);
}

/// The lock of one workflow holds up no other.
pub async fn c05_workflows_are_locked_apart<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let impatient = harness.open(Settings::impatient()).await;
    let [held, free] = ["held-one", "free-one"].map(workflow);
    let holder = store.lock(&held).await.expect("the lock is free");
    for writer in [&impatient, &store] {
        let answer = writer.append(&nth(&free, 1), ExpectedHead::Any).await;
        assert!(answer.is_ok(), "{answer:?}");
    }
    drop(holder);
    assert_chain(&store, &free, &first(&free, 1)).await;
}

/// The holder sees the tail and any row, and appends as often as it likes.
pub async fn c05_holder_reads_and_appends<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("holder");
    let events = first(&workflow, 5);
    let mut holder = store.lock(&workflow).await.expect("the lock is free");
    assert_eq!(holder.workflow_id(), &workflow);
    assert_eq!(holder.tail().await.expect("a tail"), Tail::Empty);
    for count in 1..=events.len() {
        let event = &events[count - 1];
        let absent = holder.find(event.transition_id()).await.expect("a search");
        assert_eq!(absent, None);
        let answer = holder
            .append(
                event,
                ExpectedHead::Exactly(tail_of(&events[..count - 1]).head()),
            )
            .await
            .expect("the holder may append");
        assert_eq!(answer.status, AppendStatus::Appended);
        assert_eq!(
            holder.tail().await.expect("a tail"),
            tail_of(&events[..count])
        );
        assert_eq!(
            store.tail_chain_head(&workflow).await.expect("a head"),
            answer.head,
            "an acknowledged row of the holder is there for readers"
        );
    }
    let rows = look(&store, &workflow).await.rows;
    for (event, row) in events.iter().zip(rows) {
        let found = holder.find(event.transition_id()).await.expect("a search");
        assert_eq!(found, Some(row));
    }
    holder.release().await.expect("a lock can be released");
    assert_chain(&store, &workflow, &events).await;
}

/// Sixteen tasks over four handles make one linear chain that holds every event once.
pub async fn c05_sixteen_writers_make_one_linear_chain<H: Harness>() {
    const TASKS: u32 = 16;
    const EACH: u32 = 6;
    let harness = H::start().await;
    let workflow = workflow("sixteen");
    let mut handles = Vec::new();
    for _ in 0..4 {
        handles.push(Arc::new(harness.open(Settings::default()).await));
    }
    let mut tasks = Vec::new();
    for (task, store) in (0..TASKS).zip(handles.iter().cycle()) {
        let (store, workflow) = (Arc::clone(store), workflow.clone());
        tasks.push(tokio::spawn(async move {
            let mut answers = Vec::new();
            for n in 0..EACH {
                let event = nth(&workflow, task * EACH + n);
                answers.push((event.transition_id(), append(&*store, &event).await));
            }
            answers
        }));
    }
    let mut answers = Vec::new();
    for task in tasks {
        answers.extend(task.await.expect("a writer does not panic"));
    }
    let rows = handles[0].collect_rows(&workflow).await.expect("rows");
    assert_eq!(rows.len(), answers.len(), "nothing is lost or doubled");
    answers.sort_by_key(|(_, answer)| answer.sequence);
    for ((id, answer), row) in answers.iter().zip(&rows) {
        assert_eq!(answer.status, AppendStatus::Appended);
        assert_eq!(answer.sequence.to_i64(), row.sequence);
        assert_eq!(Some(*id), row.transition_id.to_transition_id());
        assert_eq!(Some(answer.head), row.next_head.to_head());
    }
    assert_eq!(assert_verified(&*handles[1], &workflow).await, rows.len());
}

/// A workflow whose lock is held can't be deleted by another handle, which does not wait.
pub async fn c05_delete_of_a_locked_workflow_is_busy<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let other = harness.open(Settings::default()).await;
    let workflow = workflow("kept");
    let events = first(&workflow, 2);
    append_all(&store, &events).await;
    let holder = store.lock(&workflow).await.expect("the lock is free");
    let begun = std::time::Instant::now();
    let refused = other.delete(&workflow).await;
    assert!(
        begun.elapsed() < Settings::default().busy_timeout / 2,
        "a delete does not wait for the lock"
    );
    match refused {
        Err(StoreError::Busy { workflow: busy, .. }) => assert_eq!(busy, workflow),
        answer => panic!("a locked workflow was not kept: {answer:?}"),
    }
    assert_chain(&other, &workflow, &events).await;
    drop(holder);
    other
        .delete(&workflow)
        .await
        .expect("the lock is free again");
}
