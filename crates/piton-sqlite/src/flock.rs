//! Owns waiting for advisory file locks. It knows nothing of what they protect.
//!
//! A lock belongs to one open file and ends when that is closed, so each attempt opens its own and
//! none is ever duplicated: to unlock a duplicate would unlock all. A contended lock is waited for
//! by a plain thread, one for each contended path, which hands the lock to the first waiter that
//! is still there.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::sync::{Mutex, MutexGuard, thread};

/// What is locked: a file, or in tests the model of one.
pub(crate) trait Lockable: Sized + Send + 'static {
    /// Locks it without waiting.
    fn try_lock(&self) -> Result<(), TryLockError>;

    /// Locks it, blocking this thread until then.
    fn lock(&self) -> io::Result<()>;
}

impl Lockable for File {
    fn try_lock(&self) -> Result<(), TryLockError> {
        Self::try_lock(self)
    }

    fn lock(&self) -> io::Result<()> {
        Self::lock(self)
    }
}

/// How a path is opened to be locked.
pub(crate) type Opener<F = File> = fn(&Path) -> io::Result<F>;

type Waiters<F> = HashMap<PathBuf, VecDeque<oneshot::Sender<io::Result<F>>>>;

/// Those who wait for locks in this store.
#[derive(Debug)]
pub(crate) struct Queue<F = File>(Arc<Mutex<Waiters<F>>>);

/// What an attempt without waiting gave.
pub(crate) enum Attempt<F = File> {
    /// The file, locked.
    Locked(F),
    /// Another one holds the lock.
    Contended,
}

/// Tries to lock a file without waiting.
pub(crate) fn attempt<F: Lockable>(path: &Path, opener: Opener<F>) -> io::Result<Attempt<F>> {
    let file = opener(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Attempt::Locked(file)),
        Err(TryLockError::WouldBlock) => Ok(Attempt::Contended),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

impl<F> Default for Queue<F> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<F> Clone for Queue<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F: Lockable> Queue<F> {
    /// Locks a file, waiting for at most `patience`; none when that was not enough.
    ///
    /// # Cancel safety
    ///
    /// A lock that arrives after its waiter has gone is let go at once.
    pub(crate) async fn lock(
        &self,
        path: &Path,
        opener: Opener<F>,
        patience: Duration,
    ) -> io::Result<Option<F>> {
        if self.has_no_waiter(path)
            && let Attempt::Locked(file) = attempt(path, opener)?
        {
            return Ok(Some(file));
        }
        let arrival = self.join(path, opener)?;
        match tokio::time::timeout(patience, arrival).await {
            Ok(Ok(file)) => file.map(Some),
            Ok(Err(_)) => Err(io::Error::other(
                "the thread that waits for a lock has died",
            )),
            Err(_) => Ok(None),
        }
    }

    /// Who comes late must not overtake those who wait.
    pub(crate) fn has_no_waiter(&self, path: &Path) -> bool {
        !self.waiters().contains_key(path)
    }

    fn join(&self, path: &Path, opener: Opener<F>) -> io::Result<oneshot::Receiver<io::Result<F>>> {
        let (sender, receiver) = oneshot::channel();
        let mut waiters = self.waiters();
        if let Some(queue) = waiters.get_mut(path) {
            queue.push_back(sender);
            return Ok(receiver);
        }
        let (queue, path) = (self.clone(), path.to_owned());
        waiters.insert(path.clone(), VecDeque::from([sender]));
        let name = path.clone();
        let spawned = thread::Builder::new()
            .name("piton-lock".to_owned())
            .spawn(move || queue.serve(&path, opener));
        if let Err(error) = spawned {
            waiters.remove(&name);
            return Err(error);
        }
        Ok(receiver)
    }

    /// Gives each waiter in turn a lock of its own, until nobody waits.
    fn serve(&self, path: &Path, opener: Opener<F>) {
        loop {
            let mut locked = opener(path).and_then(|file| file.lock().map(|()| file));
            loop {
                let Some(waiter) = self.next(path) else {
                    return;
                };
                match waiter.send(locked) {
                    Ok(()) => break,
                    Err(refused) => locked = refused,
                }
            }
            if self.leave_if_idle(path) {
                return;
            }
        }
    }

    fn next(&self, path: &Path) -> Option<oneshot::Sender<io::Result<F>>> {
        let mut waiters = self.waiters();
        let waiter = waiters.get_mut(path).and_then(VecDeque::pop_front);
        if waiter.is_none() {
            waiters.remove(path);
        }
        waiter
    }

    fn leave_if_idle(&self, path: &Path) -> bool {
        let mut waiters = self.waiters();
        let is_idle = waiters.get(path).is_none_or(VecDeque::is_empty);
        if is_idle {
            waiters.remove(path);
        }
        is_idle
    }

    /// No code panics while it holds the map, so a poisoned one is whole.
    fn waiters(&self) -> MutexGuard<'_, Waiters<F>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
