//! Owns what can go wrong between a ledger and its engine. Tampering that only a walk can see is
//! a verdict and not here.

use std::error::Error;
use std::time::Duration;

use piton_ledger::{ChainHead, TransitionId, WorkflowId};

use crate::tail::Tail;

/// Whether the same call may succeed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Nothing is wrong with the call; try again.
    Helps,
    /// Something must change first.
    IsUseless,
}

/// How the rows of a workflow contradict its pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinFinding {
    /// There are fewer rows than the pin says: acknowledged rows are gone.
    TooShort,
    /// The row at the pinned sequence has another head.
    DifferentHead,
}

/// A store could not do what was asked.
///
/// Each variant says what was being done, to which workflow, and [`StoreError::retry`] whether
/// trying again can help. A refused append has changed nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else holds the append lock.
    #[error(
        "workflow {workflow}: the append lock was not free within {waited:?}; another writer holds it"
    )]
    Busy {
        /// The workflow.
        workflow: WorkflowId,
        /// How long the call waited.
        waited: Duration,
    },
    /// The tail is not the head that the caller expected.
    #[error(
        "workflow {workflow}: stale head: expected {expected}, the tail is {actual}; hydrate again before appending"
    )]
    StaleHead {
        /// The workflow.
        workflow: WorkflowId,
        /// The head that the caller expected.
        expected: ChainHead,
        /// The head of the tail.
        actual: ChainHead,
    },
    /// The transition id is taken by an event with other bytes.
    #[error(
        "workflow {workflow}: transition {transition_id} is already recorded with different content"
    )]
    TransitionConflict {
        /// The workflow.
        workflow: WorkflowId,
        /// The id that is taken.
        transition_id: TransitionId,
    },
    /// The rows contradict the pin: an integrity failure, and nothing may be appended.
    #[error(
        "workflow {workflow}: the rows contradict the pin {pin} ({}); run verify and restore from a backup",
        match finding { PinFinding::TooShort => "acknowledged rows are missing", PinFinding::DifferentHead => "the pinned row has another head" }
    )]
    PinContradicted {
        /// The workflow.
        workflow: WorkflowId,
        /// What the store had noted outside the rows.
        pin: Tail,
        /// How the rows differ.
        finding: PinFinding,
    },
    /// The pin is missing or unreadable, so the tail can't be checked.
    #[error(
        "workflow {workflow}: the pin is damaged or missing, so the tail can't be checked; see repin"
    )]
    PinDamaged {
        /// The workflow.
        workflow: WorkflowId,
    },
    /// A stored column can't be read as what it should be.
    #[error("workflow {workflow}: the stored {column} of the last row is unreadable; run verify")]
    UnreadableColumn {
        /// The workflow.
        workflow: WorkflowId,
        /// The column.
        column: &'static str,
    },
    /// A stored event is not an event of the ledger that reads it.
    #[error("workflow {workflow}: the event at sequence {sequence} is unreadable; run verify")]
    UnreadableEvent {
        /// The workflow.
        workflow: WorkflowId,
        /// The stored sequence of the row.
        sequence: i64,
    },
    /// The event belongs to another workflow than the lock.
    #[error("workflow {workflow}: the lock can't append an event of workflow {event_workflow}")]
    WrongWorkflow {
        /// The workflow of the lock.
        workflow: WorkflowId,
        /// The workflow of the event.
        event_workflow: WorkflowId,
    },
    /// The chain has `i64::MAX` rows.
    #[error("workflow {workflow}: the chain is full")]
    ChainFull {
        /// The workflow.
        workflow: WorkflowId,
    },
    /// The ledger was written by a newer Piton.
    #[error(
        "workflow {workflow}: layout version {found} is newer than {newest}, the newest this version knows"
    )]
    NewerLayout {
        /// The workflow.
        workflow: WorkflowId,
        /// The version that was found.
        found: i64,
        /// The newest version that is known.
        newest: i64,
    },
    /// The workflow does not exist, and the call needs one that does.
    #[error("workflow {workflow}: nothing is recorded")]
    UnknownWorkflow {
        /// The workflow.
        workflow: WorkflowId,
    },
    /// The place is not fit to hold a ledger, such as a symlinked directory, a file system that
    /// declines durable writes, or an engine with a known fault.
    #[error("{action}{}: {reason}", of(workflow.as_ref()))]
    Unfit {
        /// What was being done.
        action: &'static str,
        /// To which workflow, if to one.
        workflow: Option<WorkflowId>,
        /// Why the place is unfit and what to do.
        reason: String,
    },
    /// The engine or the operating system failed.
    #[error("{action}{}: {source}", of(workflow.as_ref()))]
    Engine {
        /// What was being done.
        action: &'static str,
        /// To which workflow, if to one.
        workflow: Option<WorkflowId>,
        /// Whether trying again can help.
        retry: Retry,
        /// What the engine said.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The store has been closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Says whether the same call may succeed later.
    pub const fn retry(&self) -> Retry {
        match self {
            Self::Busy { .. } => Retry::Helps,
            Self::Engine { retry, .. } => *retry,
            Self::StaleHead { .. }
            | Self::TransitionConflict { .. }
            | Self::PinContradicted { .. }
            | Self::PinDamaged { .. }
            | Self::UnreadableColumn { .. }
            | Self::UnreadableEvent { .. }
            | Self::WrongWorkflow { .. }
            | Self::ChainFull { .. }
            | Self::NewerLayout { .. }
            | Self::UnknownWorkflow { .. }
            | Self::Unfit { .. }
            | Self::Closed => Retry::IsUseless,
        }
    }
}

fn of(workflow: Option<&WorkflowId>) -> String {
    workflow
        .map(|id| format!(" of workflow {id}"))
        .unwrap_or_default()
}
