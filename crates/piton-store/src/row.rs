//! Owns rows as an engine holds them, and the proof that one of them links. It walks nothing.

use std::fmt;
use std::sync::Arc;

use piton_ledger::{ChainHead, Sequence, StateMachine, TransitionEvent, TransitionId, WorkflowId};

/// One column as the engine holds it, tampered or not.
#[derive(Clone, PartialEq, Eq)]
pub enum Stored {
    /// A text.
    Text(Box<str>),
    /// A byte string.
    Bytes(Box<[u8]>),
    /// No value, or a value of a type that the column never holds.
    Null,
}

impl Stored {
    /// Reads the column as a head: its text, or its 32 bytes.
    pub fn to_head(&self) -> Option<ChainHead> {
        match self {
            Self::Text(text) => text.parse().ok(),
            Self::Bytes(bytes) => <[u8; 32]>::try_from(&**bytes)
                .ok()
                .map(ChainHead::from_bytes),
            Self::Null => None,
        }
    }

    /// Reads the column as a transition id.
    pub fn to_transition_id(&self) -> Option<TransitionId> {
        match self {
            Self::Text(text) => text.parse().ok(),
            Self::Bytes(_) | Self::Null => None,
        }
    }

    /// Gives the column as text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(_) | Self::Null => None,
        }
    }
}

impl From<&str> for Stored {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Stored {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Self::Null => f.write_str("Null"),
        }
    }
}

/// One row exactly as it is persisted; nothing about it has been judged.
#[derive(Clone, PartialEq, Eq)]
pub struct PersistedRow {
    /// The stored position; 1, 2, 3 … in an intact chain.
    pub sequence: i64,
    /// The stored id of the transition.
    pub transition_id: Stored,
    /// The stored head before the event.
    pub prior_head: Stored,
    /// The stored head after the event.
    pub next_head: Stored,
    /// The stored bytes of the event, or none where the engine holds NULL.
    pub event_bytes: Option<Vec<u8>>,
    /// The stored time of the write, RFC 3339 in UTC; for people, never hashed.
    pub written_at: Stored,
}

impl fmt::Debug for PersistedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PersistedRow")
            .field("sequence", &self.sequence)
            .field("transition_id", &self.transition_id)
            .field("prior_head", &self.prior_head)
            .field("next_head", &self.next_head)
            .field("event_bytes", &self.event_bytes.as_ref().map(Vec::len))
            .finish_non_exhaustive()
    }
}

/// A row that has been proved to follow a known head, so that it may be appended elsewhere.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifiedRow {
    pub(crate) workflow_id: WorkflowId,
    pub(crate) transition_id: TransitionId,
    pub(crate) chain_head: ChainHead,
    pub(crate) bytes: Arc<[u8]>,
    sequence: Sequence,
    prior_head: ChainHead,
    next_head: ChainHead,
}

impl VerifiedRow {
    /// Proves that a row is the event of `workflow` at `sequence` and links to `prior`.
    ///
    /// None is the answer to any difference; to say which is the verifier's business.
    pub fn prove<M: StateMachine>(
        row: &PersistedRow,
        workflow: &WorkflowId,
        sequence: Sequence,
        prior: &ChainHead,
    ) -> Option<Self> {
        let bytes = row.event_bytes.as_deref()?;
        let event = TransitionEvent::<M>::parse(bytes).ok()?;
        let next_head = row.next_head.to_head()?;
        let proved = row.sequence == sequence.to_i64()
            && event.workflow_id() == workflow
            && row.transition_id.to_transition_id() == Some(event.transition_id())
            && row.prior_head.to_head().as_ref() == Some(prior)
            && piton_chain::link(prior, bytes) == next_head;
        proved.then(|| Self {
            workflow_id: workflow.clone(),
            transition_id: event.transition_id(),
            chain_head: event.chain_head(),
            bytes: bytes.into(),
            sequence,
            prior_head: *prior,
            next_head,
        })
    }

    /// Gives the position of the row.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// Gives the head before the event.
    pub fn prior_head(&self) -> ChainHead {
        self.prior_head
    }

    /// Gives the head after the event.
    pub fn next_head(&self) -> ChainHead {
        self.next_head
    }
}

impl fmt::Debug for VerifiedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedRow")
            .field("workflow_id", &self.workflow_id)
            .field("sequence", &self.sequence)
            .field("next_head", &self.next_head)
            .finish_non_exhaustive()
    }
}
