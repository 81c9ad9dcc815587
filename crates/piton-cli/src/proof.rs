//! Owns the proof of one workflow's rows, one after another from genesis on. It reads and writes no
//! store, and says nothing about a whole chain: that is the verifier's.

use std::marker::PhantomData;

use piton_ledger::{EventError, Sequence, StateMachine, TransitionEvent, WorkflowId};
use piton_store::{PersistedRow, Tail, VerifiedRow};

/// How far the rows of a workflow have been proved.
#[derive(Debug)]
pub(crate) struct Proof<M> {
    workflow: WorkflowId,
    tail: Tail,
    machine: PhantomData<fn() -> M>,
}

/// A row is not the next one of its chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unproved {
    /// Its sequence is not the next one.
    #[error("the row is not the next one of its workflow, which has sequence {next}")]
    Sequence {
        /// The sequence that the next row has.
        next: Sequence,
    },
    /// Its event can't be read.
    #[error("the event of the row: {0}")]
    Event(#[from] EventError),
    /// It is readable and does not link.
    #[error(
        "the row does not link: its event, its ids or its heads are not the ones that the chain demands"
    )]
    Link,
    /// No row can follow.
    #[error("the chain is full")]
    Full,
}

impl<M: StateMachine> Proof<M> {
    pub(crate) fn new(workflow: WorkflowId) -> Self {
        Self {
            workflow,
            tail: Tail::Empty,
            machine: PhantomData,
        }
    }

    /// Gives the position of the last row that was proved.
    pub(crate) fn tail(&self) -> Tail {
        self.tail
    }

    /// Proves the next row; a refused one changes nothing.
    pub(crate) fn next(&mut self, row: &PersistedRow) -> Result<VerifiedRow, Unproved> {
        let next = self.tail.next_sequence().ok_or(Unproved::Full)?;
        let prior = self.tail.head();
        let verified = VerifiedRow::prove::<M>(row, &self.workflow, next, &prior)
            .ok_or_else(|| Self::explain(row, next))?;
        self.tail = Tail::At {
            sequence: next,
            head: verified.next_head(),
        };
        Ok(verified)
    }

    fn explain(row: &PersistedRow, next: Sequence) -> Unproved {
        if row.sequence != next.to_i64() {
            return Unproved::Sequence { next };
        }
        let bytes = row.event_bytes.as_deref().unwrap_or_default();
        match TransitionEvent::<M>::parse(bytes) {
            Err(error) => Unproved::Event(error),
            Ok(_) => Unproved::Link,
        }
    }
}
