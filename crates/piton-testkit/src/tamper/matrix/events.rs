//! Tampers of the event bytes.

use piton_store::{PersistedRow, Tail};
use piton_verify::{MismatchCause, TornReason};

use super::{at_every_position, mismatch, torn};
use crate::harness::{Harness, TamperHarness};
use crate::history::{nth, transition_id};
use crate::tamper::alter::{along_an_illegal_edge, forged_bytes, relink, replace_in_bytes};
use crate::tamper::specimen::{Damage, Specimen};
use crate::tamper::verifier::Verify;

/// The bytes are those of another valid event: one with the same id, then one with another id.
pub async fn bytes_of_another_event<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, mut rows, at| {
        let mut with_other_id = rows.clone();
        rows[at].event_bytes = Some(forged_bytes(&specimen.workflow, at));
        let expected = mismatch(at, specimen.id(at), MismatchCause::NextHead);
        let same_id = specimen.damage(&format!("forged bytes of row {at}"), rows, expected);

        let other = nth(&specimen.workflow, 60);
        with_other_id[at].event_bytes = Some(other.bytes().to_vec());
        let expected = mismatch(at, transition_id(60), MismatchCause::TransitionId);
        let other_id =
            specimen.damage(&format!("other event in row {at}"), with_other_id, expected);
        vec![same_id, other_id]
    })
    .await;
}

/// One bit of the bytes is flipped: where the event stays readable, and where it does not.
pub async fn bytes_with_one_bit_flipped<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, rows, at| {
        let flip = |offset: usize| {
            let mut rows = rows.clone();
            if let Some(byte) = rows[at]
                .event_bytes
                .as_mut()
                .map(|bytes| &mut bytes[offset])
            {
                *byte ^= 1;
            }
            rows
        };
        let bytes = rows[at].event_bytes.as_deref().expect("bytes");
        let outcome = br#""step":"#;
        let digit = bytes
            .windows(outcome.len())
            .position(|window| window == outcome)
            .expect("the outcome names its step")
            + outcome.len();
        let readable = mismatch(at, specimen.id(at), MismatchCause::NextHead);
        let unreadable = torn(TornReason::UnparseableEvent, at);
        vec![
            specimen.damage(&format!("digit of row {at}"), flip(digit), readable),
            specimen.damage(&format!("brace of row {at}"), flip(0), unreadable),
        ]
    })
    .await;
}

/// The same JSON with one more space, at the start, within, and at the end.
pub async fn bytes_with_one_more_space<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, rows, at| {
        let length = rows[at].event_bytes.as_ref().map_or(0, Vec::len);
        [0, 1, length]
            .into_iter()
            .map(|offset| {
                let mut rows = rows.clone();
                if let Some(bytes) = rows[at].event_bytes.as_mut() {
                    bytes.insert(offset, b' ');
                }
                let expected = mismatch(at, specimen.id(at), MismatchCause::NextHead);
                specimen.damage(&format!("space in row {at}"), rows, expected)
            })
            .collect()
    })
    .await;
}

/// The bytes are NULL.
pub async fn null_event_bytes<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, mut rows, at| {
        rows[at].event_bytes = None;
        let expected = torn(TornReason::NullEventBytes, at);
        vec![specimen.damage(&format!("no bytes in row {at}"), rows, expected)]
    })
    .await;
}

/// Two damages that no event can be read from: the bytes alone, and the bytes with every head and
/// the pin made to fit them.
fn unreadable<H: Harness>(
    specimen: &Specimen<H>,
    rows: &[PersistedRow],
    at: usize,
    what: &str,
    change: impl Fn(&mut PersistedRow),
) -> Vec<Damage> {
    let expected = torn(TornReason::UnparseableEvent, at);
    let mut plain = rows.to_vec();
    change(&mut plain[at]);
    let mut fitted = plain.clone();
    relink(&mut fitted, at);
    let last = fitted.last().and_then(|row| row.next_head.to_head());
    let pin = last.zip(specimen.tail.sequence());
    let mut fitted = specimen.damage(&format!("{what} in row {at}, relinked"), fitted, expected);
    fitted.pin = pin.map(|(head, sequence)| Tail::At { sequence, head });
    vec![
        specimen.damage(&format!("{what} in row {at}"), plain, expected),
        fitted,
    ]
}

/// The JSON ends too early, or is not there at all.
pub async fn truncated_json<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, rows, at| {
        let length = rows[at].event_bytes.as_ref().map_or(0, Vec::len);
        [0, 1, length / 2, length - 1]
            .into_iter()
            .flat_map(|kept| {
                unreadable(specimen, &rows, at, "truncated JSON", |row| {
                    if let Some(bytes) = row.event_bytes.as_mut() {
                        bytes.truncate(kept);
                    }
                })
            })
            .collect()
    })
    .await;
}

/// The bytes are JSON, and no event; or no JSON at all.
pub async fn json_of_the_wrong_shape<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, rows, at| {
        let shapes: [&[u8]; 7] = [
            b"null",
            b"[]",
            b"{}",
            b"7",
            b"\"event\"",
            b"\xff\xfe",
            b"{}{}",
        ];
        shapes
            .into_iter()
            .flat_map(|shape| {
                unreadable(specimen, &rows, at, "wrong shape", |row| {
                    row.event_bytes = Some(shape.to_vec());
                })
            })
            .collect()
    })
    .await;
}

/// The event has a field that no event has, or one field twice.
pub async fn unknown_field<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, rows, at| {
        [r#"{"extra":1,"#, r#"{"workflow_id":"damaged","#]
            .into_iter()
            .flat_map(|opening| {
                unreadable(specimen, &rows, at, "extra field", |row| {
                    replace_in_bytes(row, "{", opening);
                })
            })
            .collect()
    })
    .await;
}

/// The event names a state that the ledger does not have.
pub async fn unknown_state<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, rows, at| {
        ["next_state_id", "prior_state_id"]
            .into_iter()
            .flat_map(|field| {
                unreadable(specimen, &rows, at, "unknown state", |row| {
                    let from = format!("\"{field}\":\"");
                    replace_in_bytes(row, &from, &format!("{from}un"));
                })
            })
            .collect()
    })
    .await;
}

/// The event moves along an edge that the ledger does not have.
pub async fn illegal_edge<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, rows, at| {
        unreadable(specimen, &rows, at, "illegal edge", along_an_illegal_edge)
    })
    .await;
}
