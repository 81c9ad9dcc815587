//! Owns the plain store that tells at most one lie: its data, and the port's operations on it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use piton_ledger::{ChainHead, WorkflowId};
use piton_store::{
    AppendLock, Appended, CheckpointStore, ExpectedHead, PersistedRow, Retry, SealedEvent,
    StoreError, Tail,
};
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;

use super::chain::ClayChain;
use super::judge::contradicted_pin;
use super::lie::Lie;
use super::lock::ClayLock;
use crate::harness::Settings;

/// How many dropped reads a store that keeps them survives.
const POOL: usize = 64;

/// A plain store over a list of rows.
pub struct Clay {
    pub(super) lie: Lie,
    pub(super) settings: Settings,
    data: Arc<Mutex<BTreeMap<WorkflowId, Arc<Ledger>>>>,
    everything: Arc<tokio::sync::Mutex<()>>,
    closed: Arc<AtomicBool>,
    dropped_reads: Arc<AtomicUsize>,
}

/// What is held of one workflow.
pub(super) struct Ledger {
    pub(super) owner: Arc<tokio::sync::Mutex<()>>,
    state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) rows: Vec<PersistedRow>,
    pub(super) pin: Option<Tail>,
}

impl Ledger {
    fn new() -> Self {
        Self {
            owner: Arc::default(),
            state: Mutex::default(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clay {
    /// Makes an empty store that tells a lie.
    pub fn new(lie: Lie) -> Self {
        Self {
            lie,
            settings: Settings::default(),
            data: Arc::default(),
            everything: Arc::default(),
            closed: Arc::default(),
            dropped_reads: Arc::default(),
        }
    }

    /// Opens a further handle on the same rows.
    #[must_use]
    pub fn reopen(&self, settings: Settings) -> Self {
        Self {
            lie: self.lie,
            settings,
            data: match self.lie {
                Lie::KeepsRowsInTheHandle => Arc::default(),
                _ => Arc::clone(&self.data),
            },
            everything: Arc::clone(&self.everything),
            closed: match self.lie {
                Lie::ClosesEveryHandle => Arc::clone(&self.closed),
                _ => Arc::default(),
            },
            dropped_reads: Arc::default(),
        }
    }

    /// Replaces the rows and the pin of a workflow.
    pub fn replace(&self, workflow: &WorkflowId, rows: Vec<PersistedRow>, pin: Option<Tail>) {
        *self.find_or_create(workflow).state() = State { rows, pin };
    }

    pub(super) fn data(&self) -> MutexGuard<'_, BTreeMap<WorkflowId, Arc<Ledger>>> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn open(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::SeqCst) && self.lie != Lie::GoesOnAfterClose {
            return Err(StoreError::Closed);
        }
        Ok(())
    }

    /// Gives the id under which a workflow is held.
    pub(super) fn key(&self, workflow: &WorkflowId) -> WorkflowId {
        let text = workflow.as_str();
        let text = match self.lie {
            Lie::FoldsCase => text.to_lowercase(),
            Lie::TruncatesIds => text.chars().take(64).collect(),
            _ => text.to_owned(),
        };
        text.parse().unwrap_or_else(|_| workflow.clone())
    }

    pub(super) fn find_or_create(&self, workflow: &WorkflowId) -> Arc<Ledger> {
        let mut data = self.data();
        let ledger = data
            .entry(self.key(workflow))
            .or_insert_with(|| Arc::new(Ledger::new()));
        Arc::clone(ledger)
    }

    /// Finds a workflow for a read.
    pub(super) async fn find(
        &self,
        workflow: &WorkflowId,
    ) -> Result<Option<Arc<Ledger>>, StoreError> {
        self.open()?;
        if self.lie == Lie::ReadsCreate {
            return Ok(Some(self.find_or_create(workflow)));
        }
        let found = self.data().get(&self.key(workflow)).cloned();
        if let (Lie::ReadsJudgeThePin, Some(ledger)) = (self.lie, &found) {
            contradicted_pin(self.lie, workflow, &ledger.state())?;
        }
        if let (Lie::ReadsTakeTheLock, Some(ledger)) = (self.lie, &found) {
            drop(self.own(workflow, &ledger.owner).await?);
        }
        Ok(found)
    }

    async fn own(
        &self,
        workflow: &WorkflowId,
        owner: &Arc<tokio::sync::Mutex<()>>,
    ) -> Result<OwnedMutexGuard<()>, StoreError> {
        let owner = match self.lie {
            Lie::IgnoresTheLock => Arc::default(),
            Lie::LocksEverything => Arc::clone(&self.everything),
            _ => Arc::clone(owner),
        };
        let waited = self.settings.busy_timeout;
        let workflow = workflow.clone();
        timeout(waited, owner.lock_owned())
            .await
            .map_err(|_| match self.lie {
                Lie::BusyIsAnEngineError => StoreError::Engine {
                    action: "append",
                    workflow: Some(workflow),
                    retry: Retry::IsUseless,
                    source: "database is locked".into(),
                },
                _ => StoreError::Busy { workflow, waited },
            })
    }
}

impl fmt::Debug for Clay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clay({:?})", self.lie)
    }
}

