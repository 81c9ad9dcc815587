//! Owns the order of this store's own writers to one workflow, and what they know of its tail.
//! Other processes are kept out by the server alone.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;
use piton_ledger::{ChainHead, WorkflowId};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio::time::timeout;

/// How many workflows are remembered; a forgotten one costs a read of its tail.
const REMEMBERED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4095);

/// The head that the tail most likely has; the server has the last word.
pub(crate) type Guess = Option<ChainHead>;

/// The turn of one writer.
pub(crate) type Turn = OwnedMutexGuard<Guess>;

/// The writers' queues, by workflow.
pub(crate) struct Queue(Mutex<LruCache<WorkflowId, Arc<AsyncMutex<Guess>>>>);

impl Queue {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LruCache::new(REMEMBERED)))
    }

    /// Waits for the turn of a writer; none when it did not come in time.
    pub(crate) async fn turn(&self, workflow: &WorkflowId, patience: Duration) -> Option<Turn> {
        timeout(patience, self.of(workflow).lock_owned()).await.ok()
    }

    /// Takes the turn if nobody has it.
    pub(crate) fn turn_now(&self, workflow: &WorkflowId) -> Option<Turn> {
        self.of(workflow).try_lock_owned().ok()
    }

    fn of(&self, workflow: &WorkflowId) -> Arc<AsyncMutex<Guess>> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(queues.get_or_insert_ref(workflow, Arc::default))
    }
}
