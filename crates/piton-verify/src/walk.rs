//! Owns the pure walk over raw rows: recompute, compare, classify. It performs no input or output
//! and holds no row longer than one step. The rules are in `docs/chain-format.md`, "Verification".

use piton_chain::link;
use piton_ledger::{ChainHead, Sequence, TransitionId};
use piton_store::{PersistedRow, Stored, Tail};

use crate::batch::{Parsed, Place};
use crate::expectation::PinStatus;
use crate::verdict::{ChainMismatch, MismatchCause, TornReason, TornWrite};

/// The state of a walk between two rows, of constant size.
pub(crate) struct Walk {
    pinned: Option<Mark>,
    expected: Option<Mark>,
    rows: u64,
    recomputed: ChainHead,
    persisted: ChainHead,
    divergence: Option<Divergence>,
    is_torn: bool,
}

/// A tail from outside the rows, and the row that was found where it points.
struct Mark {
    tail: Tail,
    row: Option<(TransitionId, ChainHead)>,
}

struct Divergence {
    index: u64,
    transition_id: TransitionId,
    cause: MismatchCause,
    /// The row's sequence and next head, when that head is not the link of the row.
    unlinked: Option<(i64, Stored)>,
}

/// What one row gave.
pub(crate) enum Step<K> {
    /// The row links; here is what is kept of its event.
    Linked(K),
    /// The chain has diverged; the rest is hashed only.
    Diverged,
    /// The row is damaged; the walk is over.
    Torn(TornWrite),
}

/// What the whole walk gave.
pub(crate) enum Finding {
    Intact(Tail),
    Torn(TornWrite),
    Mismatch(ChainMismatch),
    /// A mismatch, unless the next head stands in another row too.
    Unlinked {
        mismatch: ChainMismatch,
        sequence: i64,
        next_head: Stored,
    },
}

