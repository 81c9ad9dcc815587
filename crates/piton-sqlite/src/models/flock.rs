//! The queue for a contended lock: callers that come and go while another process holds it.
//!
//! The law: each caller that stays gets the lock, no two have it at once, a lock that arrives for
//! one who has gone goes to the next or is let go, and the thread that waits ends with the last
//! waiter.

use std::cell::RefCell;
use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use shuttle::future;
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

use super::explore;
use crate::flock::{Attempt, Lockable, Queue, attempt};

const PATIENCE: Duration = Duration::from_secs(3600);

/// Stands for the lock that the system keeps for one file.
#[derive(Debug, Default)]
struct System {
    is_locked: Mutex<bool>,
    released: Condvar,
    holders: AtomicUsize,
}

thread_local! {
    /// The file at the one path, as an opener must find it.
    static SYSTEM: RefCell<Arc<System>> = RefCell::default();
}

/// Stands for an open file.
#[derive(Debug)]
struct Handle {
    system: Arc<System>,
    holds: Mutex<bool>,
}

fn open(_: &Path) -> io::Result<Handle> {
    Ok(Handle {
        system: SYSTEM.with_borrow(Arc::clone),
        holds: Mutex::new(false),
    })
}

impl Handle {
    fn take(&self, is_locked: &mut bool) {
        assert_eq!(self.system.holders.fetch_add(1, Ordering::SeqCst), 0);
        *is_locked = true;
        *self.holds.lock().expect("no task panics") = true;
    }
}

impl Lockable for Handle {
    fn try_lock(&self) -> Result<(), TryLockError> {
        let mut is_locked = self.system.is_locked.lock().expect("no task panics");
        if *is_locked {
            return Err(TryLockError::WouldBlock);
        }
        self.take(&mut is_locked);
        Ok(())
    }

    fn lock(&self) -> io::Result<()> {
        let mut is_locked = self.system.is_locked.lock().expect("no task panics");
        while *is_locked {
            is_locked = self
                .system
                .released
                .wait(is_locked)
                .expect("no task panics");
        }
        self.take(&mut is_locked);
        Ok(())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if *self.holds.lock().expect("no task panics") {
            self.system.holders.fetch_sub(1, Ordering::SeqCst);
            *self.system.is_locked.lock().expect("no task panics") = false;
            self.system.released.notify_one();
        }
    }
}

/// A fresh file, held by another process for a while.
fn contended() -> (Queue<Handle>, PathBuf, Handle) {
    SYSTEM.set(Arc::default());
    let path = PathBuf::from("checkpoints.lock");
    let Ok(Attempt::Locked(other)) = attempt(&path, open) else {
        panic!("a fresh file is free");
    };
    (Queue::default(), path, other)
}

fn join(queue: &Queue<Handle>, path: &Path) -> future::JoinHandle<()> {
    let (queue, path) = (queue.clone(), path.to_owned());
    future::spawn(async move {
        let locked = queue.lock(&path, open, PATIENCE).await;
        let locked = locked
            .expect("no system call fails")
            .expect("patience does not end here");
        future::yield_now().await;
        drop(locked);
    })
}

/// The lock is free and nobody is expected: a helper that stayed would hold it or wait for it.
fn assert_quiet(queue: &Queue<Handle>, path: &Path) {
    while !queue.has_no_waiter(path) {
        thread::yield_now();
    }
    let free = future::block_on(queue.lock(path, open, PATIENCE));
    assert!(free.expect("no system call fails").is_some());
}

#[test]
fn every_caller_that_stays_gets_the_lock() {
    explore(|| {
        let (queue, path, other) = contended();
        let callers = [(); 3].map(|()| join(&queue, &path));
        drop(other);
        for caller in callers {
            future::block_on(caller).expect("it gets the lock");
        }
        assert_quiet(&queue, &path);
    });
}

#[test]
fn a_caller_that_goes_takes_no_lock_with_it() {
    explore(|| {
        let (queue, path, other) = contended();
        let [first, second, third] = [(); 3].map(|()| join(&queue, &path));
        thread::yield_now();
        first.abort();
        drop(other);
        third.abort();
        future::block_on(second).expect("the one that stays gets the lock");
        for gone in [first, third] {
            drop(future::block_on(gone));
        }
        assert_quiet(&queue, &path);
    });
}
