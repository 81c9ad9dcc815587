//! Owns how many connections are open for writing, and which idle ones are kept. It opens none.

use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use lru::LruCache;
use piton_ledger::WorkflowId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connection::Writer;
use crate::sync::{AtomicBool, Mutex, MutexGuard};

/// The right to hold one connection open.
pub(crate) type Permit = OwnedSemaphorePermit;

/// What is kept open while it is idle: a connection, or in tests the model of one.
pub(crate) trait Kept {
    /// Closes it, and gives back the right to hold one when that succeeds.
    fn make_room(self: Box<Self>) -> impl Future<Output = Option<Permit>> + Send;
}

/// The open connections of a store.
#[derive(Debug)]
pub(crate) struct Pool<W = Writer> {
    idle: Mutex<Idle<W>>,
    permits: Arc<Semaphore>,
    closed: AtomicBool,
}

#[derive(Debug)]
struct Idle<W> {
    writers: LruCache<WorkflowId, Box<W>>,
    /// How many calls wait for a permit; while there are any, connections are closed and not kept.
    waiting: usize,
}

/// What a call gets to work with.
pub(crate) enum Checkout<W = Writer> {
    /// The workflow's own connection.
    Kept(Box<W>),
    /// The right to open one.
    Vacant(Permit),
    /// Every connection is in use, and none became free in time.
    Exhausted,
}

/// Counts a waiting call for as long as it waits, even when its future is dropped.
struct Waiting<'a, W>(&'a Pool<W>);

impl<W> Drop for Waiting<'_, W> {
    fn drop(&mut self) {
        let mut idle = self.0.idle();
        idle.waiting = idle.waiting.saturating_sub(1);
    }
}

enum Step<W> {
    Done(Checkout<W>),
    Evict(Box<W>),
    Wait,
}

impl<W: Kept> Pool<W> {
    /// Makes a pool that opens at most so many connections.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            idle: Mutex::new(Idle {
                writers: LruCache::unbounded(),
                waiting: 0,
            }),
            permits: Arc::new(Semaphore::new(most)),
            closed: AtomicBool::new(false),
        }
    }

    /// Takes a workflow's connection out, or the right to open one; the connection that was idle
    /// for longest makes room.
    pub(crate) async fn checkout(&self, workflow: &WorkflowId, patience: Duration) -> Checkout<W> {
        match self.step(workflow) {
            Step::Done(checkout) => checkout,
            Step::Evict(writer) => writer
                .make_room()
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

    fn step(&self, workflow: &WorkflowId) -> Step<W> {
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
    pub(crate) fn put_back(&self, workflow: &WorkflowId, writer: Box<W>) {
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
    pub(crate) fn take(&self, workflow: &WorkflowId) -> Option<Box<W>> {
        self.idle().writers.pop(workflow)
    }

    /// Keeps no connection from now on.
    pub(crate) fn close(&self) {
        let _idle = self.idle();
        self.closed.store(true, Ordering::Release);
    }

    /// Takes some idle connection out, if there is one.
    pub(crate) fn take_any(&self) -> Option<Box<W>> {
        self.idle().writers.pop_lru().map(|(_, writer)| writer)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

impl<W> Pool<W> {
    /// No code panics while it holds the set, so a poisoned one is whole.
    fn idle(&self) -> MutexGuard<'_, Idle<W>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
