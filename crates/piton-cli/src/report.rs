//! Owns the words for verdicts: the verdict first, then where, then what to do. It decides none.

use piton_ledger::WorkflowId;
use piton_verify::{AuditVerdict, MismatchCause, PinStatus, TornReason};

use crate::console::{Console, Tone};
use crate::failure::Failure;

const TAMPERED: &str = "do not resume this workflow; keep its files as evidence, restore it from \
                        a backup, and see the raw rows with `piton log`";
const SHORTENED: &str = "do not resume this workflow: acknowledged work would run twice; restore \
                         it from a backup";

/// Tells one verdict to people.
pub(crate) fn tell(
    console: &mut Console<'_>,
    workflow: &WorkflowId,
    verdict: &AuditVerdict,
    pin: PinStatus,
) -> Result<(), Failure> {
    let lines = lines(workflow, verdict, pin, |tone, text| {
        console.paint(tone, text)
    });
    lines.into_iter().try_for_each(|line| console.line(line))
}

/// Tells one verdict on the error stream, where the output is data.
pub(crate) fn complain(
    console: &mut Console<'_>,
    workflow: &WorkflowId,
    verdict: &AuditVerdict,
    pin: PinStatus,
) {
    for line in lines(workflow, verdict, pin, |_, text| text.to_owned()) {
        console.complain(line);
    }
}

fn lines(
    workflow: &WorkflowId,
    verdict: &AuditVerdict,
    pin: PinStatus,
    paint: impl Fn(Tone, &str) -> String,
) -> Vec<String> {
    let pin = format!("  pin: {}", pin_words(pin));
    match verdict {
        AuditVerdict::Verified {
            tail_chain_head,
            rows,
        } => {
            let intact = paint(Tone::Good, "intact");
            vec![
                format!("{intact}: {workflow}: every row links"),
                format!("  tail: {rows}:{tail_chain_head}"),
                pin,
            ]
        }
        AuditVerdict::EmptyWorkflow { .. } => {
            let empty = paint(Tone::Good, "empty");
            vec![format!("{empty}: {workflow}: nothing is recorded"), pin]
        }
        AuditVerdict::ChainMismatch(mismatch) => {
            let verdict = paint(Tone::Bad, "chain mismatch");
            let cause = mismatch.cause;
            vec![
                format!("{verdict}: {workflow}: {}", cause_words(cause)),
                format!(
                    "  where: row {} (divergence_index {}), transition {}, cause {}",
                    mismatch.divergence_index.saturating_add(1),
                    mismatch.divergence_index,
                    mismatch.offending_transition_id,
                    cause.slug()
                ),
                format!("  persisted tail:  {}", mismatch.persisted_tail),
                format!("  recomputed tail: {}", mismatch.recomputed_tail),
                pin,
                format!("  do: {TAMPERED}"),
            ]
        }
        AuditVerdict::TornWrite(torn) => {
            let verdict = paint(Tone::Bad, "torn write");
            let advice = match torn.reason {
                TornReason::TruncatedTail => SHORTENED,
                TornReason::UnparseableEvent
                | TornReason::NullEventBytes
                | TornReason::DuplicateChainLink => TAMPERED,
            };
            vec![
                format!("{verdict}: {workflow}: {}", reason_words(torn.reason)),
                format!(
                    "  where: sequence {}, reason {}",
                    torn.offending_sequence,
                    torn.reason.slug()
                ),
                pin,
                format!("  do: {advice}"),
            ]
        }
    }
}

fn pin_words(pin: PinStatus) -> &'static str {
    match pin {
        PinStatus::Matched => "matched",
        PinStatus::None => "none; a lost tail would not be seen",
        PinStatus::Ignored => "ignored, as asked; a lost tail would not be seen",
        PinStatus::Contradicted => "contradicted",
        PinStatus::Unchecked => "not compared, since a row before it is bad",
    }
}

fn cause_words(cause: MismatchCause) -> &'static str {
    match cause {
        MismatchCause::Sequence => "a stored sequence is not the next one",
        MismatchCause::WorkflowId => "an event belongs to another workflow",
        MismatchCause::TransitionId => "a stored transition id is not that of its event",
        MismatchCause::PriorHead => "a stored prior head is not the head before the row",
        MismatchCause::NextHead => "a row does not link: its bytes or its next head were changed",
        MismatchCause::PinnedHead => "the chain links, but has another head than the pin",
        MismatchCause::ExpectedHead => "the chain links, but has another head than expected",
    }
}

fn reason_words(reason: TornReason) -> &'static str {
    match reason {
        TornReason::UnparseableEvent => "an event, or an id or head beside it, can't be read",
        TornReason::NullEventBytes => "the bytes of an event are NULL",
        TornReason::DuplicateChainLink => "a row does not link, and its head stands in another row",
        TornReason::TruncatedTail => "acknowledged or expected rows are gone",
    }
}