impl Walk {
    pub(crate) fn new(pin: Option<Tail>, expected: Option<Tail>) -> Self {
        let mark = |tail| Mark { tail, row: None };
        Self {
            pinned: pin.map(mark),
            expected: expected.map(mark),
            rows: 0,
            recomputed: ChainHead::GENESIS,
            persisted: ChainHead::GENESIS,
            divergence: None,
            is_torn: false,
        }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Walks over one row and what was parsed of it, which is none when something does not parse.
    pub(crate) fn step<K>(&mut self, row: &PersistedRow, parsed: Option<Parsed<K>>) -> Step<K> {
        let step = self.judge_row(row, parsed);
        self.is_torn = match step {
            Step::Torn(_) => true,
            Step::Linked(_) | Step::Diverged => false,
        };
        step
    }

    fn judge_row<K>(&mut self, row: &PersistedRow, parsed: Option<Parsed<K>>) -> Step<K> {
        let index = self.rows;
        self.rows = index.saturating_add(1);
        if self.divergence.is_some() {
            self.hash_on(row);
            return Step::Diverged;
        }
        let torn = |reason| {
            Step::Torn(TornWrite {
                reason,
                offending_sequence: row.sequence,
            })
        };
        let Some(bytes) = row.event_bytes.as_deref() else {
            return torn(TornReason::NullEventBytes);
        };
        let Some(Parsed {
            kept,
            event_id,
            event_place,
            transition_id,
            prior_head,
            next_head,
        }) = parsed
        else {
            return torn(TornReason::UnparseableEvent);
        };

        let expected_prior = self.recomputed;
        let expected_next = link(&expected_prior, bytes);
        self.recomputed = expected_next;
        self.persisted = next_head;
        for mark in [&mut self.pinned, &mut self.expected].into_iter().flatten() {
            if mark.tail.sequence().map(Sequence::to_u64) == Some(self.rows) {
                mark.row = Some((event_id, next_head));
            }
        }

        let differences = [
            (
                u64::try_from(row.sequence) != Ok(self.rows),
                MismatchCause::Sequence,
            ),
            (event_place == Place::Foreign, MismatchCause::WorkflowId),
            (transition_id != event_id, MismatchCause::TransitionId),
            (prior_head != expected_prior, MismatchCause::PriorHead),
            (next_head != expected_next, MismatchCause::NextHead),
        ];
        match differences.into_iter().find(|(differs, _)| *differs) {
            None => Step::Linked(kept),
            Some((_, cause)) => {
                let unlinked =
                    (next_head != expected_next).then(|| (row.sequence, row.next_head.clone()));
                self.divergence = Some(Divergence {
                    index,
                    transition_id: event_id,
                    cause,
                    unlinked,
                });
                Step::Diverged
            }
        }
    }

    /// Past a divergence only the two tails are of interest.
    fn hash_on(&mut self, row: &PersistedRow) {
        if let Some(bytes) = row.event_bytes.as_deref() {
            self.recomputed = link(&self.recomputed, bytes);
        }
        if let Some(head) = row.next_head.to_head() {
            self.persisted = head;
        }
    }

    pub(crate) fn finish(self) -> Finding {
        if let Some(divergence) = &self.divergence {
            let mismatch =
                self.mismatch(divergence.index, divergence.transition_id, divergence.cause);
            return match divergence.unlinked.clone() {
                Some((sequence, next_head)) => Finding::Unlinked {
                    mismatch,
                    sequence,
                    next_head,
                },
                None => Finding::Mismatch(mismatch),
            };
        }
        let pinned = self.judge(self.pinned.as_ref(), MismatchCause::PinnedHead);
        let expected = self.judge(self.expected.as_ref(), MismatchCause::ExpectedHead);
        pinned
            .or(expected)
            .unwrap_or_else(|| Finding::Intact(self.tail()))
    }

    /// Says how the rows stand to the pin, where there is one.
    pub(crate) fn pin_status(&self) -> PinStatus {
        match self.pinned.as_ref().map(|mark| (mark.tail, mark.row)) {
            None => PinStatus::None,
            Some((Tail::Empty, _)) => PinStatus::Matched,
            Some((Tail::At { head, .. }, Some((_, found)))) if found == head => PinStatus::Matched,
            Some((Tail::At { .. }, Some(_))) => PinStatus::Contradicted,
            Some((Tail::At { .. }, None)) if self.is_torn || self.divergence.is_some() => {
                PinStatus::Unchecked
            }
            Some((Tail::At { .. }, None)) => PinStatus::Contradicted,
        }
    }

    fn judge(&self, mark: Option<&Mark>, cause: MismatchCause) -> Option<Finding> {
        let mark = mark?;
        match (mark.tail, mark.row) {
            (Tail::Empty, _) => None,
            (Tail::At { .. }, None) => {
                let missing = i64::try_from(self.rows.saturating_add(1)).unwrap_or(i64::MAX);
                Some(Finding::Torn(TornWrite {
                    reason: TornReason::TruncatedTail,
                    offending_sequence: missing,
                }))
            }
            (Tail::At { head, .. }, Some((_, found))) if found == head => None,
            (Tail::At { sequence, .. }, Some((transition_id, _))) => {
                let index = sequence.to_u64().saturating_sub(1);
                Some(Finding::Mismatch(self.mismatch(
                    index,
                    transition_id,
                    cause,
                )))
            }
        }
    }

    fn tail(&self) -> Tail {
        match Sequence::try_from(self.rows) {
            Ok(sequence) => Tail::At {
                sequence,
                head: self.recomputed,
            },
            Err(_) => Tail::Empty,
        }
    }

    fn mismatch(
        &self,
        divergence_index: u64,
        offending_transition_id: TransitionId,
        cause: MismatchCause,
    ) -> ChainMismatch {
        ChainMismatch {
            persisted_tail: self.persisted,
            recomputed_tail: self.recomputed,
            divergence_index,
            offending_transition_id,
            cause,
        }
    }
}
