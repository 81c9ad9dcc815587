//! Tampers of whole rows: swapped, deleted, inserted, renumbered, moved in from elsewhere.

use piton_verify::{MismatchCause, TornReason};

use super::{at_every_position, mismatch, sequence, torn};
use crate::harness::TamperHarness;
use crate::history::transition_id;
use crate::tamper::alter::{insert_forged, relink, renumber, shift_sequences};
use crate::tamper::specimen::{Expected, ROWS};
use crate::tamper::verifier::Verify;

/// Two rows change places, and the sequences stay in order.
pub async fn contents_of_two_rows_swapped<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, rows, at| {
        (at + 1..ROWS)
            .map(|with| {
                let mut rows = rows.clone();
                rows.swap(at, with);
                renumber(&mut rows);
                let expected = mismatch(at, specimen.id(with), MismatchCause::PriorHead);
                specimen.damage(&format!("rows {at} and {with} swapped"), rows, expected)
            })
            .collect()
    })
    .await;
}

/// A row that is not the last is gone and leaves a gap.
pub async fn middle_row_deleted<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, mut rows, at| {
        if at + 1 == ROWS {
            return Vec::new();
        }
        rows.remove(at);
        let expected = mismatch(at, specimen.id(at + 1), MismatchCause::Sequence);
        vec![specimen.damage(&format!("row {at} deleted"), rows, expected)]
    })
    .await;
}

/// A row that is not the last is gone, and the rest is renumbered.
pub async fn middle_row_deleted_and_renumbered<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, mut rows, at| {
        if at + 1 == ROWS {
            return Vec::new();
        }
        rows.remove(at);
        renumber(&mut rows);
        let expected = mismatch(at, specimen.id(at + 1), MismatchCause::PriorHead);
        vec![specimen.damage(&format!("row {at} deleted and hidden"), rows, expected)]
    })
    .await;
}

/// A forged row stands before another: with a repeated sequence, and with all renumbered.
pub async fn row_inserted<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, mut rows, at| {
        insert_forged(&mut rows, &specimen.workflow, at);
        let repeated = mismatch(at + 1, specimen.id(at), MismatchCause::Sequence);
        let mut renumbered = rows.clone();
        renumber(&mut renumbered);
        let hidden = mismatch(at + 1, specimen.id(at), MismatchCause::PriorHead);
        vec![
            specimen.damage(&format!("row inserted at {at}"), rows, repeated),
            specimen.damage(
                &format!("row inserted at {at}, renumbered"),
                renumbered,
                hidden,
            ),
        ]
    })
    .await;
}

/// A forged row stands before another, and all that follows is linked anew: only the pin can tell.
pub async fn row_inserted_and_relinked<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, mut rows, at| {
        insert_forged(&mut rows, &specimen.workflow, at);
        relink(&mut rows, at);
        let pinned = if at + 1 == ROWS {
            transition_id(50)
        } else {
            specimen.id(ROWS - 2)
        };
        let expected = mismatch(ROWS - 1, pinned, MismatchCause::PinnedHead);
        vec![specimen.damage(&format!("row inserted at {at}, relinked"), rows, expected)]
    })
    .await;
}

/// The sequence skips numbers though no row is missing.
pub async fn gap_in_the_sequence<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, rows, at| {
        [1, 1_000_000]
            .into_iter()
            .map(|by| {
                let mut rows = rows.clone();
                shift_sequences(&mut rows, at, by);
                let expected = mismatch(at, specimen.id(at), MismatchCause::Sequence);
                specimen.damage(&format!("gap of {by} before row {at}"), rows, expected)
            })
            .collect()
    })
    .await;
}

/// Two rows bear one sequence, and the rest follows on.
pub async fn sequence_repeated<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, mut rows, at| {
        if at == 0 {
            return Vec::new();
        }
        let mut alone = rows.clone();
        alone[at].sequence = sequence(at - 1);
        shift_sequences(&mut rows, at, -1);
        let expected = mismatch(at, specimen.id(at), MismatchCause::Sequence);
        vec![
            specimen.damage(&format!("row {at} repeats a sequence"), alone, expected),
            specimen.damage(&format!("rows from {at} repeat"), rows, expected),
        ]
    })
    .await;
}

/// The sequence does not begin at 1.
pub async fn sequence_shifted_from_the_start<H: TamperHarness, V: Verify>() {
    let specimen = crate::tamper::Specimen::<H>::make().await;
    for by in [-1, 1, -3, -1_000_000] {
        let mut rows = specimen.rows.clone();
        shift_sequences(&mut rows, 0, by);
        let expected = mismatch(0, specimen.id(0), MismatchCause::Sequence);
        let damage = specimen.damage(&format!("sequences moved by {by}"), rows, expected);
        specimen.check::<V>(damage).await;
    }
}

/// A row is replaced by the one at its place in another workflow.
pub async fn row_moved_in_from_another_workflow<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, mut rows, at| {
        rows[at] = specimen.other_rows[at].clone();
        let id = rows[at].transition_id.to_transition_id().expect("an id");
        let mut relinked = rows.clone();
        relink(&mut relinked, at);
        let expected = mismatch(at, id, MismatchCause::WorkflowId);
        vec![
            specimen.damage(&format!("foreign row {at}"), rows, expected),
            specimen.damage(&format!("foreign row {at}, relinked"), relinked, expected),
        ]
    })
    .await;
}

/// The whole chain is that of another workflow, and so is the pin.
pub async fn chain_moved_in_from_another_workflow<H: TamperHarness, V: Verify>() {
    let specimen = crate::tamper::Specimen::<H>::make().await;
    let rows = specimen.other_rows.clone();
    let id = rows[0].transition_id.to_transition_id().expect("an id");
    let expected = mismatch(0, id, MismatchCause::WorkflowId);
    let mut damage = specimen.damage("foreign chain", rows.clone(), expected);
    specimen.check::<V>(damage.clone()).await;
    damage.pin = rows[ROWS - 1]
        .next_head
        .to_head()
        .zip(specimen.tail.sequence())
        .map(|(head, sequence)| piton_store::Tail::At { sequence, head });
    specimen.check::<V>(damage.clone()).await;
    damage.pin = None;
    specimen.check::<V>(damage).await;
}

/// A row stands twice: renumbered, and with its own sequence again.
pub async fn row_repeated<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, mut rows, at| {
        let again = rows[at].clone();
        rows.insert(at + 1, again);
        let own_sequence = Expected::Torn {
            reason: TornReason::DuplicateChainLink,
            sequence: sequence(at),
        };
        let mut renumbered = rows.clone();
        renumber(&mut renumbered);
        let next_sequence = torn(TornReason::DuplicateChainLink, at + 1);
        vec![
            specimen.damage(&format!("row {at} twice"), rows, own_sequence),
            specimen.damage(
                &format!("row {at} twice, renumbered"),
                renumbered,
                next_sequence,
            ),
        ]
    })
    .await;
}
