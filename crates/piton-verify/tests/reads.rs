//! Fixes which reads a verification makes, and in which order: pin, one snapshot, and one look at
//! it for a repeated head when a row does not link.
#![allow(
    clippy::disallowed_types,
    reason = "the spy notes reads behind a shared reference; only the verifier itself must be pure"
)]

mod support;

use std::sync::{Arc, Mutex};

use piton_ledger::{ChainHead, VulnState, WorkflowId};
use piton_store::{
    AnyStore, Appended, CheckpointStore, ExpectedHead, MappedChain, PersistedChain, PersistedRow,
    SealedEvent, StoreError, Stored, Tail, WorkflowCatalog, WorkflowStats,
};
use piton_testkit::tamper::altered_head;
use piton_verify::{Expectations, PinPolicy, ReplayVerdict, ReplayVerifier};
use support::{block_on, chain};

type Log = Arc<Mutex<Vec<&'static str>>>;

/// A store that notes what is read, and fails where it is told to.
struct Spy<S> {
    inner: S,
    log: Log,
    fails_at: Option<&'static str>,
    recycled: Recycled,
}

struct SpyChain<C> {
    inner: C,
    log: Log,
    fails_at: Option<&'static str>,
    recycled: Recycled,
}

struct SpyMapped<C> {
    inner: C,
    log: Log,
    fails_at: Option<&'static str>,
    recycled: Recycled,
}

/// The rows that were given back.
type Recycled = Arc<Mutex<Vec<PersistedRow>>>;

fn note(log: &Log, fails_at: Option<&'static str>, what: &'static str) -> Result<(), StoreError> {
    let mut log = log.lock().expect("no test panics while it notes");
    if log.last() != Some(&what) {
        log.push(what);
    }
    if fails_at == Some(what) {
        return Err(StoreError::Closed);
    }
    Ok(())
}

impl<S: CheckpointStore> CheckpointStore for Spy<S> {
    type Lock = S::Lock;
    type Chain = SpyChain<S::Chain>;

    async fn append(
        &self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> Result<Appended, StoreError> {
        note(&self.log, self.fails_at, "append")?;
        self.inner.append(event, expected).await
    }

    async fn iter_persisted_chain(&self, workflow: &WorkflowId) -> Result<Self::Chain, StoreError> {
        note(&self.log, self.fails_at, "snapshot")?;
        Ok(SpyChain {
            inner: self.inner.iter_persisted_chain(workflow).await?,
            log: Arc::clone(&self.log),
            fails_at: self.fails_at,
            recycled: Arc::clone(&self.recycled),
        })
    }

    async fn tail_chain_head(&self, workflow: &WorkflowId) -> Result<ChainHead, StoreError> {
        note(&self.log, self.fails_at, "tail")?;
        self.inner.tail_chain_head(workflow).await
    }

    async fn pinned_tail(&self, workflow: &WorkflowId) -> Result<Option<Tail>, StoreError> {
        note(&self.log, self.fails_at, "pin")?;
        self.inner.pinned_tail(workflow).await
    }

    async fn lock(&self, workflow: &WorkflowId) -> Result<S::Lock, StoreError> {
        note(&self.log, self.fails_at, "lock")?;
        self.inner.lock(workflow).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.inner.close().await
    }
}

impl<C: PersistedChain> PersistedChain for SpyChain<C> {
    async fn next_rows(&mut self) -> Result<Vec<PersistedRow>, StoreError> {
        note(&self.log, self.fails_at, "unmapped rows")?;
        self.inner.next_rows().await
    }

    fn recycle(&mut self, rows: Vec<PersistedRow>) {
        let mut recycled = self.recycled.lock().expect("no test panics while it notes");
        recycled.extend(rows);
    }

    fn map_batches<T: Send + 'static>(
        self,
        map: impl Fn(Vec<PersistedRow>) -> T + Send + Sync + 'static,
    ) -> impl MappedChain<T> {
        let Self {
            inner,
            log,
            fails_at,
            recycled,
        } = self;
        SpyMapped {
            inner: inner.map_batches(map),
            log,
            fails_at,
            recycled,
        }
    }

    async fn count_next_head(&mut self, next_head: &Stored) -> Result<u64, StoreError> {
        self.inner.count_next_head(next_head).await
    }
}

