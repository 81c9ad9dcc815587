//! Owns the append lock of one workflow: a locked `checkpoints.lock` and what may be done under
//! it. It writes no row itself.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use piton_ledger::{TransitionId, WorkflowId};
use piton_store::{
    AppendBatch, AppendLock, Appended, Batch, ExpectedHead, PersistedRow, Repin, SealedEvent,
    StoreError, Tail,
};

use tokio::sync::oneshot;

use crate::append;
use crate::flock;
use crate::paths::{self, Paths};
use crate::pin;
use crate::row;
use crate::store::Inner;

/// The locked file; whoever holds the last reference to it holds the lock.
#[derive(Debug)]
pub(crate) struct Locked {
    pub(crate) file: File,
    pub(crate) paths: Paths,
    pub(crate) workflow: WorkflowId,
    /// Dropped after the file, so that its receiver learns of the release.
    _released: oneshot::Sender<()>,
}

/// Exclusive append ownership of one workflow, across processes.
///
/// Dropping it releases the lock. When a future of one of its methods was dropped while a
/// statement ran, the lock outlasts the guard until that statement has ended.
#[derive(Debug)]
pub struct SqliteLock {
    inner: Arc<Inner>,
    locked: Arc<Locked>,
    released: oneshot::Receiver<()>,
}

/// Whether a file that was locked still is the one at its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Current,
    Replaced,
}

impl SqliteLock {
    /// Takes the lock, waiting for at most `patience`.
    #[cfg_attr(
        feature = "tracing",
        tracing::instrument(
            name = "lock",
            level = "debug",
            skip_all,
            fields(%workflow),
            err(level = "debug")
        )
    )]
    pub(crate) async fn acquire(
        inner: &Arc<Inner>,
        workflow: &WorkflowId,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let call = inner.call("locking", workflow);
        inner.refuse_when_closed()?;
        let paths = Paths::new(&inner.root, workflow);
        let deadline = Instant::now().checked_add(patience);
        loop {
            // What a kept connection has open is compared file by file before it is used again.
            let is_known = inner.pool.holds(workflow)
                && paths.is_plain_directory().map_err(|error| call.io(error))?;
            if !is_known && paths.inspect(&call)?.is_none() {
                paths.create_directory().map_err(|error| call.io(error))?;
                paths.inspect(&call)?;
            }
            let patience = deadline.map_or(patience, |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
            let locked = inner
                .queue
                .lock(&paths.lock, paths::open_lock, patience)
                .await;
            match locked {
                Ok(Some(file)) => {
                    if standing(&file, &paths).map_err(|error| call.io(error))? == Standing::Current
                    {
                        return Ok(Self::new(inner, workflow, paths, file));
                    }
                }
                Ok(None) => return Err(call.busy()),
                // The workflow was deleted after its directory had been seen.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(call.io(error)),
            }
        }
    }

    /// Takes the lock of a workflow that has a directory, or gives up at once.
    pub(crate) fn acquire_now(
        inner: &Arc<Inner>,
        workflow: &WorkflowId,
        paths: Paths,
    ) -> Result<Option<Self>, StoreError> {
        let call = inner.call("locking", workflow);
        loop {
            match flock::attempt(&paths.lock, paths::open_lock) {
                Ok(flock::Attempt::Contended) => return Ok(None),
                Ok(flock::Attempt::Locked(file)) => {
                    if standing(&file, &paths).map_err(|error| call.io(error))? == Standing::Current
                    {
                        return Ok(Some(Self::new(inner, workflow, paths, file)));
                    }
                }
                // Another deletion came to its end since the directory was seen.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Err(StoreError::UnknownWorkflow {
                        workflow: workflow.clone(),
                    });
                }
                Err(error) => return Err(call.io(error)),
            }
        }
    }

    fn new(inner: &Arc<Inner>, workflow: &WorkflowId, paths: Paths, file: File) -> Self {
        let (sender, released) = oneshot::channel();
        Self {
            inner: Arc::clone(inner),
            locked: Arc::new(Locked {
                file,
                paths,
                workflow: workflow.clone(),
                _released: sender,
            }),
            released,
        }
    }

    /// The files that the lock protects.
    pub(crate) fn locked(&self) -> &Arc<Locked> {
        &self.locked
    }
}

/// A deleted lock file can still be locked by those who had opened it: two would own the workflow.
fn standing(file: &File, paths: &Paths) -> std::io::Result<Standing> {
    let metadata = file.metadata()?;
    let at_path = paths::stamp(&paths.lock)?;
    let is_current = metadata.nlink() > 0
        && at_path.is_some_and(|stamp| stamp.is_same_file(&paths::stamp_of(&metadata)));
    Ok(if is_current {
        Standing::Current
    } else {
        Standing::Replaced
    })
}

impl AppendLock for SqliteLock {
    fn workflow_id(&self) -> &WorkflowId {
        &self.locked.workflow
    }

    async fn tail(&mut self) -> Result<Tail, StoreError> {
        let call = self.inner.call("reading the tail", &self.locked.workflow);
        let Some(mut lease) = self.inner.lease(&self.locked, &call).await? else {
            return Ok(Tail::Empty);
        };
        let tail = append::read_tail(&mut lease, &call).await?.tail;
        lease.finish();
        Ok(tail)
    }

    async fn find(
        &mut self,
        transition_id: TransitionId,
    ) -> Result<Option<PersistedRow>, StoreError> {
        let call = self
            .inner
            .call("looking up a transition", &self.locked.workflow);
        let Some(mut lease) = self.inner.lease(&self.locked, &call).await? else {
            return Ok(None);
        };
        let found = row::find(&mut lease, transition_id)
            .await
            .map_err(|error| call.sql(error))?;
        lease.finish();
        Ok(found)
    }

    async fn append(
        &mut self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> Result<Appended, StoreError> {
        let events = std::slice::from_ref(event);
        let appended = append::append(&self.inner, &self.locked, events, expected).await?;
        let call = self.inner.call("append", &self.locked.workflow);
        let one = appended.into_iter().next();
        one.ok_or_else(|| call.unexpected("an append gave no answer"))
    }

    async fn release(self) -> Result<(), StoreError> {
        let Self {
            locked, released, ..
        } = self;
        drop(locked);
        // The channel ends when the file has been closed; nothing is ever sent through it.
        released.await.ok();
        Ok(())
    }
}

impl AppendBatch for SqliteLock {
    async fn append_batch(
        &mut self,
        batch: &Batch,
        expected: ExpectedHead,
    ) -> Result<Vec<Appended>, StoreError> {
        append::append(&self.inner, &self.locked, batch.events(), expected).await
    }
}

impl Repin for SqliteLock {
    async fn repin(&mut self, tail: Tail) -> Result<(), StoreError> {
        let call = self.inner.call("repin", &self.locked.workflow);
        self.inner.refuse_when_closed()?;
        replace_pin(&self.locked, tail).map_err(|error| call.io(error))
    }
}

fn replace_pin(locked: &Locked, tail: Tail) -> std::io::Result<()> {
    let before = pin::read(&locked.file)?;
    pin::replace(&locked.file, &before, tail)?;
    // A lock file that was lost has just been made anew.
    paths::sync_directory(&locked.paths.directory)
}
