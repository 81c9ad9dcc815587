//! Tampers that only something outside the rows can tell of: the pin, or a head that the caller
//! brings.

use piton_ledger::{ChainHead, Sequence};
use piton_store::Tail;
use piton_verify::{Expectations, MismatchCause, PinPolicy, PinStatus, TornReason};

use super::{mismatch, torn};
use crate::harness::TamperHarness;
use crate::tamper::alter::{altered_head, rewrite};
use crate::tamper::specimen::{Expected, ROWS, Specimen};
use crate::tamper::verifier::Verify;

/// The last 1 to 4 rows are gone.
pub async fn tail_lost<H: TamperHarness, V: Verify>() {
    let specimen = Specimen::<H>::make().await;
    for kept in 1..ROWS {
        let rows = specimen.rows[..kept].to_vec();
        let expected = torn(TornReason::TruncatedTail, kept);
        let mut damage = specimen.damage(&format!("{kept} rows left"), rows, expected);
        damage.pin_status = Some(PinStatus::Contradicted);
        specimen.check::<V>(damage).await;
    }
}

/// Every row is gone: the first is the missing one.
pub async fn every_row_lost<H: TamperHarness, V: Verify>() {
    let specimen = Specimen::<H>::make().await;
    let expected = torn(TornReason::TruncatedTail, 0);
    let mut damage = specimen.damage("no rows left", Vec::new(), expected);
    damage.pin_status = Some(PinStatus::Contradicted);
    specimen.check::<V>(damage.clone()).await;
    // Neither does a pin far beyond the rows change which row is the first missing one.
    damage.pin = Some(Tail::At {
        sequence: Sequence::try_from(i64::MAX).expect("the last sequence"),
        head: specimen.tail.head(),
    });
    specimen.check::<V>(damage).await;
}

/// A chain that links, of other events, stands where the pin knows another head.
pub async fn rewritten_chain_differs_at_the_pin<H: TamperHarness, V: Verify>() {
    let specimen = Specimen::<H>::make().await;
    for (first_forged, pinned) in [(0, ROWS), (0, 3), (0, 1), (ROWS - 1, ROWS), (2, 3)] {
        let mut rows = specimen.rows.clone();
        rewrite(&mut rows, &specimen.workflow, first_forged);
        let expected = mismatch(
            pinned - 1,
            specimen.id(pinned - 1),
            MismatchCause::PinnedHead,
        );
        let what = format!("rewritten from {first_forged}, pinned at {pinned}");
        let mut damage = specimen.damage(&what, rows, expected);
        damage.pin = Some(specimen.tail_after(pinned));
        damage.pin_status = Some(PinStatus::Contradicted);
        specimen.check::<V>(damage).await;
    }
}

/// A pin may lag the rows by any number: after a crash it is old, which is allowed.
pub async fn rows_newer_than_the_pin_are_verified<H: TamperHarness, V: Verify>() {
    let specimen = Specimen::<H>::make().await;
    for pinned in 0..=ROWS {
        let what = format!("pinned at {pinned}");
        let mut damage = specimen.damage(&what, specimen.rows.clone(), Expected::Verified);
        damage.pin = Some(specimen.tail_after(pinned));
        damage.pin_status = Some(PinStatus::Matched);
        specimen.check::<V>(damage).await;
    }
}

/// A ledger of a layout without a pin is judged by its rows alone; none of them is no damage.
pub async fn ledger_without_a_pin_is_verified<H: TamperHarness, V: Verify>() {
    let specimen = Specimen::<H>::make().await;
    let mut damage = specimen.damage("no pin", specimen.rows.clone(), Expected::Verified);
    damage.pin = None;
    damage.pin_status = Some(PinStatus::None);
    specimen.check::<V>(damage.clone()).await;
    damage.rows.clear();
    damage.expected = Expected::Empty;
    specimen.check::<V>(damage.clone()).await;
    damage.pin = Some(Tail::Empty);
    damage.pin_status = Some(PinStatus::Matched);
    specimen.check::<V>(damage).await;
}

fn expecting(expected: Tail) -> Expectations {
    Expectations {
        pin: PinPolicy::Enforce,
        expected: Some(expected),
    }
}

/// A head that the caller brings, and that the chain had, changes nothing.
pub async fn expected_head_is_matched<H: TamperHarness, V: Verify>() {
    let specimen = Specimen::<H>::make().await;
    for known in 0..=ROWS {
        let what = format!("expected at {known}");
        let mut damage = specimen.damage(&what, specimen.rows.clone(), Expected::Verified);
        damage.expectations = expecting(specimen.tail_after(known));
        damage.pin_status = Some(PinStatus::Matched);
        specimen.check::<V>(damage).await;
    }
}

