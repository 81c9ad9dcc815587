//! Cases of reads: what is persisted, from one snapshot, and nothing created (C8 to C10).

use piton_ledger::{ChainHead, Sequence, TransitionEvent, VulnState};
use piton_store::{
    AppendLock, CheckpointStore, CheckpointStoreExt, MappedChain, PersistedChain, Repin, Stored,
    Tail, WorkflowCatalog,
};

use crate::harness::{Harness, Settings};
use crate::history::{first, legal_walk, nth, sealed, workflow};
use crate::observe::{append, append_all, assert_chain, heads, look};

/// Raw rows, typed events, the tail and the count of a head all tell of the same bytes.
pub async fn c08_reads_give_the_sealed_bytes<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("sealed-bytes");
    let history = legal_walk(&workflow, 5, 7);
    let events: Vec<_> = history.iter().map(sealed).collect();
    append_all(&store, &events).await;
    assert_chain(&store, &workflow, &events).await;
    let typed: Vec<TransitionEvent<VulnState>> =
        store.collect_events(&workflow).await.expect("events");
    assert_eq!(typed, history);
    let mut chain = store.iter_persisted_chain(&workflow).await.expect("rows");
    let mut rows = Vec::new();
    loop {
        let batch = chain.next_rows().await.expect("rows");
        if batch.is_empty() {
            break;
        }
        rows.extend(batch);
    }
    for row in &rows {
        let count = chain
            .count_next_head(&row.next_head)
            .await
            .expect("a count");
        assert_eq!(count, 1, "each head of an intact chain stands once");
    }
    for absent in [
        Stored::Null,
        ChainHead::from_bytes([5; 32]).to_string().into(),
    ] {
        let count = chain.count_next_head(&absent).await.expect("a count");
        assert_eq!(count, 0, "a head that no row has stands nowhere");
    }
    assert!(chain.next_rows().await.expect("rows").is_empty());
    let chain = store.iter_persisted_chain(&workflow).await.expect("rows");
    let mut chain = chain.map_batches(|rows| rows);
    let mut mapped = Vec::new();
    while let Some(batch) = chain.next_batch().await.expect("rows") {
        mapped.extend(batch);
    }
    assert_eq!(mapped, rows, "mapped batches are of the same rows");
    let last = &rows[rows.len() - 1].next_head;
    assert_eq!(chain.count_next_head(last).await.expect("a count"), 1);
}

/// Reads give what is persisted even when the pin speaks against it.
pub async fn c08_reads_go_on_when_the_pin_disagrees<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("disagreed");
    let events = first(&workflow, 3);
    append_all(&store, &events).await;
    let before = look(&store, &workflow).await;
    let lie = Tail::At {
        sequence: Sequence::try_from(9u64).expect("from 1"),
        head: ChainHead::from_bytes([4; 32]),
    };
    let mut lock = store.lock(&workflow).await.expect("the lock is free");
    lock.repin(lie).await.expect("a pin can be replaced");
    assert_eq!(lock.tail().await.expect("a tail").head(), before.tail);
    drop(lock);
    let after = look(&store, &workflow).await;
    assert_eq!(after.rows, before.rows);
    assert_eq!(after.tail, before.tail);
    assert_eq!(after.pin, Some(lie));
}

/// A read that is open when a row is appended does not see it.
pub async fn c09_open_read_does_not_see_later_appends<H: Harness>() {
    let harness = H::start().await;
    let reader = harness.open(Settings::default()).await;
    let writer = harness.open(Settings::default()).await;
    let workflow = workflow("open-read");
    append_all(&writer, &first(&workflow, 3)).await;
    let mut chain = reader.iter_persisted_chain(&workflow).await.expect("rows");
    let later = append(&writer, &nth(&workflow, 4)).await;
    let mut rows = Vec::new();
    loop {
        let batch = chain.next_rows().await.expect("rows");
        if batch.is_empty() {
            break;
        }
        rows.extend(batch);
    }
    assert_eq!(rows.len(), 3);
    let head = later.head.to_string().into();
    assert_eq!(
        chain.count_next_head(&head).await.expect("a count"),
        0,
        "the count looks at the same snapshot"
    );
    drop(chain);
    assert_chain(&reader, &workflow, &first(&workflow, 4)).await;
}

/// A read that pauses between its batches ends where the chain ended when it began.
pub async fn c09_half_read_chain_ends_where_it_began<H: Harness>() {
    const ROWS: u32 = 300;
    let harness = H::start().await;
    let reader = harness.open(Settings::default()).await;
    let writer = harness.open(Settings::default()).await;
    let workflow = workflow("half-read");
    let events = first(&workflow, ROWS);
    append_all(&writer, &events).await;
    let heads = heads(&events);
    let mut chain = reader.iter_persisted_chain(&workflow).await.expect("rows");
    let mut seen = 0usize;
    let mut next = ROWS;
    loop {
        let batch = chain.next_rows().await.expect("rows");
        if batch.is_empty() {
            break;
        }
        for row in &batch {
            assert_eq!(row.next_head.to_head(), heads.get(seen).copied());
            seen += 1;
        }
        next += 1;
        append(&writer, &nth(&workflow, next)).await;
    }
    assert_eq!(seen, events.len());
}

/// Every read of an unknown workflow finds an empty chain.
pub async fn c10_unknown_workflow_is_an_empty_chain<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    append(&store, &nth(&workflow("known"), 1)).await;
    let seen = look(&store, &workflow("unknown")).await;
    assert!(seen.rows.is_empty());
    assert_eq!(seen.tail, ChainHead::GENESIS);
    assert_eq!(seen.pin, None);
    let stats = store.stats(&workflow("unknown")).await.expect("statistics");
    assert_eq!((stats.rows, stats.last_row), (0, None));
    assert_chain(&store, &workflow("unknown"), &[]).await;
}

/// Reads of unknown workflows leave no workflow behind.
pub async fn c10_reads_create_nothing<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    assert!(store.list().await.expect("a list").is_empty());
    for id in ["a", "b.c", "checkpoints"] {
        look(&store, &workflow(id)).await;
        store.stats(&workflow(id)).await.expect("statistics");
        assert_chain(&store, &workflow(id), &[]).await;
    }
    assert!(store.list().await.expect("a list").is_empty());
    let later = harness.open(Settings::default()).await;
    assert!(later.list().await.expect("a list").is_empty());
}
