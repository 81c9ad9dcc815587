//! Tampers of the columns beside an event: heads and ids.

use piton_store::Stored;
use piton_verify::{MismatchCause, TornReason};

use super::{at_every_position, mismatch, torn};
use crate::harness::TamperHarness;
use crate::history::transition_id;
use crate::tamper::alter::{altered_head, unreadable_heads};
use crate::tamper::verifier::Verify;

/// A next head is another readable head.
pub async fn altered_next_head<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, mut rows, at| {
        rows[at].next_head = altered_head(&rows[at].next_head);
        let expected = mismatch(at, specimen.id(at), MismatchCause::NextHead);
        vec![specimen.damage(&format!("next head of row {at}"), rows, expected)]
    })
    .await;
}

/// A prior head is another readable head.
pub async fn altered_prior_head<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, mut rows, at| {
        rows[at].prior_head = altered_head(&rows[at].prior_head);
        let expected = mismatch(at, specimen.id(at), MismatchCause::PriorHead);
        vec![specimen.damage(&format!("prior head of row {at}"), rows, expected)]
    })
    .await;
}

/// Both heads of a row are other readable heads, and agree with each other.
pub async fn altered_prior_and_next_head<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, mut rows, at| {
        rows[at].prior_head = altered_head(&rows[at].prior_head);
        let prior = rows[at].prior_head.to_head().expect("a readable head");
        let bytes = rows[at].event_bytes.clone().expect("bytes");
        let next = piton_chain::link(&prior, &bytes);
        rows[at].next_head = crate::tamper::alter::stored_as(&rows[at].next_head, next);
        let expected = mismatch(at, specimen.id(at), MismatchCause::PriorHead);
        vec![specimen.damage(&format!("both heads of row {at}"), rows, expected)]
    })
    .await;
}

/// The id in the column is not the event's.
pub async fn altered_transition_id_column<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, mut rows, at| {
        rows[at].transition_id = transition_id(77).to_string().into();
        let expected = mismatch(at, specimen.id(at), MismatchCause::TransitionId);
        vec![specimen.damage(&format!("id of row {at}"), rows, expected)]
    })
    .await;
}

/// A next head is no head.
pub async fn unreadable_next_head<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, rows, at| {
        let expected = torn(TornReason::UnparseableEvent, at);
        unreadable_heads(&rows[at].next_head)
            .into_iter()
            .map(|column| {
                let mut rows = rows.clone();
                rows[at].next_head = column;
                specimen.damage(&format!("unreadable next head of row {at}"), rows, expected)
            })
            .collect()
    })
    .await;
}

/// A prior head is no head.
pub async fn unreadable_prior_head<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, rows, at| {
        let expected = torn(TornReason::UnparseableEvent, at);
        unreadable_heads(&rows[at].prior_head)
            .into_iter()
            .map(|column| {
                let mut rows = rows.clone();
                rows[at].prior_head = column;
                specimen.damage(
                    &format!("unreadable prior head of row {at}"),
                    rows,
                    expected,
                )
            })
            .collect()
    })
    .await;
}

/// The id in the column is no id.
pub async fn unreadable_transition_id<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, rows, at| {
        let text = rows[at].transition_id.as_text().expect("ids are text");
        let columns: [Stored; 5] = [
            "".into(),
            text[1..].into(),
            text.to_lowercase().into(),
            format!("8{}", &text[1..]).into(),
            Stored::Null,
        ];
        columns
            .into_iter()
            .map(|column| {
                let mut rows = rows.clone();
                rows[at].transition_id = column;
                let expected = torn(TornReason::UnparseableEvent, at);
                specimen.damage(&format!("unreadable id of row {at}"), rows, expected)
            })
            .collect()
    })
    .await;
}

/// One next head stands in two rows: the first row that does not link is named as the torn one.
pub async fn two_rows_with_one_next_head<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, rows, at| {
        (0..rows.len())
            .filter(|from| *from != at)
            .map(|from| {
                let mut rows = rows.clone();
                rows[at].next_head = rows[from].next_head.clone();
                let expected = torn(TornReason::DuplicateChainLink, at);
                specimen.damage(
                    &format!("next head of row {from} in row {at}"),
                    rows,
                    expected,
                )
            })
            .collect()
    })
    .await;
}
