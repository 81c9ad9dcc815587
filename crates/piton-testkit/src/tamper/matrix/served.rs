//! The matrix's own footing: the store serves what was put beneath it (C8), and an intact chain is
//! called so.
#![allow(
    clippy::extra_unused_type_parameters,
    reason = "every tamper is called the same way, though reads need no verifier"
)]

use piton_ledger::ChainHead;
use piton_store::{CheckpointStore, CheckpointStoreExt, PersistedRow, StoreError, Tail};
use piton_verify::PinStatus;

use super::at_every_position;
use crate::harness::TamperHarness;
use crate::tamper::alter::{altered_head, unreadable_heads};
use crate::tamper::specimen::{Expected, Specimen};
use crate::tamper::verifier::Verify;

/// Rows that nobody touched are verified, through the same door as all damage.
pub async fn untouched_chain_is_verified<H: TamperHarness, V: Verify>() {
    at_every_position::<H, V>(|specimen, rows, _| {
        let mut damage = specimen.damage("nothing", rows, Expected::Verified);
        damage.pin_status = Some(PinStatus::Matched);
        vec![damage]
    })
    .await;
}

/// Demands that a store serves exactly what was put beneath it.
async fn assert_served<H: TamperHarness>(
    specimen: &Specimen<H>,
    rows: Vec<PersistedRow>,
    tail: Option<ChainHead>,
) {
    let store = specimen.put(rows.clone(), Some(specimen.tail)).await;
    let served = store.collect_rows(&specimen.workflow).await.expect("rows");
    assert!(served == rows, "rows are served as they are: {served:?}");
    match (store.tail_chain_head(&specimen.workflow).await, tail) {
        (Ok(served), Some(tail)) => assert_eq!(served, tail, "the stored tail is served"),
        (Err(StoreError::UnreadableColumn { workflow, .. }), None) => {
            assert_eq!(workflow, specimen.workflow);
        }
        (answer, _) => panic!("the stored tail is served as it is, not {answer:?}"),
    }
    let pin = store.pinned_tail(&specimen.workflow).await;
    assert_eq!(pin.expect("a pin"), Some(specimen.tail));
}

/// Untouched rows, their tail and their pin are served as they are.
pub async fn untouched_rows_and_tail_are_served_as_they_are<H: TamperHarness, V: Verify>() {
    let specimen = Specimen::<H>::make().await;
    let tail = specimen.tail.head();
    assert_served(&specimen, specimen.rows.clone(), Some(tail)).await;
    let store = specimen.put(Vec::new(), Some(Tail::Empty)).await;
    assert_eq!(
        store
            .tail_chain_head(&specimen.workflow)
            .await
            .expect("a head"),
        ChainHead::GENESIS
    );
    assert_eq!(
        store.pinned_tail(&specimen.workflow).await.expect("a pin"),
        Some(Tail::Empty)
    );
}

/// A read recomputes nothing: damaged rows and a damaged tail are served as they are, and a tail
/// that is no head is an error and no guess.
pub async fn damaged_rows_and_tail_are_served_as_they_are<H: TamperHarness, V: Verify>() {
    let specimen = Specimen::<H>::make().await;
    let tail = Some(specimen.tail.head());
    for at in 0..specimen.rows.len() {
        let mut rows = specimen.rows.clone();
        rows[at].event_bytes = Some(b"not an event".to_vec());
        assert_served(&specimen, rows.clone(), tail).await;
        rows[at].event_bytes = None;
        assert_served(&specimen, rows, tail).await;
    }
    let last = specimen.rows.len() - 1;
    let mut rows = specimen.rows.clone();
    rows[last].next_head = altered_head(&rows[last].next_head);
    let altered = rows[last].next_head.to_head();
    assert_served(&specimen, rows.clone(), altered).await;
    for column in unreadable_heads(&specimen.rows[last].next_head) {
        rows[last].next_head = column;
        assert_served(&specimen, rows.clone(), None).await;
    }
    let shorter = specimen.rows[..2].to_vec();
    let head = shorter[1].next_head.to_head();
    assert_served(&specimen, shorter, head).await;
}
