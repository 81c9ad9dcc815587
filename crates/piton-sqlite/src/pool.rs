//! Owns how many connections are open for writing, and which idle ones are kept. It opens none.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lru::LruCache;
use piton_ledger::WorkflowId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connection::Writer;
use crate::options::MAX_OPEN_CONNECTIONS;

/// The right to hold one connection open.
pub(crate) type Permit = OwnedSemaphorePermit;

/// The open connections of a store.
#[derive(Debug)]
pub(crate) struct Pool {
    idle: Mutex<Idle>,
    permits: Arc<Semaphore>,
    closed: AtomicBool,
}

#[derive(Debug)]
struct Idle {
    writers: LruCache<WorkflowId, Box<Writer>>,
    /// How many calls wait for a permit; while there are any, connections are closed and not kept.
    waiting: usize,
}

/// What a call gets to work with.
pub(crate) enum Checkout {
    /// The workflow's own connection.
    Kept(Box<Writer>),
    /// The right to open one.
    Vacant(Permit),
    /// Every connection is in use, and none became free in time.
    Exhausted,
}

/// Counts a waiting call for as long as it waits, even when its future is dropped.
struct Waiting<'a>(&'a Pool);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut idle = self.0.idle();
        idle.waiting = idle.waiting.saturating_sub(1);
    }
}

enum Step {
    Done(Checkout),
    Evict(Box<Writer>),
    Wait,
}

impl Pool {
    pub(crate) fn new() -> Self {
        Self {
            idle: Mutex::new(Idle {
                writers: LruCache::unbounded(),
                waiting: 0,
            }),
            permits: Arc::new(Semaphore::new(MAX_OPEN_CONNECTIONS)),
            closed: AtomicBool::new(false),
        }
    }

    /// Takes a workflow's connection out, or the right to open one; the connection that was idle
    /// for longest makes room.
    pub(crate) async fn checkout(&self, workflow: &WorkflowId, patience: Duration) -> Checkout {
        match self.step(workflow) {
            Step::Done(checkout) => checkout,
            Step::Evict(writer) => writer
                .close()
                .await
                .map_or(Checkout::Exhausted, Checkout::Vacant),
            Step::Wait => {
                let _waiting = Waiting(self);
                let permit = Arc::clone(&self.permits).acquire_owned();
                match tokio::time::timeout(patience, permit).await {
                    Ok(Ok(permit)) => Checkout::Vacant(permit),
                    Ok(Err(_)) | Err(_) => Checkout::Exhausted,
                }
            }
        }
    }

    fn step(&self, workflow: &WorkflowId) -> Step {
        let mut idle = self.idle();
        if let Some(writer) = idle.writers.pop(workflow) {
            return Step::Done(Checkout::Kept(writer));
        }
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Step::Done(Checkout::Vacant(permit));
        }
        match idle.writers.pop_lru() {
            Some((_, writer)) => Step::Evict(writer),
            None => {
                idle.waiting = idle.waiting.saturating_add(1);
                Step::Wait
            }
        }
    }

    /// Keeps a connection for the workflow's next call, unless others wait for room.
    pub(crate) fn put_back(&self, workflow: &WorkflowId, writer: Box<Writer>) {
        let mut idle = self.idle();
        if idle.waiting == 0 && !self.is_closed() {
            let replaced = idle.writers.put(workflow.clone(), writer);
            drop(idle);
            drop(replaced);
        }
    }

    /// Whether there is an idle connection of a workflow.
    pub(crate) fn holds(&self, workflow: &WorkflowId) -> bool {
        self.idle().writers.contains(workflow)
    }

    /// Takes the idle connection of a workflow out, if there is one.
    pub(crate) fn take(&self, workflow: &WorkflowId) -> Option<Box<Writer>> {
        self.idle().writers.pop(workflow)
    }

    /// Keeps no connection from now on.
    pub(crate) fn close(&self) {
        let _idle = self.idle();
        self.closed.store(true, Ordering::Release);
    }

    /// Takes some idle connection out, if there is one.
    pub(crate) fn take_any(&self) -> Option<Box<Writer>> {
        self.idle().writers.pop_lru().map(|(_, writer)| writer)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// No code panics while it holds the set, so a poisoned one is whole.
    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
