//! Owns the closed results of a walk. It decides nothing about what follows.

use piton_ledger::{ChainHead, Sequence, StateMachine, TransitionEvent, TransitionId};
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};

use crate::tagged::Tagged;

/// The closed result of recomputing one chain, with its events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", bound = "")]
pub enum ReplayVerdict<M: StateMachine> {
    /// Every row links, and the chain reaches what it is held against.
    Verified {
        /// The head after the last row.
        tail_chain_head: ChainHead,
        /// The events in append order.
        events: Vec<TransitionEvent<M>>,
    },
    /// A row is readable but is not the one that the chain demands.
    ChainMismatch(ChainMismatch),
    /// A row is structurally damaged, or acknowledged rows are gone.
    TornWrite(TornWrite),
    /// Nothing is recorded, and nothing says that there should be.
    EmptyWorkflow {
        /// The genesis head.
        genesis_chain_head: ChainHead,
    },
}

/// Events are read from raw JSON, which a derived reader of a tagged enum has no more by the time
/// it knows the tag.
impl<'de, M: StateMachine> Deserialize<'de> for ReplayVerdict<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tagged = Tagged::deserialize(deserializer)?;
        if tagged.is("verified") {
            let Intact {
                tail_chain_head,
                events,
                ..
            } = tagged.read()?;
            return Ok(Self::Verified {
                tail_chain_head,
                events,
            });
        }
        match tagged.read()? {
            AuditVerdict::Verified { .. } => Err(D::Error::custom("a verified chain has events")),
            AuditVerdict::ChainMismatch(mismatch) => Ok(Self::ChainMismatch(mismatch)),
            AuditVerdict::TornWrite(torn) => Ok(Self::TornWrite(torn)),
            AuditVerdict::EmptyWorkflow { genesis_chain_head } => {
                Ok(Self::EmptyWorkflow { genesis_chain_head })
            }
        }
    }
}

/// The JSON of [`ReplayVerdict::Verified`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "")]
struct Intact<M: StateMachine> {
    #[serde(rename = "kind")]
    _kind: IgnoredAny,
    tail_chain_head: ChainHead,
    events: Vec<TransitionEvent<M>>,
}

/// The closed result of recomputing one chain without keeping its events; it can't be hydrated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AuditVerdict {
    /// Every row links, and the chain reaches what it is held against.
    Verified {
        /// The head after the last row.
        tail_chain_head: ChainHead,
        /// The sequence of the last row, which is the number of rows.
        rows: Sequence,
    },
    /// A row is readable but is not the one that the chain demands.
    ChainMismatch(ChainMismatch),
    /// A row is structurally damaged, or acknowledged rows are gone.
    TornWrite(TornWrite),
    /// Nothing is recorded, and nothing says that there should be.
    EmptyWorkflow {
        /// The genesis head.
        genesis_chain_head: ChainHead,
    },
}

/// Where a chain first departs from what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainMismatch {
    /// The stored head of the last row (the last readable one, if that row's is not).
    pub persisted_tail: ChainHead,
    /// The head that the stored bytes fold to, hashed on past the divergence.
    pub recomputed_tail: ChainHead,
    /// The 0-based position in the walk of the first bad row.
    pub divergence_index: u64,
    /// The transition id inside that row's event.
    pub offending_transition_id: TransitionId,
    /// Which part of the row is not the expected one.
    pub cause: MismatchCause,
}

/// Which part of a row is not the expected one, in the order in which they are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MismatchCause {
    /// The stored sequence is not the next one.
    Sequence,
    /// The event belongs to another workflow.
    WorkflowId,
    /// The stored transition id is not the event's.
    TransitionId,
    /// The stored prior head is not the head before the row.
    PriorHead,
    /// The stored next head is not the link of the row.
    NextHead,
    /// The chain links, but has another head at the pinned sequence.
    PinnedHead,
    /// The chain links, but has another head where the caller expected one.
    ExpectedHead,
}

impl MismatchCause {
    /// Every cause, each once.
    pub const ALL: [Self; 7] = [
        Self::Sequence,
        Self::WorkflowId,
        Self::TransitionId,
        Self::PriorHead,
        Self::NextHead,
        Self::PinnedHead,
        Self::ExpectedHead,
    ];

    /// Gives the name used in output.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Sequence => "sequence",
            Self::WorkflowId => "workflow_id",
            Self::TransitionId => "transition_id",
            Self::PriorHead => "prior_head",
            Self::NextHead => "next_head",
            Self::PinnedHead => "pinned_head",
            Self::ExpectedHead => "expected_head",
        }
    }
}

/// Which row is structurally damaged, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TornWrite {
    /// How the row is damaged.
    pub reason: TornReason,
    /// The stored sequence of the row; for a lost tail, the first missing one.
    pub offending_sequence: i64,
}

/// How a row is structurally damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TornReason {
    /// The event, or an id or head in a column, can't be read.
    UnparseableEvent,
    /// The event bytes are NULL.
    NullEventBytes,
    /// The row does not link, and its next head stands in another row too.
    DuplicateChainLink,
    /// Rows that the pin or the caller knows of are not there.
    TruncatedTail,
}

impl TornReason {
    /// Every reason, each once.
    pub const ALL: [Self; 4] = [
        Self::UnparseableEvent,
        Self::NullEventBytes,
        Self::DuplicateChainLink,
        Self::TruncatedTail,
    ];

    /// Gives the name used in output.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::UnparseableEvent => "unparseable_event",
            Self::NullEventBytes => "null_event_bytes",
            Self::DuplicateChainLink => "duplicate_chain_link",
            Self::TruncatedTail => "truncated_tail",
        }
    }
}
