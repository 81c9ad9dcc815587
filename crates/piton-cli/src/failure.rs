//! Owns what ends a command before it has done its work, and the words for it. It prints nothing
//! and never repeats text of the input.

use std::io;

use piton_ledger::{EventError, WorkflowId};
use piton_store::{Retry, SealError, StoreError};
use piton_verify::{AuditVerdict, RepinError};
use serde::Serialize;

use crate::exit::ExitStatus;
use crate::input::MAX_LINE_BYTES;
use crate::proof::Unproved;
use crate::transfer::{Halt, Refusal};

/// A command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The arguments parse and make no sense together.
    #[error("{0}")]
    Usage(&'static str),
    /// The input file can't be opened.
    #[error(
        "the input file can't be opened: {0}; name a file that exists, or `-` for the standard input"
    )]
    OpenInput(#[source] io::Error),
    /// The input can't be read.
    #[error("line {number}: the input can't be read: {source}")]
    ReadInput {
        /// The line that was being read.
        number: u64,
        /// What the operating system said.
        source: io::Error,
    },
    /// The output can't be written.
    #[error("the output can't be written: {0}")]
    Output(#[source] io::Error),
    /// One line of the input is refused.
    #[error("line {number}: {reason}")]
    Line {
        /// Its number, from 1.
        number: u64,
        /// Why.
        reason: LineError,
    },
    /// The store failed or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A tail can't be accepted.
    #[error(transparent)]
    Repin(#[from] RepinError),
    /// The runtime can't be started.
    #[error("the runtime can't be started: {0}")]
    Runtime(#[source] io::Error),
    /// The demonstration did not go as it should.
    #[error("the demo did not go as told: {0}")]
    Demo(String),
}

/// Why one line of the input is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    /// The line is too long to be an event.
    #[error(
        "the line is longer than {MAX_LINE_BYTES} bytes; store the evidence elsewhere and refer to it by its digest"
    )]
    TooLong,
    /// The line is not UTF-8.
    #[error("the line is not UTF-8 at byte {0}")]
    NotUtf8(usize),
    /// The line is not one JSON object.
    #[error("not one JSON object a line: syntax error at column {0}")]
    Syntax(usize),
    /// The object is not an event.
    #[error("{0}")]
    Event(#[from] EventError),
    /// The event may not be persisted.
    #[error("{0}")]
    Seal(#[from] SealError),
    /// A fence needs to know the expected head.
    #[error("field chain_head is missing, and --fenced takes it as the expected head")]
    FenceWithoutHead,
    /// No transition id can be minted.
    #[error("no further transition id can be minted in this millisecond; try again")]
    Mint,
    /// The object is not a raw row.
    #[error(
        "not a row: it has workflow_id, sequence, transition_id, prior_head, next_head, event, written_at and nothing else; the fault is before column {0}"
    )]
    NotARow(usize),
    /// The row is not the next one of its chain.
    #[error(transparent)]
    Unproved(#[from] Unproved),
    /// The store holds something else.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The chain that the store holds is not intact.
    #[error("the chain that the store holds is not intact; run verify")]
    NotIntact(AuditVerdict),
    /// The store failed or refused.
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl From<Halt> for LineError {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::NotIntact(_, checked) => Self::NotIntact(checked.verdict),
            Halt::Refused(refusal) => Self::Refused(refusal),
            Halt::Changed => Self::Unproved(Unproved::Link),
            Halt::Failed(_, error) => Self::Store(error),
        }
    }
}

impl From<&Failure> for ExitStatus {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Usage(_) | Failure::OpenInput(_) => Self::Usage,
            Failure::ReadInput { .. }
            | Failure::Output(_)
            | Failure::Runtime(_)
            | Failure::Demo(_) => Self::Unexpected,
            Failure::Store(error) => error.into(),
            Failure::Repin(error) => error.into(),
            Failure::Line { reason, .. } => match reason {
                LineError::Store(error) => error.into(),
                LineError::Mint => Self::Unexpected,
                LineError::NotIntact(verdict) => verdict.into(),
                LineError::NotARow(_)
                | LineError::Unproved(_)
                | LineError::Refused(_)
                | LineError::TooLong
                | LineError::NotUtf8(_)
                | LineError::Syntax(_)
                | LineError::Event(_)
                | LineError::Seal(_)
                | LineError::FenceWithoutHead => Self::Refused,
            },
        }
    }
}

