//! States the laws of verification: what was appended is verified, and no flipped bit is missed.

mod support;

use piton_ledger::VulnState;
use piton_memory::MemoryStore;
use piton_store::{CheckpointStoreExt, PersistedRow, Stored};
use piton_testkit::history::{sealed, workflow};
use piton_testkit::observe::{append_all, assert_chain};
use piton_testkit::strategy::arbitrary_history;
use piton_testkit::tamper::TamperedStore;
use piton_verify::ReplayVerdict;
use proptest::prelude::{ProptestConfig, any, proptest};
use proptest::sample::Index;
use support::{block_on, chain, verify};

/// Flips one bit of a text column; what is no text any more is bytes.
fn flipped(column: &Stored, bit: usize) -> Stored {
    let text = column.as_text().expect("memory holds text");
    let mut bytes = text.as_bytes().to_vec();
    flip(&mut bytes, bit);
    match String::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(error) => Stored::Bytes(error.into_bytes().into()),
    }
}

fn flip(bytes: &mut [u8], bit: usize) {
    bytes[bit / 8] ^= 1 << (bit % 8);
}

/// How many bits of a row count; the time of the write is for people.
fn bits(row: &PersistedRow) -> usize {
    let text = |column: &Stored| column.as_text().map_or(0, str::len);
    let bytes = row.event_bytes.as_ref().map_or(0, Vec::len);
    8 * (bytes
        + text(&row.transition_id)
        + text(&row.prior_head)
        + text(&row.next_head)
        + size_of::<i64>())
}

/// Flips one bit of a row, counted through its event bytes, its columns and its sequence.
fn flip_in_row(row: &mut PersistedRow, bit: usize) {
    let event = row.event_bytes.as_mut().expect("memory holds bytes");
    let mut bit = bit;
    if bit < event.len() * 8 {
        return flip(event, bit);
    }
    bit -= event.len() * 8;
    for column in [
        &mut row.transition_id,
        &mut row.prior_head,
        &mut row.next_head,
    ] {
        let length = column.as_text().map_or(0, str::len) * 8;
        if bit < length {
            *column = flipped(column, bit);
            return;
        }
        bit -= length;
    }
    row.sequence ^= 1 << bit;
}

#[test]
fn every_bit_of_a_middle_row_counts() {
    block_on(async {
        let chain = chain(3).await;
        for bit in 0..bits(&chain.rows[1]) {
            let mut rows = chain.rows.clone();
            flip_in_row(&mut rows[1], bit);
            assert!(rows != chain.rows);
            let verdict = verify(&chain.tampered(rows), &chain.workflow).await;
            assert!(
                matches!(
                    verdict,
                    ReplayVerdict::ChainMismatch(_) | ReplayVerdict::TornWrite(_)
                ),
                "bit {bit} of the row was flipped: {verdict:?}"
            );
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the outcomes, a history that was sealed and appended is verified, event for event.
    #[test]
    fn what_was_appended_is_verified(history in arbitrary_history(workflow("law"), 6)) {
        block_on(async {
            let store = MemoryStore::new();
            let events: Vec<_> = history.iter().map(sealed).collect();
            append_all(&store, &events).await;
            assert_chain(&store, &workflow("law"), &events).await;
            let read = store.collect_events::<VulnState>(&workflow("law")).await.expect("events");
            for ((read, live), event) in read.iter().zip(&history).zip(&events) {
                // A random text may happen to look like a secret; then the rest must be equal.
                if event.redactions().is_empty() {
                    assert_eq!(read, live);
                }
                assert_eq!(read.transition_id(), live.transition_id());
            }
        });
    }

    /// One flipped bit anywhere in a random chain is found, with or without a pin.
    #[test]
    fn a_flipped_bit_is_found(
        history in arbitrary_history(workflow("law"), 6),
        at in any::<Index>(),
        bit in any::<Index>(),
        pinned in any::<bool>(),
    ) {
        block_on(async {
            let store = MemoryStore::new();
            let workflow = workflow("law");
            let events: Vec<_> = history.iter().map(sealed).collect();
            append_all(&store, &events).await;
            let mut rows = store.collect_rows(&workflow).await.expect("rows");
            let row = at.get_mut(&mut rows);
            let bit = bit.index(bits(row));
            flip_in_row(row, bit);
            let pin = pinned.then(|| piton_testkit::observe::tail_of(&events));
            let tampered = TamperedStore::new(store, workflow.clone(), rows, pin);
            let verdict = verify(&tampered, &workflow).await;
            assert!(
                matches!(verdict, ReplayVerdict::ChainMismatch(_) | ReplayVerdict::TornWrite(_)),
                "bit {bit} was flipped: {verdict:?}"
            );
        });
    }
}
