//! Owns the verifier as a parameter of the matrix, and verifiers that are blind in one way each.
//! Only [`TrueVerifier`] may be trusted.

use std::future::Future;
use std::marker::PhantomData;

use piton_chain::link;
use piton_ledger::{ChainHead, TransitionEvent, VulnState, WorkflowId};
use piton_store::{CheckpointStore, CheckpointStoreExt, PersistedRow, StoreError, Tail};
use piton_verify::{
    ChainMismatch, Checked, Expectations, MismatchCause, PinPolicy, PinStatus, ReplayVerdict,
    ReplayVerifier, TornReason, TornWrite,
};

/// What a verifier of the vulnerability ledger answers.
pub type Answer = Result<Checked<ReplayVerdict<VulnState>>, StoreError>;

/// A verifier under test.
pub trait Verify: Send + Sync + 'static {
    /// Judges one workflow of a store.
    fn verify<S: CheckpointStore>(
        store: &S,
        workflow: &WorkflowId,
        expectations: Expectations,
    ) -> impl Future<Output = Answer> + Send;
}

/// The verifier of the product.
#[derive(Debug)]
pub struct TrueVerifier;

impl Verify for TrueVerifier {
    async fn verify<S: CheckpointStore>(
        store: &S,
        workflow: &WorkflowId,
        expectations: Expectations,
    ) -> Answer {
        ReplayVerifier::new(store)
            .verify_against::<VulnState>(workflow, expectations)
            .await
    }
}

/// In which way a verifier is blind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blindness {
    /// In none: a second, plain implementation of the rules.
    None,
    /// It answers `Verified` whatever it sees.
    AlwaysVerified,
    /// It looks at the last row and at nothing before it.
    NothingButTheTail,
    /// It looks at the first row and at nothing after it.
    FirstOnly,
    /// It names the last bad row.
    LastDivergence,
    /// It skips rows that it can't parse.
    SwallowsParseErrors,
    /// It never looks at the pin or an expected head.
    IgnoresThePin,
    /// It takes rows in any numbering.
    IgnoresSequence,
    /// It hashes each row after its own stored prior head.
    TrustsPriorHeads,
    /// It never asks whether a next head stands twice.
    MissesDuplicates,
}

/// Says at the type level in which way a verifier is blind.
pub trait Sees: Send + Sync + 'static {
    /// The blindness.
    const BLINDNESS: Blindness;
}

macro_rules! blind {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub struct $name;

            impl Sees for $name {
                const BLINDNESS: Blindness = Blindness::$name;
            }
        )*
    };
}

blind! {
    /// Answers `Verified` whatever it sees.
    AlwaysVerified;
    /// Looks at the last row alone.
    NothingButTheTail;
    /// Looks at the first row alone.
    FirstOnly;
    /// Names the last bad row.
    LastDivergence;
    /// Skips rows that it can't parse.
    SwallowsParseErrors;
    /// Never looks at a pin.
    IgnoresThePin;
    /// Takes rows in any numbering.
    IgnoresSequence;
    /// Hashes each row after its stored prior head.
    TrustsPriorHeads;
    /// Never looks for a second copy of a head.
    MissesDuplicates;
}

/// Sees everything.
impl Sees for () {
    const BLINDNESS: Blindness = Blindness::None;
}

/// A plain verifier that holds all rows in memory, blind in one way.
#[derive(Debug)]
pub struct BlindVerifier<B>(PhantomData<B>);

impl<B: Sees> Verify for BlindVerifier<B> {
    async fn verify<S: CheckpointStore>(
        store: &S,
        workflow: &WorkflowId,
        expectations: Expectations,
    ) -> Answer {
        let pin = match expectations.pin {
            PinPolicy::Enforce => store.pinned_tail(workflow).await?,
            PinPolicy::Ignore => None,
        };
        let rows = store.collect_rows(workflow).await?;
        let verdict = judge(B::BLINDNESS, workflow, &rows, pin, expectations.expected);
        let head_at =
            |tail: Tail| head_at(&rows, tail).is_none_or(|head| head == Some(tail.head()));
        let pin = match (expectations.pin, pin) {
            (PinPolicy::Ignore, _) => PinStatus::Ignored,
            (PinPolicy::Enforce, None) => PinStatus::None,
            (PinPolicy::Enforce, Some(pin)) if head_at(pin) => PinStatus::Matched,
            (PinPolicy::Enforce, Some(_)) => PinStatus::Contradicted,
        };
        Ok(Checked { verdict, pin })
    }
}

/// Gives the stored head where a tail points: none when it points nowhere, and none within when
/// the row is not there.
fn head_at(rows: &[PersistedRow], tail: Tail) -> Option<Option<ChainHead>> {
    let position = usize::try_from(tail.sequence()?.to_u64() - 1).expect("few rows");
    Some(rows.get(position).and_then(|row| row.next_head.to_head()))
}

type Verdict = ReplayVerdict<VulnState>;

