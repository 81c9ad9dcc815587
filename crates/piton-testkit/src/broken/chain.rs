//! Owns reads of the plain store, and the lies that a read tells.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use piton_chain::link;
use piton_store::{PersistedChain, PersistedRow, StoreError, Stored};

use super::clay::Ledger;
use super::lie::Lie;

/// Rows of one step of a read.
const BATCH_ROWS: usize = 7;

/// One read of one chain.
pub struct ClayChain {
    rows: Vec<PersistedRow>,
    live: Option<Arc<Ledger>>,
    position: usize,
    dropped: Option<Arc<AtomicUsize>>,
}

impl ClayChain {
    pub(super) fn new(rows: Vec<PersistedRow>) -> Self {
        Self {
            rows,
            live: None,
            position: 0,
            dropped: None,
        }
    }

    pub(super) fn live(ledger: Arc<Ledger>) -> Self {
        Self {
            rows: Vec::new(),
            live: Some(ledger),
            position: 0,
            dropped: None,
        }
    }

    pub(super) fn counted(mut self, dropped: Arc<AtomicUsize>) -> Self {
        self.dropped = Some(dropped);
        self
    }

    fn look_again(&mut self) {
        if let Some(ledger) = &self.live {
            self.rows = ledger.state().rows.clone();
        }
    }
}

impl Drop for ClayChain {
    fn drop(&mut self) {
        if let Some(dropped) = self
            .dropped
            .take()
            .filter(|_| self.position < self.rows.len())
        {
            dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl fmt::Debug for ClayChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClayChain({} of {})", self.position, self.rows.len())
    }
}

impl PersistedChain for ClayChain {
    async fn next_rows(&mut self) -> Result<Vec<PersistedRow>, StoreError> {
        self.look_again();
        let rows: Vec<_> = self
            .rows
            .iter()
            .skip(self.position)
            .take(BATCH_ROWS)
            .cloned()
            .collect();
        self.position += rows.len();
        Ok(rows)
    }

    async fn count_next_head(&mut self, next_head: &Stored) -> Result<u64, StoreError> {
        self.look_again();
        let count = self
            .rows
            .iter()
            .filter(|row| &row.next_head == next_head)
            .count();
        Ok(u64::try_from(count).expect("few rows"))
    }
}

/// Gives rows as a read tells of them.
pub(super) fn told(lie: Lie, mut rows: Vec<PersistedRow>) -> Vec<PersistedRow> {
    match lie {
        Lie::ForgetsTheLastRow => {
            rows.pop();
        }
        Lie::ReordersById => {
            rows.sort_by(|left, right| {
                left.transition_id
                    .as_text()
                    .cmp(&right.transition_id.as_text())
            });
        }
        Lie::NumbersFromZero => rows.iter_mut().for_each(|row| row.sequence -= 1),
        Lie::Forks => {
            if let [.., before, last] = rows.as_mut_slice() {
                last.prior_head = before.prior_head.clone();
                let prior = last
                    .prior_head
                    .to_head()
                    .unwrap_or(piton_ledger::ChainHead::GENESIS);
                let bytes = last.event_bytes.as_deref().unwrap_or_default();
                last.next_head = link(&prior, bytes).to_string().into();
            }
        }
        _ => {}
    }
    rows
}
