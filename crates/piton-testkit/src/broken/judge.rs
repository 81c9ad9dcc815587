//! Owns the order in which an append to the plain store is judged, the row that it writes, and the
//! lies about either.

use piton_chain::link;
use piton_ledger::{CanonicalJson, ChainHead, Sequence, WorkflowId};
use piton_store::{
    AppendStatus, Appended, ExpectedHead, PersistedRow, PinFinding, SealedEvent, StoreError, Tail,
};

use super::clay::{State, stored_tail};
use super::lie::Lie;

/// What is to be done with an append.
pub(super) enum Judgement {
    /// The event is there.
    Answer(Appended),
    /// The event is to be written after this tail.
    Write(Tail),
}

/// Judges an append: workflow, pin, retry or conflict, expected head.
pub(super) fn judge(
    lie: Lie,
    workflow: &WorkflowId,
    state: &State,
    event: &SealedEvent,
    expected: ExpectedHead,
) -> Result<Judgement, StoreError> {
    if event.workflow_id() != workflow && lie != Lie::TakesForeignEvents {
        return Err(StoreError::WrongWorkflow {
            workflow: workflow.clone(),
            event_workflow: event.workflow_id().clone(),
        });
    }
    let tail = stored_tail(workflow, &state.rows)?;
    let pin = || contradicted_pin(lie, workflow, state);
    let retry = || present(lie, workflow, state, event);
    let head = || stale(lie, workflow, tail, expected);
    let answer = match lie {
        Lie::JudgesTheHeadBeforeTheRetry => {
            pin()?;
            head()?;
            retry()?
        }
        Lie::JudgesTheRetryBeforeThePin => {
            let answer = retry()?;
            if answer.is_none() {
                pin()?;
                head()?;
            }
            answer
        }
        _ => {
            pin()?;
            let answer = retry()?;
            if answer.is_none() {
                head()?;
            }
            answer
        }
    };
    Ok(answer.map_or(Judgement::Write(tail), Judgement::Answer))
}

pub(super) fn contradicted_pin(
    lie: Lie,
    workflow: &WorkflowId,
    state: &State,
) -> Result<(), StoreError> {
    let Some(pin @ Tail::At { sequence, head }) = state.pin else {
        return Ok(());
    };
    let position = usize::try_from(sequence.to_u64() - 1).unwrap_or(usize::MAX);
    let finding = match (lie, state.rows.get(position)) {
        (Lie::NeverLooksAtThePin | Lie::PinLeads, _) => return Ok(()),
        (Lie::LooksForThePinAtTheTail, Some(_)) if position + 1 < state.rows.len() => {
            return Ok(());
        }
        (_, None) => PinFinding::TooShort,
        (Lie::RefusesALaggingPin, Some(_)) if position + 1 < state.rows.len() => {
            PinFinding::DifferentHead
        }
        (_, Some(row)) if row.next_head.to_head() == Some(head) => return Ok(()),
        (_, Some(_)) => PinFinding::DifferentHead,
    };
    Err(StoreError::PinContradicted {
        workflow: workflow.clone(),
        pin,
        finding,
    })
}

fn present(
    lie: Lie,
    workflow: &WorkflowId,
    state: &State,
    event: &SealedEvent,
) -> Result<Option<Appended>, StoreError> {
    let id = event.transition_id();
    let found = state
        .rows
        .iter()
        .find(|row| row.transition_id.to_transition_id() == Some(id));
    let Some(row) = found else {
        return Ok(None);
    };
    let same = row.event_bytes.as_deref() == Some(&*bytes_of(lie, event));
    if !same && lie != Lie::TakesConflictsForRetries {
        return Err(StoreError::TransitionConflict {
            workflow: workflow.clone(),
            transition_id: id,
        });
    }
    let row = match lie {
        Lie::DuplicatesOnRetry => return Ok(None),
        Lie::AnswersRetriesWithTheTail => state.rows.last().unwrap_or(row),
        _ => row,
    };
    let column = StoreError::UnreadableColumn {
        workflow: workflow.clone(),
        column: "next_head",
    };
    match (Sequence::try_from(row.sequence), row.next_head.to_head()) {
        (Ok(sequence), Some(head)) => Ok(Some(Appended {
            sequence,
            head,
            status: AppendStatus::AlreadyPresent,
        })),
        _ => Err(column),
    }
}

fn stale(
    lie: Lie,
    workflow: &WorkflowId,
    tail: Tail,
    expected: ExpectedHead,
) -> Result<(), StoreError> {
    match expected {
        ExpectedHead::Exactly(expected)
            if expected != tail.head() && lie != Lie::AcceptsAStaleHead =>
        {
            Err(StoreError::StaleHead {
                workflow: workflow.clone(),
                expected,
                actual: tail.head(),
            })
        }
        ExpectedHead::Exactly(_) | ExpectedHead::Any => Ok(()),
    }
}

/// A row that follows a tail, and the answer that tells of it.
pub(super) struct Written {
    pub(super) row: PersistedRow,
    pub(super) tail: Tail,
    pub(super) answer: Appended,
}

pub(super) fn row_after(lie: Lie, tail: Tail, event: &SealedEvent, written_at: &str) -> Written {
    let bytes = bytes_of(lie, event);
    let sequence = tail.next_sequence().expect("few rows");
    let head = match lie {
        Lie::HashesTheWrongPrior => link(&ChainHead::GENESIS, &bytes),
        Lie::HashesTheTime => link(&tail.head(), &[&bytes, written_at.as_bytes()].concat()),
        _ => link(&tail.head(), &bytes),
    };
    Written {
        row: PersistedRow {
            sequence: sequence.to_i64(),
            transition_id: event.transition_id().to_string().into(),
            prior_head: tail.head().to_string().into(),
            next_head: head.to_string().into(),
            event_bytes: Some(bytes),
            written_at: written_at.into(),
        },
        tail: Tail::At { sequence, head },
        answer: Appended {
            sequence,
            head,
            status: AppendStatus::Appended,
        },
    }
}

fn bytes_of(lie: Lie, event: &SealedEvent) -> Vec<u8> {
    let bytes = event.bytes();
    match lie {
        Lie::RewritesBytes => {
            let value = CanonicalJson::parse(bytes).expect("sealed bytes are JSON");
            value.as_str().as_bytes().to_vec()
        }
        Lie::DropsNul => {
            let text = String::from_utf8_lossy(bytes);
            text.replace("\\u0000", "").into_bytes()
        }
        _ => bytes.to_vec(),
    }
}