impl Failure {
    /// Gives what to do about it, where the message does not say so itself.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Store(error) | Self::Repin(RepinError::Store(error)) => advice(error),
            Self::Line { reason, .. } => match reason {
                LineError::Store(error) => advice(error),
                LineError::NotARow(_) | LineError::Unproved(_) => Some(
                    "the lines were changed, cut or mixed up; export them again from an intact ledger; the lines before this one are recorded",
                ),
                LineError::Refused(_) | LineError::NotIntact(_) => None,
                LineError::TooLong
                | LineError::NotUtf8(_)
                | LineError::Syntax(_)
                | LineError::Event(_)
                | LineError::Seal(_)
                | LineError::FenceWithoutHead
                | LineError::Mint => Some(
                    "mend the line and send it and the rest again; the lines before it are recorded",
                ),
            },
            Self::Repin(RepinError::NotTheTail { .. }) => Some(
                "find out from a backup or a kept head which tail was acknowledged: whoever accepts a shorter one gives the lost rows up",
            ),
            Self::Usage(_) => Some("for more information, try '--help'"),
            Self::Repin(_)
            | Self::OpenInput(_)
            | Self::ReadInput { .. }
            | Self::Output(_)
            | Self::Runtime(_)
            | Self::Demo(_) => None,
        }
    }
}

/// Gives what to do about a store's error, where its message does not say so itself.
pub(crate) fn advice(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::Busy { .. } => Some("try again, or wait longer with --busy-timeout"),
        StoreError::TransitionConflict { .. } => {
            Some("a new event needs a new transition_id; only the same event may be sent again")
        }
        StoreError::UnknownWorkflow { .. } => Some("see `piton list` for what is there"),
        StoreError::NewerLayout { .. } => Some("use the version of piton that wrote the ledger"),
        StoreError::ChainFull { .. } => Some("begin a new workflow"),
        StoreError::PinDamaged { .. } => Some(
            "restore the lock file from a backup; or check the rows with `piton verify --ignore-pin` and accept them with `piton repin`",
        ),
        StoreError::Engine {
            retry: Retry::Helps,
            ..
        } => Some("try again"),
        StoreError::Engine {
            retry: Retry::IsUseless,
            ..
        } => Some(
            "see to the disk, the permissions and the schema of the store; nothing was decided about the chain",
        ),
        StoreError::StaleHead { .. }
        | StoreError::PinContradicted { .. }
        | StoreError::UnreadableColumn { .. }
        | StoreError::UnreadableEvent { .. }
        | StoreError::WrongWorkflow { .. }
        | StoreError::Unfit { .. }
        | StoreError::Closed
        | _ => None,
    }
}

/// The JSON form of a workflow that could not be checked.
#[derive(Debug, Serialize)]
pub(crate) struct Unchecked<'a> {
    workflow_id: &'a WorkflowId,
    /// Which of two stores failed, where there are two.
    #[serde(skip_serializing_if = "Option::is_none")]
    side: Option<&'static str>,
    error: UncheckedError,
}

#[derive(Debug, Serialize)]
struct UncheckedError {
    kind: &'static str,
    message: String,
    retry: bool,
}

impl<'a> Unchecked<'a> {
    pub(crate) fn new(workflow_id: &'a WorkflowId, error: &StoreError) -> Self {
        Self {
            workflow_id,
            side: None,
            error: UncheckedError {
                kind: slug(error),
                message: error.to_string(),
                retry: error.retry() == Retry::Helps,
            },
        }
    }

    /// Names the store that failed.
    pub(crate) fn at(self, side: &'static str) -> Self {
        Self {
            side: Some(side),
            ..self
        }
    }
}

/// Gives the name of a store's error in output.
fn slug(error: &StoreError) -> &'static str {
    match error {
        StoreError::Busy { .. } => "busy",
        StoreError::StaleHead { .. } => "stale_head",
        StoreError::TransitionConflict { .. } => "transition_conflict",
        StoreError::PinContradicted { .. } => "pin_contradicted",
        StoreError::PinDamaged { .. } => "pin_damaged",
        StoreError::UnreadableColumn { .. } => "unreadable_column",
        StoreError::UnreadableEvent { .. } => "unreadable_event",
        StoreError::WrongWorkflow { .. } => "wrong_workflow",
        StoreError::ChainFull { .. } => "chain_full",
        StoreError::NewerLayout { .. } => "newer_layout",
        StoreError::UnknownWorkflow { .. } => "unknown_workflow",
        StoreError::Unfit { .. } => "unfit",
        StoreError::Engine { .. } => "engine",
        StoreError::Closed => "closed",
        _ => "other",
    }
}