fn torn(reason: TornReason, offending_sequence: i64) -> Verdict {
    ReplayVerdict::TornWrite(TornWrite {
        reason,
        offending_sequence,
    })
}

fn judge(
    blindness: Blindness,
    workflow: &WorkflowId,
    rows: &[PersistedRow],
    pin: Option<Tail>,
    expected: Option<Tail>,
) -> Verdict {
    let stored_tail = rows
        .iter()
        .filter_map(|row| row.next_head.to_head())
        .next_back();
    let persisted_tail = stored_tail.unwrap_or(ChainHead::GENESIS);
    let recomputed_tail = piton_chain::fold(
        ChainHead::GENESIS,
        rows.iter().filter_map(|row| row.event_bytes.as_deref()),
    );
    let mismatch = |index: usize, event: &TransitionEvent<VulnState>, cause| {
        ReplayVerdict::ChainMismatch(ChainMismatch {
            persisted_tail,
            recomputed_tail,
            divergence_index: u64::try_from(index).expect("few rows"),
            offending_transition_id: event.transition_id(),
            cause,
        })
    };
    let mut events = Vec::new();
    let mut found = None;
    let mut prior = ChainHead::GENESIS;
    for (index, row) in rows.iter().enumerate() {
        let skipped = match blindness {
            Blindness::AlwaysVerified => true,
            Blindness::NothingButTheTail => index + 1 < rows.len(),
            Blindness::FirstOnly => index > 0,
            Blindness::None
            | Blindness::LastDivergence
            | Blindness::SwallowsParseErrors
            | Blindness::IgnoresThePin
            | Blindness::IgnoresSequence
            | Blindness::TrustsPriorHeads
            | Blindness::MissesDuplicates => false,
        };
        let bytes = row.event_bytes.as_deref();
        let event = bytes.and_then(|bytes| TransitionEvent::<VulnState>::parse(bytes).ok());
        if skipped {
            prior = row.next_head.to_head().unwrap_or(prior);
            events.extend(event);
            continue;
        }
        let columns = (
            row.transition_id.to_transition_id(),
            row.prior_head.to_head(),
            row.next_head.to_head(),
        );
        let (Some(event), (Some(column_id), Some(column_prior), Some(column_next))) =
            (event, columns)
        else {
            if blindness == Blindness::SwallowsParseErrors {
                prior = row.next_head.to_head().unwrap_or(prior);
                continue;
            }
            let reason = match bytes {
                None => TornReason::NullEventBytes,
                Some(_) => TornReason::UnparseableEvent,
            };
            return torn(reason, row.sequence);
        };
        if blindness == Blindness::TrustsPriorHeads {
            prior = column_prior;
        }
        let next = link(&prior, bytes.unwrap_or_default());
        let position = i64::try_from(index + 1).expect("few rows");
        let cause = if row.sequence != position && blindness != Blindness::IgnoresSequence {
            Some(MismatchCause::Sequence)
        } else if event.workflow_id() != workflow {
            Some(MismatchCause::WorkflowId)
        } else if column_id != event.transition_id() {
            Some(MismatchCause::TransitionId)
        } else if column_prior != prior {
            Some(MismatchCause::PriorHead)
        } else if column_next != next {
            Some(MismatchCause::NextHead)
        } else {
            None
        };
        if let Some(cause) = cause {
            let twice = rows
                .iter()
                .filter(|other| other.next_head == row.next_head)
                .count()
                > 1;
            let verdict =
                if column_next != next && twice && blindness != Blindness::MissesDuplicates {
                    torn(TornReason::DuplicateChainLink, row.sequence)
                } else {
                    mismatch(index, &event, cause)
                };
            if blindness != Blindness::LastDivergence {
                return verdict;
            }
            found = Some(verdict);
        }
        prior = column_next;
        events.push(event);
    }
    if let Some(verdict) = found {
        return verdict;
    }
    let marks = [
        (pin, MismatchCause::PinnedHead),
        (expected, MismatchCause::ExpectedHead),
    ];
    for (tail, cause) in marks {
        let sighted = !matches!(
            blindness,
            Blindness::AlwaysVerified | Blindness::IgnoresThePin
        );
        let Some(tail) = tail.filter(|_| sighted) else {
            continue;
        };
        match head_at(rows, tail) {
            None => {}
            Some(None) => {
                let missing = i64::try_from(rows.len() + 1).expect("few rows");
                return torn(TornReason::TruncatedTail, missing);
            }
            Some(Some(head)) if head == tail.head() => {}
            Some(Some(_)) => {
                let position = tail.sequence().map_or(0, |sequence| sequence.to_u64() - 1);
                let index = usize::try_from(position).expect("few rows");
                if let Some(event) = events.get(index) {
                    return mismatch(index, event, cause);
                }
            }
        }
    }
    if rows.is_empty() {
        return ReplayVerdict::EmptyWorkflow {
            genesis_chain_head: ChainHead::GENESIS,
        };
    }
    ReplayVerdict::Verified {
        tail_chain_head: persisted_tail,
        events,
    }
}