/// Gives the stored tail of rows.
pub(super) fn stored_tail(
    workflow: &WorkflowId,
    rows: &[PersistedRow],
) -> Result<Tail, StoreError> {
    let Some(last) = rows.last() else {
        return Ok(Tail::Empty);
    };
    let unreadable = |column| StoreError::UnreadableColumn {
        workflow: workflow.clone(),
        column,
    };
    Ok(Tail::At {
        sequence: last
            .sequence
            .try_into()
            .map_err(|_| unreadable("sequence"))?,
        head: last
            .next_head
            .to_head()
            .ok_or_else(|| unreadable("next_head"))?,
    })
}

impl CheckpointStore for Clay {
    type Lock = ClayLock;
    type Chain = ClayChain;

    async fn append(
        &self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> Result<Appended, StoreError> {
        let mut lock = self.lock(event.workflow_id()).await?;
        let answer = lock.append(event, expected).await;
        lock.let_go();
        answer
    }

    async fn iter_persisted_chain(&self, workflow: &WorkflowId) -> Result<ClayChain, StoreError> {
        let Some(ledger) = self.find(workflow).await? else {
            return Ok(ClayChain::new(Vec::new()));
        };
        if self.lie == Lie::ReadsLive {
            return Ok(ClayChain::live(ledger));
        }
        let mut rows = ledger.state().rows.clone();
        if self.lie == Lie::LeaksWorkflows {
            let others: Vec<_> = self.data().values().cloned().collect();
            for other in others {
                if !Arc::ptr_eq(&other, &ledger) {
                    rows.extend(other.state().rows.clone());
                }
            }
        }
        let chain = ClayChain::new(super::chain::told(self.lie, rows));
        if self.lie != Lie::DroppedReadsUseItUp {
            return Ok(chain);
        }
        if self.dropped_reads.load(Ordering::SeqCst) > POOL {
            let (workflow, waited) = (workflow.clone(), self.settings.busy_timeout);
            return Err(StoreError::Busy { workflow, waited });
        }
        Ok(chain.counted(Arc::clone(&self.dropped_reads)))
    }

    async fn tail_chain_head(&self, workflow: &WorkflowId) -> Result<ChainHead, StoreError> {
        let Some(ledger) = self.find(workflow).await? else {
            return Ok(ChainHead::GENESIS);
        };
        let state = ledger.state();
        if self.lie == Lie::RecomputesTheTail {
            let bytes = state.rows.iter().filter_map(|row| row.event_bytes.as_ref());
            return Ok(piton_chain::fold(ChainHead::GENESIS, bytes));
        }
        let Some(last) = state.rows.last() else {
            return Ok(ChainHead::GENESIS);
        };
        last.next_head
            .to_head()
            .ok_or_else(|| StoreError::UnreadableColumn {
                workflow: workflow.clone(),
                column: "next_head",
            })
    }

    async fn pinned_tail(&self, workflow: &WorkflowId) -> Result<Option<Tail>, StoreError> {
        let found = self.find(workflow).await?;
        Ok(found.and_then(|ledger| ledger.state().pin))
    }

    async fn lock(&self, workflow: &WorkflowId) -> Result<ClayLock, StoreError> {
        loop {
            self.open()?;
            let ledger = self.find_or_create(workflow);
            let guard = self.own(workflow, &ledger.owner).await?;
            let mut lock = ClayLock::new(self, workflow.clone(), Arc::clone(&ledger), guard);
            if self.lie == Lie::CutWaitKeepsTheLock {
                lock.keep_when_dropped();
                tokio::task::yield_now().await;
                lock.free_when_dropped();
            }
            let current = self.data().get(&self.key(workflow)).cloned();
            if current.is_some_and(|current| Arc::ptr_eq(&current, &ledger)) {
                return Ok(lock);
            }
        }
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.closed.store(true, Ordering::SeqCst);
        if self.lie == Lie::CloseForgets {
            for ledger in self.data().values() {
                ledger.state().rows.pop();
            }
        }
        Ok(())
    }
}
