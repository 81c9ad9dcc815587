//! Owns the only type that an adapter accepts for persistence. Its two doors are [`seal`] and a
//! row that was just proved to link.
//!
//! [`seal`]: crate::seal

use std::fmt;
use std::sync::Arc;

use piton_ledger::{ChainHead, TransitionId, WorkflowId};

use crate::row::VerifiedRow;

/// How often one rule redacted something in an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redaction {
    /// The id of the rule.
    pub rule: &'static str,
    /// How many strings or parts of strings it replaced.
    pub count: usize,
}

/// The redacted, canonical bytes of one event, ready to be linked and persisted.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedEvent {
    pub(crate) workflow_id: WorkflowId,
    pub(crate) transition_id: TransitionId,
    pub(crate) chain_head: ChainHead,
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) redactions: Vec<Redaction>,
}

impl SealedEvent {
    /// Gives the head after this event when it follows `prior`.
    pub fn link(&self, prior: &ChainHead) -> ChainHead {
        piton_chain::link(prior, &self.bytes)
    }

    /// Gives the workflow that the event belongs to.
    pub fn workflow_id(&self) -> &WorkflowId {
        &self.workflow_id
    }

    /// Gives the id of the transition.
    pub fn transition_id(&self) -> TransitionId {
        self.transition_id
    }

    /// Gives the head that the writer had seen when it made the event.
    pub fn chain_head(&self) -> ChainHead {
        self.chain_head
    }

    /// Gives the bytes that are hashed and stored.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives what sealing redacted, by rule, in the order of the rule list.
    pub fn redactions(&self) -> &[Redaction] {
        &self.redactions
    }
}

/// Moves a row to another ledger with its bytes as they are.
impl From<VerifiedRow> for SealedEvent {
    fn from(row: VerifiedRow) -> Self {
        Self {
            workflow_id: row.workflow_id,
            transition_id: row.transition_id,
            chain_head: row.chain_head,
            bytes: row.bytes,
            redactions: Vec::new(),
        }
    }
}

impl fmt::Debug for SealedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedEvent")
            .field("workflow_id", &self.workflow_id)
            .field("transition_id", &self.transition_id)
            .field("chain_head", &self.chain_head)
            .field("bytes", &self.bytes.len())
            .field("redactions", &self.redactions)
            .finish()
    }
}