impl<T: 'static, C: MappedChain<T>> MappedChain<T> for SpyMapped<C> {
    async fn next_batch(&mut self) -> Result<Option<T>, StoreError> {
        note(&self.log, self.fails_at, "rows")?;
        self.inner.next_batch().await
    }

    fn recycle(&mut self, rows: Vec<PersistedRow>) {
        let mut recycled = self.recycled.lock().expect("no test panics while it notes");
        recycled.extend(rows);
    }

    async fn count_next_head(&mut self, next_head: &Stored) -> Result<u64, StoreError> {
        note(&self.log, self.fails_at, "count")?;
        self.inner.count_next_head(next_head).await
    }
}

impl<S: WorkflowCatalog> WorkflowCatalog for Spy<S> {
    async fn list(&self) -> Result<Vec<WorkflowId>, StoreError> {
        self.inner.list().await
    }

    async fn stats(&self, workflow: &WorkflowId) -> Result<WorkflowStats, StoreError> {
        self.inner.stats(workflow).await
    }

    async fn delete(&self, workflow: &WorkflowId) -> Result<(), StoreError> {
        self.inner.delete(workflow).await
    }
}

type Change = fn(&mut [PersistedRow]);

/// Verifies changed rows; gives the reads in order, and whether there was a verdict.
fn reads(
    change: Change,
    pin: PinPolicy,
    fails_at: Option<&'static str>,
) -> (Vec<&'static str>, bool) {
    block_on(async {
        let chain = chain(4).await;
        let mut rows = chain.rows.clone();
        change(&mut rows);
        let log = Log::default();
        let spy = Spy {
            inner: chain.tampered(rows),
            log: Arc::clone(&log),
            fails_at,
            recycled: Recycled::default(),
        };
        let expectations = Expectations {
            pin,
            expected: None,
        };
        let verdict = ReplayVerifier::new(&spy)
            .verify_against::<VulnState>(&chain.workflow, expectations)
            .await;
        let log = log.lock().expect("no test panics while it notes").clone();
        (log, verdict.is_ok())
    })
}

fn unlinked(rows: &mut [PersistedRow]) {
    rows[1].next_head = altered_head(&rows[1].next_head);
}

#[test]
fn the_pin_is_read_before_the_snapshot_opens() {
    let (log, judged) = reads(|_| {}, PinPolicy::Enforce, None);
    assert_eq!(log, ["pin", "snapshot", "rows"]);
    assert!(judged);
}

#[test]
fn an_ignored_pin_is_not_read() {
    let (log, judged) = reads(|_| {}, PinPolicy::Ignore, None);
    assert_eq!(log, ["snapshot", "rows"]);
    assert!(judged);
}

#[test]
fn a_row_that_does_not_link_costs_one_look_at_the_same_snapshot() {
    let (log, judged) = reads(unlinked, PinPolicy::Enforce, None);
    assert_eq!(log, ["pin", "snapshot", "rows", "count"]);
    assert!(judged);
}

#[test]
fn a_row_that_links_costs_no_look() {
    let altered_prior: Change = |rows| rows[1].prior_head = altered_head(&rows[1].prior_head);
    let (log, _) = reads(altered_prior, PinPolicy::Enforce, None);
    assert_eq!(log, ["pin", "snapshot", "rows"]);
}

#[test]
fn a_read_that_fails_gives_no_verdict() {
    for fails_at in ["pin", "snapshot", "rows", "count"] {
        let (log, judged) = reads(unlinked, PinPolicy::Enforce, Some(fails_at));
        assert_eq!(log.last(), Some(&fails_at));
        assert!(!judged, "{fails_at} failed, so nothing is known");
    }
}

/// What was walked can be filled anew, whether the engine is known or erased.
#[test]
fn the_rows_are_given_back() {
    block_on(async {
        let chain = chain(4).await;
        let verify = async |erase: bool| {
            let recycled = Recycled::default();
            let spy = Spy {
                inner: chain.store.clone(),
                log: Log::default(),
                fails_at: None,
                recycled: Arc::clone(&recycled),
            };
            let verdict = if erase {
                let store = AnyStore::new(spy);
                ReplayVerifier::new(&store)
                    .verify::<VulnState>(&chain.workflow)
                    .await
            } else {
                ReplayVerifier::new(&spy)
                    .verify::<VulnState>(&chain.workflow)
                    .await
            };
            let Ok(ReplayVerdict::Verified { .. }) = verdict else {
                panic!("not intact")
            };
            let recycled = recycled.lock().expect("no test panics while it notes");
            recycled.clone()
        };
        assert_eq!(verify(false).await, chain.rows);
        assert_eq!(verify(true).await, chain.rows);
    });
}

