//! Owns the exit codes, which are a promise to scripts, and what leads to each. It prints nothing.

use std::fmt::Write as _;

use piton_ledger::StateMachine;
use piton_store::{PinFinding, StoreError};
use piton_verify::{AuditVerdict, RepinError, ReplayVerdict};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitStatus {
    /// Intact, or done.
    Done,
    /// Something that no other code stands for.
    Unexpected,
    /// The command line is wrong.
    Usage,
    /// The rows are not the ones that the chain demands.
    ChainMismatch,
    /// A row is damaged, or acknowledged rows are gone.
    TornWrite,
    /// The ledger could not be read or written: neither intact nor tampered.
    CouldNotCheck,
    /// The ledger is fine, and what was asked of it is refused.
    Refused,
}

impl ExitStatus {
    /// Every status in the order of the codes.
    pub const ALL: [Self; 7] = [
        Self::Done,
        Self::Unexpected,
        Self::Usage,
        Self::ChainMismatch,
        Self::TornWrite,
        Self::CouldNotCheck,
        Self::Refused,
    ];

    /// Gives the code that the process exits with.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Unexpected => 1,
            Self::Usage => 2,
            Self::ChainMismatch => 3,
            Self::TornWrite => 4,
            Self::CouldNotCheck => 5,
            Self::Refused => 6,
        }
    }

    /// Gives what the code means, for people.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "intact or done; an empty workflow is intact",
            Self::Unexpected => "unexpected: the input or the output failed, or a fault in piton",
            Self::Usage => "usage: a wrong option, argument, id or store URL",
            Self::ChainMismatch => "chain mismatch: a row is not the one that the chain demands",
            Self::TornWrite => "torn write: a row is damaged, or acknowledged rows are gone",
            Self::CouldNotCheck => {
                "could not check: unreadable, locked, unfit or of a newer version"
            }
            Self::Refused => {
                "refused: a bad event (JSON, edge, boundary, size, id), a stale head, a conflict, \
                 or a workflow to delete or repin that is unknown"
            }
        }
    }

    /// Gives the table of all codes, one a line.
    pub fn table() -> String {
        let mut table = String::from("Exit codes:\n");
        for status in Self::ALL {
            // Writing to a string can't fail.
            let _ = writeln!(table, "  {}  {}", status.code(), status.meaning());
        }
        table.push_str("With several workflows the worst counts, in the order 3, 4, 5, 6, 0.");
        table
    }

    /// Gives the worse of two results of a check, in the order 3, 4, 5, 6, 0.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        if other.severity() > self.severity() {
            other
        } else {
            self
        }
    }

    const fn severity(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Usage => 1,
            Self::Refused => 2,
            Self::Unexpected => 3,
            Self::CouldNotCheck => 4,
            Self::TornWrite => 5,
            Self::ChainMismatch => 6,
        }
    }
}

impl From<&AuditVerdict> for ExitStatus {
    fn from(verdict: &AuditVerdict) -> Self {
        match verdict {
            AuditVerdict::Verified { .. } | AuditVerdict::EmptyWorkflow { .. } => Self::Done,
            AuditVerdict::ChainMismatch(_) => Self::ChainMismatch,
            AuditVerdict::TornWrite(_) => Self::TornWrite,
        }
    }
}

impl<M: StateMachine> From<&ReplayVerdict<M>> for ExitStatus {
    fn from(verdict: &ReplayVerdict<M>) -> Self {
        match verdict {
            ReplayVerdict::Verified { .. } | ReplayVerdict::EmptyWorkflow { .. } => Self::Done,
            ReplayVerdict::ChainMismatch(_) => Self::ChainMismatch,
            ReplayVerdict::TornWrite(_) => Self::TornWrite,
        }
    }
}

impl From<&StoreError> for ExitStatus {
    fn from(error: &StoreError) -> Self {
        match error {
            StoreError::PinContradicted { finding, .. } => match finding {
                PinFinding::TooShort => Self::TornWrite,
                PinFinding::DifferentHead => Self::ChainMismatch,
            },
            StoreError::StaleHead { .. }
            | StoreError::TransitionConflict { .. }
            | StoreError::ChainFull { .. }
            | StoreError::UnknownWorkflow { .. } => Self::Refused,
            StoreError::Busy { .. }
            | StoreError::PinDamaged { .. }
            | StoreError::UnreadableColumn { .. }
            | StoreError::UnreadableEvent { .. }
            | StoreError::NewerLayout { .. }
            | StoreError::Unfit { .. }
            | StoreError::Engine { .. } => Self::CouldNotCheck,
            StoreError::WrongWorkflow { .. } | StoreError::Closed | _ => Self::Unexpected,
        }
    }
}

impl From<&RepinError> for ExitStatus {
    fn from(error: &RepinError) -> Self {
        match error {
            RepinError::NotIntact(verdict) => verdict.into(),
            RepinError::NotTheTail { .. } => Self::Refused,
            RepinError::Store(error) => error.into(),
            _ => Self::Unexpected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_dense_and_in_order() {
        let codes: Vec<u8> = ExitStatus::ALL.iter().map(|status| status.code()).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn the_worst_of_several_checks_counts() {
        let order = [
            ExitStatus::Done,
            ExitStatus::CouldNotCheck,
            ExitStatus::TornWrite,
            ExitStatus::ChainMismatch,
        ];
        for (rank, worse) in order.iter().enumerate() {
            for better in &order[..=rank] {
                assert_eq!(better.worse(*worse), *worse);
                assert_eq!(worse.worse(*better), *worse);
            }
        }
    }
}