/// A head that the caller brings, and that the chain never had there, is a mismatch at its place.
pub async fn expected_head_differs<H: TamperHarness, V: Verify>() {
    let specimen = Specimen::<H>::make().await;
    for (known, head) in [
        (1, ChainHead::GENESIS),
        (3, specimen.tail.head()),
        (5, ChainHead::from_bytes([1; 32])),
    ] {
        let index = known - 1;
        let expected = mismatch(index, specimen.id(index), MismatchCause::ExpectedHead);
        let what = format!("expected another head at {known}");
        let mut damage = specimen.damage(&what, specimen.rows.clone(), expected);
        damage.expectations = expecting(Tail::At {
            sequence: Sequence::try_from(super::sequence(index)).expect("from 1"),
            head,
        });
        damage.pin_status = Some(PinStatus::Matched);
        specimen.check::<V>(damage).await;
    }
}

/// A head that the caller brings from beyond the tail means that rows are gone.
pub async fn expected_head_is_beyond_the_tail<H: TamperHarness, V: Verify>() {
    let specimen = Specimen::<H>::make().await;
    for kept in 0..ROWS {
        let rows = specimen.rows[..kept].to_vec();
        let expected = torn(TornReason::TruncatedTail, kept);
        let mut damage = specimen.damage(&format!("{kept} rows left"), rows, expected);
        // The pin was cut back with the rows; only the caller knows better.
        damage.pin = Some(specimen.tail_after(kept));
        damage.pin_status = Some(PinStatus::Matched);
        damage.expectations = expecting(specimen.tail);
        specimen.check::<V>(damage).await;
    }
}

/// Who asks to ignore the pin does not hear of a lost tail, but of every other damage.
pub async fn ignored_pin_hides_a_lost_tail<H: TamperHarness, V: Verify>() {
    let specimen = Specimen::<H>::make().await;
    let ignoring = Expectations {
        pin: PinPolicy::Ignore,
        expected: None,
    };
    let shorter = specimen.rows[..3].to_vec();
    let mut damage = specimen.damage("lost tail, pin ignored", shorter, Expected::Verified);
    damage.expectations = ignoring;
    damage.pin_status = Some(PinStatus::Ignored);
    specimen.check::<V>(damage.clone()).await;

    damage.rows.clear();
    damage.expected = Expected::Empty;
    specimen.check::<V>(damage.clone()).await;

    damage.rows = specimen.rows.clone();
    damage.rows[1].next_head = altered_head(&damage.rows[1].next_head);
    damage.expected = mismatch(1, specimen.id(1), MismatchCause::NextHead);
    specimen.check::<V>(damage).await;
}

/// What the walk itself finds is told, not what the pin or the caller could add.
pub async fn finding_of_the_walk_outranks_the_pin<H: TamperHarness, V: Verify>() {
    let specimen = Specimen::<H>::make().await;
    for kept in 3..ROWS {
        let mut rows = specimen.rows[..kept].to_vec();
        rows[1].prior_head = altered_head(&rows[1].prior_head);
        let expected = mismatch(1, specimen.id(1), MismatchCause::PriorHead);
        let mut damage = specimen.damage("divergence and lost tail", rows, expected);
        specimen.check::<V>(damage.clone()).await;
        damage.expectations = expecting(specimen.tail);
        specimen.check::<V>(damage.clone()).await;

        damage.rows[2].event_bytes = None;
        damage.rows[1] = specimen.rows[1].clone();
        damage.what = "NULL bytes and lost tail".to_owned();
        damage.expected = torn(TornReason::NullEventBytes, 2);
        specimen.check::<V>(damage).await;
    }
}

/// Of two bad rows the first is named, and the fold goes on to the end.
pub async fn first_of_two_divergences_is_named<H: TamperHarness, V: Verify>() {
    let specimen = Specimen::<H>::make().await;
    for first in 0..ROWS {
        for second in first + 1..ROWS {
            let mut rows = specimen.rows.clone();
            for at in [first, second] {
                rows[at].next_head = altered_head(&rows[at].next_head);
            }
            let expected = mismatch(first, specimen.id(first), MismatchCause::NextHead);
            let damage = specimen.damage(&format!("rows {first} and {second}"), rows, expected);
            specimen.check::<V>(damage.clone()).await;

            // A row that can't be read is of no interest past the divergence.
            let mut unreadable = damage;
            unreadable.rows = specimen.rows.clone();
            unreadable.rows[first].prior_head = altered_head(&unreadable.rows[first].prior_head);
            unreadable.rows[second].event_bytes = None;
            unreadable.what = format!("row {first}, and NULL bytes in row {second}");
            unreadable.expected = mismatch(first, specimen.id(first), MismatchCause::PriorHead);
            specimen.check::<V>(unreadable).await;
        }
    }
}
