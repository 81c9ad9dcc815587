//! Owns what is parsed of raw rows before they are walked, in whatever thread read them. It compares
//! nothing with what came before.

use piton_ledger::{ChainHead, StateMachine, TransitionEvent, TransitionId, WorkflowId};
use piton_store::PersistedRow;

/// Rows, and what was parsed of each; none where something does not parse.
pub(crate) struct ParsedBatch<K> {
    pub(crate) rows: Vec<PersistedRow>,
    pub(crate) parsed: Vec<Option<Parsed<K>>>,
}

/// What one row says.
pub(crate) struct Parsed<K> {
    /// What is kept of the event.
    pub(crate) kept: K,
    /// The event's own transition id.
    pub(crate) event_id: TransitionId,
    pub(crate) event_place: Place,
    /// The columns.
    pub(crate) transition_id: TransitionId,
    pub(crate) prior_head: ChainHead,
    pub(crate) next_head: ChainHead,
}

/// Whether an event names the workflow that is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Own,
    Foreign,
}

impl<K> ParsedBatch<K> {
    /// Parses rows of a workflow and keeps of each event what `keep` gives.
    pub(crate) fn parse<M: StateMachine>(
        rows: Vec<PersistedRow>,
        workflow: &WorkflowId,
        keep: impl Fn(TransitionEvent<M>) -> K,
    ) -> Self {
        let parsed = rows.iter().map(|row| parse(row, workflow, &keep)).collect();
        Self { rows, parsed }
    }
}

fn parse<M: StateMachine, K>(
    row: &PersistedRow,
    workflow: &WorkflowId,
    keep: impl Fn(TransitionEvent<M>) -> K,
) -> Option<Parsed<K>> {
    let event = TransitionEvent::<M>::parse(row.event_bytes.as_deref()?).ok()?;
    Some(Parsed {
        event_id: event.transition_id(),
        event_place: if event.workflow_id() == workflow {
            Place::Own
        } else {
            Place::Foreign
        },
        transition_id: row.transition_id.to_transition_id()?,
        prior_head: row.prior_head.to_head()?,
        next_head: row.next_head.to_head()?,
        kept: keep(event),
    })
}
