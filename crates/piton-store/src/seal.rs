//! Owns the one way from a live event to bytes that may be persisted. It writes nothing.

use piton_ledger::json::JsonError;
use piton_ledger::{EventError, StateMachine, Transition, TransitionEvent};

use crate::redaction::{redact, secret_in};
use crate::sealed::SealedEvent;

/// The largest event that may be sealed: 65,536 canonical bytes.
pub const MAX_EVENT_BYTES: usize = 65_536;

/// The error id of an event above [`MAX_EVENT_BYTES`].
pub const PAYLOAD_TOO_LARGE: &str = "workflows.checkpoint_payload_too_large";

/// An event may not be persisted; a retry of the same event can't help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The event reaches a state at which nothing is persisted.
    #[error(
        "{next} is not a semantic boundary of the {ledger} ledger; boundaries are {}; \
         log the move elsewhere and append the next boundary event", boundaries.join(", ")
    )]
    NotABoundary {
        /// The name of the ledger.
        ledger: &'static str,
        /// The state that the event reaches.
        next: &'static str,
        /// Every boundary of the ledger.
        boundaries: Vec<&'static str>,
    },
    /// The event is too large, before or after redaction.
    #[error(
        "{PAYLOAD_TOO_LARGE}: the event has {bytes} canonical bytes, at most {MAX_EVENT_BYTES} are allowed; \
         store the evidence elsewhere and refer to it by its digest"
    )]
    TooLarge {
        /// The size of the event.
        bytes: usize,
    },
    /// The workflow id has the shape of a secret; to redact it would break identity.
    #[error("the workflow id looks like a secret (rule {rule}); choose an id that is not one")]
    SecretInIdentifier {
        /// The rule that it falls under.
        rule: &'static str,
    },
    /// The redacted outcome is not acceptable JSON.
    #[error("the redacted outcome can't be written: {0}")]
    Outcome(#[from] JsonError),
    /// What would be stored does not read back, so the state machine is at fault.
    #[error("the sealed event does not read back: {0}")]
    Unreadable(#[from] EventError),
}

/// Turns a live event into the redacted, canonical bytes that may be persisted.
///
/// In this order: the boundary check, the size cap, redaction of secrets and the cap again, and a
/// read back, so that what is hashed is what a reader reconstructs.
///
/// # Errors
///
/// Gives a [`SealError`] that says what to do; nothing has been written.
pub fn seal<M: StateMachine>(event: &TransitionEvent<M>) -> Result<SealedEvent, SealError> {
    let next = event.next_state_id();
    if !next.is_boundary() {
        return Err(SealError::NotABoundary {
            ledger: M::LEDGER,
            next: next.slug(),
            boundaries: M::KINDS
                .iter()
                .filter(|kind| kind.is_boundary())
                .map(|kind| kind.slug())
                .collect(),
        });
    }
    let cleartext = cap(event)?;
    if let Some(rule) = secret_in(event.workflow_id().as_str()) {
        return Err(SealError::SecretInIdentifier { rule });
    }
    let (triggering_outcome, redactions) = redact(event.triggering_outcome())?;
    let text = if redactions.is_empty() {
        cleartext
    } else {
        let transition = Transition {
            triggering_outcome,
            ..event.clone().into_transition()
        };
        // The edge is unchanged, so this can't fail for an event that exists.
        cap(&TransitionEvent::try_from(transition).map_err(EventError::from)?)?
    };
    let read_back = TransitionEvent::<M>::parse(text.as_bytes())?;
    Ok(SealedEvent {
        workflow_id: read_back.workflow_id().clone(),
        transition_id: read_back.transition_id(),
        chain_head: read_back.chain_head(),
        bytes: cap(&read_back)?.into_bytes().into(),
        redactions,
    })
}

fn cap<M: StateMachine>(event: &TransitionEvent<M>) -> Result<String, SealError> {
    let text = event.to_canonical_json();
    if text.len() > MAX_EVENT_BYTES {
        Err(SealError::TooLarge { bytes: text.len() })
    } else {
        Ok(text)
    }
}
