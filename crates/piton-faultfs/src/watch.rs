//! Owns who watches which directory, what has been recorded there and which calls are to fail. It
//! makes no system call.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::calls::{Call, Failure, Lasting, Outcome, Remark};
use crate::disk::Op;
use crate::interpose;

/// Whether a disk does what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Honesty {
    /// A sync that succeeded has made data durable.
    Honest,
    /// A sync succeeds and does nothing.
    Lying,
}

/// How many watches there are; while there are none, every call goes straight through.
static WATCHES: AtomicUsize = AtomicUsize::new(0);
static JOURNALS: Mutex<Vec<Arc<Watched>>> = Mutex::new(Vec::new());

/// One watched directory.
#[derive(Debug)]
pub(crate) struct Watched {
    root: PathBuf,
    journal: Mutex<Journal>,
}

/// What happened, and what is to happen.
#[derive(Debug)]
pub(crate) struct Journal {
    ops: Vec<Op>,
    honesty: Honesty,
    counts: BTreeMap<Call, u64>,
    failures: Vec<Ordered>,
    hits: u64,
}

#[derive(Debug)]
struct Ordered {
    failure: Failure,
    seen: u64,
}

/// Watches what this process does beneath one directory, until dropped.
#[derive(Debug)]
pub struct Watch {
    watched: Arc<Watched>,
}

impl Watch {
    /// Begins to watch.
    ///
    /// # Errors
    ///
    /// The directory can't be found.
    pub fn begin(directory: &Path, honesty: Honesty) -> std::io::Result<Self> {
        interpose::link();
        let watched = Arc::new(Watched {
            // Open files are known by their resolved paths.
            root: directory.canonicalize()?,
            journal: Mutex::new(Journal {
                ops: Vec::new(),
                honesty,
                counts: BTreeMap::new(),
                failures: Vec::new(),
                hits: 0,
            }),
        });
        journals().push(Arc::clone(&watched));
        WATCHES.fetch_add(1, Ordering::SeqCst);
        Ok(Self { watched })
    }

    /// Gives the resolved path that is watched; what uses another spelling is not seen.
    pub fn root(&self) -> &Path {
        &self.watched.root
    }

    /// Notes a remark in the record.
    pub fn remark(&self, remark: Remark) {
        self.watched.journal().ops.push(Op::Remark(remark));
    }

    /// Takes the record out.
    pub fn take_record(&self) -> Vec<Op> {
        std::mem::take(&mut self.watched.journal().ops)
    }

    /// Orders a failure, counted from now.
    pub fn fail(&self, failure: Failure) {
        let ordered = Ordered { failure, seen: 0 };
        self.watched.journal().failures.push(ordered);
    }

    /// Orders no further failures, and says how many calls have failed as ordered.
    pub fn heal(&self) -> u64 {
        let mut journal = self.watched.journal();
        journal.failures.clear();
        std::mem::take(&mut journal.hits)
    }

    /// Gives how many calls of each kind there were since the last time.
    pub fn take_counts(&self) -> BTreeMap<Call, u64> {
        std::mem::take(&mut self.watched.journal().counts)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHES.fetch_sub(1, Ordering::SeqCst);
        journals().retain(|watched| !Arc::ptr_eq(watched, &self.watched));
    }
}

impl Watched {
    /// No code panics while it holds a journal, so a poisoned one is whole.
    pub(crate) fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of a path below the watched directory.
    pub(crate) fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).to_owned()
    }
}

impl Journal {
    /// Counts a call, and says how it is to fail.
    pub(crate) fn decide(&mut self, call: Call, path: &Path) -> Option<Outcome> {
        let count = self.counts.entry(call).or_default();
        *count = count.saturating_add(1);
        let mut outcome = None;
        for ordered in &mut self.failures {
            let failure = &ordered.failure;
            let is_meant = failure.call == call
                && failure
                    .only
                    .is_none_or(|name| path.file_name().is_some_and(|file| file == name));
            if !is_meant {
                continue;
            }
            ordered.seen = ordered.seen.saturating_add(1);
            let fails = match failure.lasting {
                Lasting::Once => ordered.seen == failure.nth,
                Lasting::FromThenOn => ordered.seen >= failure.nth,
            };
            if fails && outcome.is_none() {
                outcome = Some(failure.outcome);
            }
        }
        if outcome.is_some() {
            self.hits = self.hits.saturating_add(1);
        }
        outcome
    }

    pub(crate) fn push(&mut self, op: Op) {
        self.ops.push(op);
    }

    pub(crate) fn honesty(&self) -> Honesty {
        self.honesty
    }
}

/// Whether anybody watches anything.
pub(crate) fn is_idle() -> bool {
    WATCHES.load(Ordering::SeqCst) == 0
}

/// Finds who watches a path.
pub(crate) fn find(path: &Path) -> Option<Arc<Watched>> {
    let journals = journals();
    let mut found = journals
        .iter()
        .filter(|watched| path.starts_with(&watched.root));
    found.next().cloned()
}

fn journals() -> MutexGuard<'static, Vec<Arc<Watched>>> {
    JOURNALS.lock().unwrap_or_else(PoisonError::into_inner)
}
