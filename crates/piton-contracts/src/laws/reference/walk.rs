//! A second verifier, from "Verification" in `docs/chain-format.md`. It reads whole chains from
//! memory and takes its time.

use piton_ledger::{ChainHead, Sequence, TransitionEvent, VulnState};
use piton_store::{PersistedRow, Stored, Tail};
use piton_verify::{AuditVerdict, ChainMismatch, MismatchCause, TornReason, TornWrite};

use super::link;

type Head = [u8; 32];

/// Gives the verdict on rows, a pin and an expected tail.
pub fn verdict(
    workflow: &str,
    rows: &[PersistedRow],
    pin: Option<Tail>,
    expected: Option<Tail>,
) -> AuditVerdict {
    let mut head: Head = [0; 32];
    let mut heads = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        match judge(workflow, index, row, head) {
            Judged::Links(next, transition) => {
                head = next;
                heads.push((next, transition));
            }
            Judged::Torn(reason) => return torn(reason, row.sequence),
            Judged::Bad(cause, transition) => {
                let bytes = row.event_bytes.as_deref().unwrap_or_default();
                let is_unlinked = stored_head(&row.next_head) != Some(link(&head, bytes));
                let same = rows.iter().filter(|other| other.next_head == row.next_head);
                if is_unlinked && same.count() > 1 {
                    return torn(TornReason::DuplicateChainLink, row.sequence);
                }
                return mismatch(rows, index, &transition, cause);
            }
        }
    }
    let marks = [
        (pin, MismatchCause::PinnedHead),
        (expected, MismatchCause::ExpectedHead),
    ];
    for (mark, cause) in marks {
        let Some(Tail::At {
            sequence,
            head: marked,
        }) = mark
        else {
            continue;
        };
        let index = usize::try_from(sequence.to_u64() - 1).unwrap_or(usize::MAX);
        match heads.get(index) {
            None => {
                let missing = i64::try_from(rows.len() + 1).expect("few rows");
                return torn(TornReason::TruncatedTail, missing);
            }
            Some((found, transition)) if found != marked.as_bytes() => {
                return mismatch(rows, index, &transition.clone(), cause);
            }
            Some(_) => {}
        }
    }
    match u64::try_from(rows.len()).map(Sequence::try_from) {
        Ok(Ok(rows)) => AuditVerdict::Verified {
            tail_chain_head: ChainHead::from_bytes(head),
            rows,
        },
        Ok(Err(_)) | Err(_) => AuditVerdict::EmptyWorkflow {
            genesis_chain_head: ChainHead::from_bytes([0; 32]),
        },
    }
}

enum Judged {
    Links(Head, String),
    Torn(TornReason),
    Bad(MismatchCause, String),
}

fn judge(workflow: &str, index: usize, row: &PersistedRow, head: Head) -> Judged {
    let Some(bytes) = row.event_bytes.as_deref() else {
        return Judged::Torn(TornReason::NullEventBytes);
    };
    let event = super::event(bytes);
    // Which numbers an outcome may hold is left to the ledger: see the law of canonical JSON.
    let is_event = TransitionEvent::<VulnState>::parse(bytes).is_ok();
    assert!(
        event.is_some() || !is_event,
        "the reference takes no such event"
    );
    let (Some(event), true) = (event, is_event) else {
        return Judged::Torn(TornReason::UnparseableEvent);
    };
    let transition = match &row.transition_id {
        Stored::Text(text) if super::is_ulid(text) => text.to_string(),
        Stored::Text(_) | Stored::Bytes(_) | Stored::Null => {
            return Judged::Torn(TornReason::UnparseableEvent);
        }
    };
    let (Some(prior), Some(next)) = (stored_head(&row.prior_head), stored_head(&row.next_head))
    else {
        return Judged::Torn(TornReason::UnparseableEvent);
    };
    let linked = link(&head, bytes);
    let position = i64::try_from(index + 1).expect("few rows");
    let cause = if row.sequence != position {
        MismatchCause::Sequence
    } else if event.workflow_id != workflow {
        MismatchCause::WorkflowId
    } else if event.transition_id != transition {
        MismatchCause::TransitionId
    } else if prior != head {
        MismatchCause::PriorHead
    } else if next != linked {
        MismatchCause::NextHead
    } else {
        return Judged::Links(linked, event.transition_id);
    };
    Judged::Bad(cause, event.transition_id)
}

fn torn(reason: TornReason, offending_sequence: i64) -> AuditVerdict {
    AuditVerdict::TornWrite(TornWrite {
        reason,
        offending_sequence,
    })
}

/// The tails: the last head that can be read among the rows, and the fold of all bytes there are.
fn mismatch(
    rows: &[PersistedRow],
    index: usize,
    transition: &str,
    cause: MismatchCause,
) -> AuditVerdict {
    let mut heads = rows.iter().filter_map(|row| stored_head(&row.next_head));
    let bytes = rows.iter().filter_map(|row| row.event_bytes.as_deref());
    let recomputed = bytes.fold([0; 32], |head, bytes| link(&head, bytes));
    AuditVerdict::ChainMismatch(ChainMismatch {
        persisted_tail: ChainHead::from_bytes(heads.next_back().unwrap_or([0; 32])),
        recomputed_tail: ChainHead::from_bytes(recomputed),
        divergence_index: u64::try_from(index).expect("few rows"),
        offending_transition_id: transition.parse().expect("the event was read"),
        cause,
    })
}

fn stored_head(stored: &Stored) -> Option<Head> {
    match stored {
        Stored::Text(text) => super::head(text),
        Stored::Bytes(bytes) => (**bytes).try_into().ok(),
        Stored::Null => None,
    }
}