/// A chain of an engine that leaves the mapping to the port.
struct Unmapped<C>(C);

impl<C: PersistedChain> PersistedChain for Unmapped<C> {
    async fn next_rows(&mut self) -> Result<Vec<PersistedRow>, StoreError> {
        self.0.next_rows().await
    }

    fn recycle(&mut self, rows: Vec<PersistedRow>) {
        self.0.recycle(rows);
    }

    async fn count_next_head(&mut self, next_head: &Stored) -> Result<u64, StoreError> {
        self.0.count_next_head(next_head).await
    }
}

/// Rows go back to an engine that maps nothing itself, and through an erased read that is not
/// mapped.
#[test]
fn rows_find_their_way_back() {
    block_on(async {
        let chain = chain(4).await;
        let recycled = Recycled::default();
        let spy = Spy {
            inner: chain.store.clone(),
            log: Log::default(),
            fails_at: None,
            recycled: Arc::clone(&recycled),
        };
        let taken =
            || std::mem::take(&mut *recycled.lock().expect("no test panics while it notes"));
        let read = spy.iter_persisted_chain(&chain.workflow).await;
        let mut mapped = Unmapped(read.expect("readable")).map_batches(|rows| rows);
        while let Some(rows) = mapped.next_batch().await.expect("readable") {
            mapped.recycle(rows);
        }
        assert_eq!(taken(), chain.rows);
        let last = &chain.rows[3].next_head;
        assert_eq!(mapped.count_next_head(last).await.expect("a count"), 1);

        let store = AnyStore::new(spy);
        let read = store.iter_persisted_chain(&chain.workflow).await;
        let mut read = read.expect("readable");
        let rows = read.next_rows().await.expect("readable");
        read.recycle(rows);
        assert_eq!(taken(), chain.rows);
        let mut mapped = read.map_batches(|rows| rows);
        while mapped.next_batch().await.expect("readable").is_some() {}
        for (head, count) in [(last, 1), (&altered_head(last), 0)] {
            assert_eq!(mapped.count_next_head(head).await.expect("a count"), count);
        }
    });
}

/// A store whose workflow is deleted between the reading of its pin and of its rows.
struct Vanishing<S> {
    inner: S,
    pins: Mutex<Vec<Option<Tail>>>,
}

impl<S: CheckpointStore> CheckpointStore for Vanishing<S> {
    type Lock = S::Lock;
    type Chain = S::Chain;

    async fn append(
        &self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> Result<Appended, StoreError> {
        self.inner.append(event, expected).await
    }

    async fn iter_persisted_chain(&self, workflow: &WorkflowId) -> Result<Self::Chain, StoreError> {
        self.inner.iter_persisted_chain(workflow).await
    }

    async fn tail_chain_head(&self, workflow: &WorkflowId) -> Result<ChainHead, StoreError> {
        self.inner.tail_chain_head(workflow).await
    }

    async fn pinned_tail(&self, _: &WorkflowId) -> Result<Option<Tail>, StoreError> {
        let mut pins = self.pins.lock().expect("no test panics while it reads");
        Ok(pins.pop().expect("the pin is read twice at most"))
    }

    async fn lock(&self, workflow: &WorkflowId) -> Result<S::Lock, StoreError> {
        self.inner.lock(workflow).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.inner.close().await
    }
}

#[test]
fn a_workflow_that_vanishes_while_it_is_read_has_no_verdict() {
    block_on(async {
        let chain = chain(4).await;
        let first = Tail::At {
            sequence: piton_ledger::Sequence::FIRST,
            head: chain.rows[0].next_head.to_head().expect("a head"),
        };
        let verify = async |later: Option<Tail>| {
            let store = Vanishing {
                inner: chain.tampered(Vec::new()),
                pins: Mutex::new(vec![later, Some(chain.tail)]),
            };
            ReplayVerifier::new(&store)
                .verify::<VulnState>(&chain.workflow)
                .await
        };
        let anew = Tail::At {
            sequence: chain.tail.sequence().expect("there are rows"),
            head: ChainHead::from_bytes([1; 32]),
        };
        for later in [None, Some(Tail::Empty), Some(first), Some(anew)] {
            let error = verify(later).await.expect_err("nothing is known");
            assert_eq!(error.retry(), piton_store::Retry::Helps, "{error}");
        }
        let verdict = verify(Some(chain.tail))
            .await
            .expect("the pin still stands");
        assert!(
            matches!(verdict, ReplayVerdict::TornWrite(_)),
            "{verdict:?}"
        );
    });
}
