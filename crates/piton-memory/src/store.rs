//! Owns the map of workflows and the store operations on it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use piton_ledger::{ChainHead, WorkflowId};
use piton_store::{
    AppendLock, Appended, CheckpointStore, ExpectedHead, SealedEvent, StoreError, Tail,
};
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;

use crate::chain::{Chain, MemoryChain};
use crate::lock::MemoryLock;

/// Gives the time that is written beside a row.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A checkpoint store in memory. Cloning shares it, its closing too; [`MemoryStore::reopen`] gives
/// a handle of its own on the same workflows.
#[derive(Clone)]
pub struct MemoryStore {
    workflows: Arc<Mutex<BTreeMap<WorkflowId, Arc<Workflow>>>>,
    closed: Arc<AtomicBool>,
    clock: Clock,
    busy_timeout: Duration,
}

/// One workflow: who may append, and what was appended.
pub(crate) struct Workflow {
    owner: Arc<tokio::sync::Mutex<()>>,
    chain: Mutex<Chain>,
}

impl Workflow {
    pub(crate) fn chain(&self) -> MutexGuard<'_, Chain> {
        // A chain is never left half changed, so a panic elsewhere does not spoil it.
        self.chain.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryStore {
    /// Makes an empty store with the system clock and a busy time-out of 5 seconds.
    pub fn new() -> Self {
        Self {
            workflows: Arc::default(),
            closed: Arc::default(),
            clock: Arc::new(Timestamp::now),
            busy_timeout: Duration::from_secs(5),
        }
    }

    /// Opens a further handle on the same workflows, open even if this one is closed: what a second
    /// process is to a durable store.
    #[must_use]
    pub fn reopen(&self) -> Self {
        Self {
            closed: Arc::default(),
            ..self.clone()
        }
    }

    /// Replaces the clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Replaces the time that a waiter waits for an append lock.
    #[must_use]
    pub fn with_busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.busy_timeout = busy_timeout;
        self
    }

    pub(crate) fn workflows(
        &self,
    ) -> Result<MutexGuard<'_, BTreeMap<WorkflowId, Arc<Workflow>>>, StoreError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(StoreError::Closed);
        }
        Ok(self
            .workflows
            .lock()
            .unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn find(&self, id: &WorkflowId) -> Result<Option<Arc<Workflow>>, StoreError> {
        Ok(self.workflows()?.get(id).cloned())
    }

    fn find_or_create(&self, id: &WorkflowId) -> Result<Arc<Workflow>, StoreError> {
        let mut workflows = self.workflows()?;
        let workflow = workflows.entry(id.clone()).or_insert_with(|| {
            Arc::new(Workflow {
                owner: Arc::default(),
                chain: Mutex::new(Chain::new()),
            })
        });
        Ok(Arc::clone(workflow))
    }

    /// Takes the append ownership without waiting; none when somebody has it.
    pub(crate) fn try_own(workflow: &Workflow) -> Option<OwnedMutexGuard<()>> {
        Arc::clone(&workflow.owner).try_lock_owned().ok()
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("busy_timeout", &self.busy_timeout)
            .finish_non_exhaustive()
    }
}

impl CheckpointStore for MemoryStore {
    type Lock = MemoryLock;
    type Chain = MemoryChain;

    async fn append(
        &self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> Result<Appended, StoreError> {
        self.lock(event.workflow_id())
            .await?
            .append(event, expected)
            .await
    }

    async fn iter_persisted_chain(&self, workflow: &WorkflowId) -> Result<MemoryChain, StoreError> {
        Ok(MemoryChain::new(self.find(workflow)?))
    }

    async fn tail_chain_head(&self, workflow: &WorkflowId) -> Result<ChainHead, StoreError> {
        let found = self.find(workflow)?;
        Ok(found.map_or(ChainHead::GENESIS, |workflow| {
            workflow.chain().tail().head()
        }))
    }

    async fn pinned_tail(&self, workflow: &WorkflowId) -> Result<Option<Tail>, StoreError> {
        Ok(self.find(workflow)?.map(|workflow| workflow.chain().pin()))
    }

    async fn lock(&self, id: &WorkflowId) -> Result<MemoryLock, StoreError> {
        let owned = async {
            loop {
                let workflow = self.find_or_create(id)?;
                let owner = Arc::clone(&workflow.owner).lock_owned().await;
                // The workflow may have been deleted while this call waited.
                if self
                    .find(id)?
                    .is_some_and(|current| Arc::ptr_eq(&current, &workflow))
                {
                    return Ok(MemoryLock::new(
                        id.clone(),
                        workflow,
                        Arc::clone(&self.clock),
                        owner,
                    ));
                }
            }
        };
        let busy = || StoreError::Busy {
            workflow: id.clone(),
            waited: self.busy_timeout,
        };
        timeout(self.busy_timeout, owned)
            .await
            .map_err(|_| busy())?
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.closed.store(true, Ordering::Release);
        Ok(())
    }
}
