//! Owns the way of verified rows into another ledger: audit, place, and why it may stop. It reads
//! no source and prints nothing.

mod told;

use piton_ledger::{Sequence, StateMachine, WorkflowId};
use piton_store::{
    AnyLock, AnyStore, AppendBatch as _, AppendLock as _, AppendStatus, Appended, Batch,
    ExpectedHead, SealedEvent, StoreError, Tail, VerifiedRow,
};
use piton_verify::{AuditVerdict, Checked, Expectations, ReplayVerifier};

pub(crate) use told::tell;

/// What became of one workflow whose rows are all in the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moved {
    /// How many rows were written.
    pub(crate) copied: u64,
    /// How many rows were there already.
    pub(crate) skipped: u64,
    /// The last of them.
    pub(crate) tail: Tail,
}

impl Moved {
    pub(crate) const NOTHING: Self = Self {
        copied: 0,
        skipped: 0,
        tail: Tail::Empty,
    };

    pub(crate) fn add(&mut self, other: Self) {
        self.copied = self.copied.saturating_add(other.copied);
        self.skipped = self.skipped.saturating_add(other.skipped);
    }

    pub(crate) fn count(&mut self, status: AppendStatus) {
        let counter = match status {
            AppendStatus::Appended => &mut self.copied,
            AppendStatus::AlreadyPresent => &mut self.skipped,
        };
        *counter = counter.saturating_add(1);
    }
}

/// Which chain is spoken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The one that is read.
    Source,
    /// The one that is written, before anything was written.
    Destination,
    /// The one that was written, afterwards.
    Copy,
}

/// Two intact chains that can't become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// The rows differ.
    #[error(
        "the destination holds another chain of this workflow: the two part at sequence {0}; move it to a store that does not hold the workflow"
    )]
    DifferentChain(Sequence),
    /// The destination has all rows and further ones.
    #[error(
        "the destination's chain goes on at sequence {0}, where that of the source has ended; it is the newer of the two"
    )]
    LongerChain(Sequence),
    /// The rows that are to be written have one transition twice.
    #[error(
        "the transition of the row at sequence {0} stands in an earlier row too, which no store takes"
    )]
    RepeatedTransition(Sequence),
}

impl Refusal {
    /// Gives the name used in output.
    pub(crate) const fn slug(self) -> &'static str {
        match self {
            Self::DifferentChain(_) => "different_chain",
            Self::LongerChain(_) => "longer_chain",
            Self::RepeatedTransition(_) => "repeated_transition",
        }
    }

    /// Gives the sequence at which the chains part.
    pub(crate) const fn sequence(self) -> Sequence {
        match self {
            Self::DifferentChain(sequence)
            | Self::LongerChain(sequence)
            | Self::RepeatedTransition(sequence) => sequence,
        }
    }
}

/// Why one workflow was not moved, or not to its end.
#[derive(Debug)]
pub(crate) enum Halt {
    /// A chain is not intact.
    NotIntact(Side, Checked<AuditVerdict>),
    /// The chains can't become one.
    Refused(Refusal),
    /// The source gave other rows than when it was audited, and is intact all the same.
    Changed,
    /// A store failed.
    Failed(Side, StoreError),
}

/// Makes a store's error one of this side.
pub(crate) fn at(side: Side) -> impl Fn(StoreError) -> Halt {
    move |error| Halt::Failed(side, error)
}

/// Audits one whole chain and gives its tail.
pub(crate) async fn audit<M: StateMachine>(
    store: &AnyStore,
    workflow: &WorkflowId,
    side: Side,
    expected: Option<Tail>,
) -> Result<Tail, Halt> {
    let expectations = Expectations {
        expected,
        ..Expectations::default()
    };
    let checked = ReplayVerifier::new(store)
        .audit::<M>(workflow, expectations, |_| ())
        .await
        .map_err(at(side))?;
    match checked.verdict {
        AuditVerdict::Verified {
            tail_chain_head,
            rows,
        } => Ok(Tail::At {
            sequence: rows,
            head: tail_chain_head,
        }),
        AuditVerdict::EmptyWorkflow { .. } => Ok(Tail::Empty),
        AuditVerdict::ChainMismatch(_) | AuditVerdict::TornWrite(_) => {
            Err(Halt::NotIntact(side, checked))
        }
    }
}

/// Puts one row where it stood, or finds it there.
///
/// The rows before it must have been placed: what differs is then this row.
pub(crate) async fn place(lock: &mut AnyLock, row: VerifiedRow) -> Result<AppendStatus, Halt> {
    let (sequence, prior, next) = (row.sequence(), row.prior_head(), row.next_head());
    let event = SealedEvent::from(row);
    let appended = match lock.append(&event, ExpectedHead::Exactly(prior)).await {
        Ok(appended) => appended,
        Err(StoreError::StaleHead { .. }) => {
            return Err(Halt::Refused(Refusal::DifferentChain(sequence)));
        }
        Err(StoreError::TransitionConflict { .. }) => {
            let found = lock
                .find(event.transition_id())
                .await
                .map_err(at(Side::Destination))?;
            let elsewhere = found.map_or(i64::MAX, |row| row.sequence);
            return Err(Halt::Refused(misplaced(sequence, elsewhere)));
        }
        Err(error) => return Err(Halt::Failed(Side::Destination, error)),
    };
    let Appended {
        sequence: found,
        head,
        status,
    } = appended;
    if (found, head) == (sequence, next) {
        Ok(status)
    } else {
        Err(Halt::Refused(misplaced(sequence, found.to_i64())))
    }
}

/// Puts rows that follow each other where they stood, by one commit, or finds them there; gives
/// how many were written.
///
/// As for [`place`], the rows before them must have been placed.
pub(crate) async fn place_all(lock: &mut AnyLock, rows: Vec<VerifiedRow>) -> Result<Moved, Halt> {
    let Some(first) = rows.first() else {
        return Ok(Moved::NOTHING);
    };
    let prior = ExpectedHead::Exactly(first.prior_head());
    let events: Vec<_> = rows.iter().cloned().map(SealedEvent::from).collect();
    let mut moved = Moved::NOTHING;
    if let Ok(batch) = Batch::new(events) {
        match lock.append_batch(&batch, prior).await {
            Ok(appended) if stand(&rows, &appended) => {
                for answer in appended {
                    moved.count(answer.status);
                }
                return Ok(moved);
            }
            // Row by row it shows which of them is in the way.
            Ok(_) | Err(StoreError::StaleHead { .. } | StoreError::TransitionConflict { .. }) => {}
            Err(error) => return Err(Halt::Failed(Side::Destination, error)),
        }
    }
    for row in rows {
        moved.count(place(lock, row).await?);
    }
    Ok(moved)
}

/// Whether every row stands where it did in the source.
fn stand(rows: &[VerifiedRow], appended: &[Appended]) -> bool {
    let place = |answer: &Appended| (answer.sequence, answer.head);
    rows.iter()
        .map(|row| (row.sequence(), row.next_head()))
        .eq(appended.iter().map(place))
}

/// The rows before this one are the same on both sides, so an earlier place is a repetition.
fn misplaced(sequence: Sequence, found: i64) -> Refusal {
    if found < sequence.to_i64() {
        Refusal::RepeatedTransition(sequence)
    } else {
        Refusal::DifferentChain(sequence)
    }
}
