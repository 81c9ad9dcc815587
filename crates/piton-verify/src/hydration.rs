//! Owns the one mapping from a verdict to what follows, and the message of a failure. One arm per
//! verdict; no other ledger state is made here.

use piton_ledger::{
    ChainHead, FailedUnrecoverable, FailedUnrecoverableReason, RemediationError, ShortText,
    StateMachine, TransitionEvent, WorkflowId,
};
use piton_store::{CheckpointStore, StoreError};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

use crate::slug;
use crate::tagged::Tagged;
use crate::verdict::{ChainMismatch, ReplayVerdict, TornWrite};
use crate::verifier::ReplayVerifier;

/// The error id of a history that could not be proved intact.
pub const INTEGRITY_ERROR_ID: &str = "workflows.checkpoint_integrity_violation";

/// What an orchestrator may do with a workflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", bound = "")]
pub enum HydrationResult<M: StateMachine> {
    /// Resume from these events.
    Hydrated(Hydrated<M>),
    /// Do not resume: the failure is terminal.
    FailedUnrecoverable(FailedUnrecoverable),
}

/// As for verdicts, events are read from raw JSON once the kind is known.
impl<'de, M: StateMachine> Deserialize<'de> for HydrationResult<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tagged = Tagged::deserialize(deserializer)?;
        if tagged.is("hydrated") {
            let Resumable {
                events,
                latest_state_kind,
                tail_chain_head,
                ..
            } = tagged.read()?;
            return Ok(Self::Hydrated(Hydrated {
                events,
                latest_state_kind,
                tail_chain_head,
            }));
        }
        let Failed::FailedUnrecoverable(failure) = tagged.read()?;
        Ok(Self::FailedUnrecoverable(failure))
    }
}

/// The JSON of [`HydrationResult::Hydrated`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "")]
struct Resumable<M: StateMachine> {
    #[serde(rename = "kind")]
    _kind: IgnoredAny,
    events: Vec<TransitionEvent<M>>,
    #[serde(with = "slug")]
    latest_state_kind: M,
    tail_chain_head: ChainHead,
}

/// The JSON of every other [`HydrationResult`].
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Failed {
    FailedUnrecoverable(FailedUnrecoverable),
}

/// A verified history to resume from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "")]
pub struct Hydrated<M: StateMachine> {
    /// The events in append order; none for a workflow that has recorded nothing.
    pub events: Vec<TransitionEvent<M>>,
    /// The state kind that the last event reached, or the initial kind.
    #[serde(with = "slug")]
    pub latest_state_kind: M,
    /// The head after the last event: the expected head of the next append.
    pub tail_chain_head: ChainHead,
}

/// Verifies the whole chain of a workflow and hands its events over, or fails for good.
///
/// # Errors
///
/// Any [`StoreError`] of a read: the chain could not be checked. That is no licence to resume.
pub async fn hydrate_or_fail<M: StateMachine, S: CheckpointStore>(
    store: &S,
    workflow: &WorkflowId,
) -> Result<HydrationResult<M>, StoreError> {
    Ok(ReplayVerifier::new(store)
        .verify::<M>(workflow)
        .await?
        .into())
}

/// The policy: what follows from a verdict.
impl<M: StateMachine> From<ReplayVerdict<M>> for HydrationResult<M> {
    fn from(verdict: ReplayVerdict<M>) -> Self {
        match verdict {
            ReplayVerdict::Verified {
                tail_chain_head,
                events,
            } => {
                let latest_state_kind = events
                    .last()
                    .map_or(M::INITIAL, TransitionEvent::next_state_id);
                Self::Hydrated(Hydrated {
                    events,
                    latest_state_kind,
                    tail_chain_head,
                })
            }
            ReplayVerdict::EmptyWorkflow { genesis_chain_head } => Self::Hydrated(Hydrated {
                events: Vec::new(),
                latest_state_kind: M::INITIAL,
                tail_chain_head: genesis_chain_head,
            }),
            ReplayVerdict::ChainMismatch(mismatch) => {
                Self::integrity_failure(&mismatch_message(&mismatch))
            }
            ReplayVerdict::TornWrite(torn) => Self::integrity_failure(&torn_message(&torn)),
        }
    }
}

impl<M: StateMachine> HydrationResult<M> {
    fn integrity_failure(message: &str) -> Self {
        let error = INTEGRITY_ERROR_ID
            .parse()
            .ok()
            .map(|error_id| RemediationError {
                error_id,
                message: ShortText::truncated(message),
                details: None,
            });
        Self::FailedUnrecoverable(FailedUnrecoverable {
            reason: FailedUnrecoverableReason::CheckpointIntegrity,
            error,
        })
    }
}

/// Gives the message of a verdict that forbids resuming, or none for one that does not.
pub fn integrity_message<M: StateMachine>(verdict: &ReplayVerdict<M>) -> Option<String> {
    match verdict {
        ReplayVerdict::Verified { .. } | ReplayVerdict::EmptyWorkflow { .. } => None,
        ReplayVerdict::ChainMismatch(mismatch) => Some(mismatch_message(mismatch)),
        ReplayVerdict::TornWrite(torn) => Some(torn_message(torn)),
    }
}

fn mismatch_message(mismatch: &ChainMismatch) -> String {
    format!(
        "chain_mismatch: divergence_index={} transition_id={} cause={} persisted_tail={} recomputed_tail={}",
        mismatch.divergence_index,
        mismatch.offending_transition_id,
        mismatch.cause.slug(),
        mismatch.persisted_tail,
        mismatch.recomputed_tail,
    )
}

fn torn_message(torn: &TornWrite) -> String {
    format!(
        "torn_write: reason={} offending_sequence={}",
        torn.reason.slug(),
        torn.offending_sequence
    )
}
