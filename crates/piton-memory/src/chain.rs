//! Owns the rows of one workflow and reads of them. It judges nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use piton_ledger::{ChainHead, Sequence, TransitionId};
use piton_store::{
    PersistedChain, PersistedRow, PinFinding, SealedEvent, StoreError, Stored, Tail,
};

use crate::store::Workflow;

/// How many rows one step of a read gives.
const BATCH_ROWS: usize = 256;

/// The rows of one workflow, and the note of its tail.
pub(crate) struct Chain {
    rows: Vec<Row>,
    by_transition: BTreeMap<TransitionId, usize>,
    pin: Tail,
}

struct Row {
    event: SealedEvent,
    sequence: Sequence,
    prior_head: ChainHead,
    next_head: ChainHead,
    written_at: String,
}

impl Row {
    fn to_persisted(&self) -> PersistedRow {
        PersistedRow {
            sequence: self.sequence.to_i64(),
            transition_id: self.event.transition_id().to_string().into(),
            prior_head: self.prior_head.to_string().into(),
            next_head: self.next_head.to_string().into(),
            event_bytes: Some(self.event.bytes().to_vec()),
            written_at: self.written_at.clone().into(),
        }
    }
}

/// A row that an earlier append wrote.
pub(crate) struct Present {
    pub(crate) sequence: Sequence,
    pub(crate) head: ChainHead,
    pub(crate) same_bytes: bool,
}

impl Chain {
    pub(crate) fn new() -> Self {
        Self {
            rows: Vec::new(),
            by_transition: BTreeMap::new(),
            pin: Tail::Empty,
        }
    }

    pub(crate) fn tail(&self) -> Tail {
        self.rows.last().map_or(Tail::Empty, |row| Tail::At {
            sequence: row.sequence,
            head: row.next_head,
        })
    }

    pub(crate) fn pin(&self) -> Tail {
        self.pin
    }

    pub(crate) fn set_pin(&mut self, pin: Tail) {
        self.pin = pin;
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn row(&self, position: usize) -> Option<PersistedRow> {
        self.rows.get(position).map(Row::to_persisted)
    }

    pub(crate) fn find(&self, transition: TransitionId) -> Option<PersistedRow> {
        self.row(*self.by_transition.get(&transition)?)
    }

    /// Says how the rows contradict the pin, if they do.
    pub(crate) fn pin_finding(&self) -> Option<PinFinding> {
        let Tail::At { sequence, head } = self.pin else {
            return None;
        };
        match self.rows.iter().rev().find(|row| row.sequence == sequence) {
            None => Some(PinFinding::TooShort),
            Some(row) if row.next_head != head => Some(PinFinding::DifferentHead),
            Some(_) => None,
        }
    }

    pub(crate) fn present(&self, event: &SealedEvent) -> Option<Present> {
        let row = self
            .rows
            .get(*self.by_transition.get(&event.transition_id())?)?;
        let same_bytes = row.event.bytes() == event.bytes();
        Some(Present {
            sequence: row.sequence,
            head: row.next_head,
            same_bytes,
        })
    }

    /// Adds a row after the tail and notes it; gives its head.
    pub(crate) fn push(
        &mut self,
        event: &SealedEvent,
        sequence: Sequence,
        written_at: String,
    ) -> ChainHead {
        let prior_head = self.tail().head();
        let next_head = event.link(&prior_head);
        self.by_transition
            .insert(event.transition_id(), self.rows.len());
        self.rows.push(Row {
            event: event.clone(),
            sequence,
            prior_head,
            next_head,
            written_at,
        });
        self.pin = Tail::At {
            sequence,
            head: next_head,
        };
        next_head
    }
}

/// One read of one chain: the rows that were there when it began.
pub struct MemoryChain {
    workflow: Option<Arc<Workflow>>,
    position: usize,
    end: usize,
}

impl MemoryChain {
    pub(crate) fn new(workflow: Option<Arc<Workflow>>) -> Self {
        let end = workflow
            .as_ref()
            .map_or(0, |workflow| workflow.chain().len());
        Self {
            workflow,
            position: 0,
            end,
        }
    }
}

impl std::fmt::Debug for MemoryChain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MemoryChain({} of {})", self.position, self.end)
    }
}

impl PersistedChain for MemoryChain {
    async fn next_rows(&mut self) -> Result<Vec<PersistedRow>, StoreError> {
        let Some(workflow) = &self.workflow else {
            return Ok(Vec::new());
        };
        let end = self.position.saturating_add(BATCH_ROWS).min(self.end);
        let chain = workflow.chain();
        let rows = (self.position..end)
            .filter_map(|position| chain.row(position))
            .collect();
        self.position = end;
        Ok(rows)
    }

    async fn count_next_head(&mut self, next_head: &Stored) -> Result<u64, StoreError> {
        let (Some(workflow), Some(head)) = (&self.workflow, next_head.to_head()) else {
            return Ok(0);
        };
        let chain = workflow.chain();
        let count = chain
            .rows
            .iter()
            .take(self.end)
            .filter(|row| row.next_head == head)
            .count();
        Ok(u64::try_from(count).unwrap_or(u64::MAX))
    }
}
