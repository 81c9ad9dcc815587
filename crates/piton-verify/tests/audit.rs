//! Fixes that an audit, which keeps no events, comes to the same verdict as a verification.

mod support;

use piton_ledger::VulnState;
use piton_store::{CheckpointStore, PersistedRow, Tail};
use piton_testkit::tamper::{altered_head, relink, shift_sequences};
use piton_verify::{
    AuditVerdict, Checked, Expectations, PinPolicy, PinStatus, ReplayVerdict, ReplayVerifier,
};
use support::{block_on, chain};

/// Says what an audit says of a verification's verdict.
fn without_events(verdict: ReplayVerdict<VulnState>) -> AuditVerdict {
    match verdict {
        ReplayVerdict::Verified {
            tail_chain_head,
            events,
        } => AuditVerdict::Verified {
            tail_chain_head,
            rows: u64::try_from(events.len())
                .ok()
                .and_then(|rows| rows.try_into().ok())
                .expect("a verified chain has rows"),
        },
        ReplayVerdict::ChainMismatch(mismatch) => AuditVerdict::ChainMismatch(mismatch),
        ReplayVerdict::TornWrite(torn) => AuditVerdict::TornWrite(torn),
        ReplayVerdict::EmptyWorkflow { genesis_chain_head } => {
            AuditVerdict::EmptyWorkflow { genesis_chain_head }
        }
    }
}

#[test]
fn an_audit_agrees_with_a_verification() {
    type Change = fn(&mut Vec<PersistedRow>);
    let changes: [Change; 10] = [
        |_| {},
        |rows| rows.clear(),
        |rows| rows.truncate(2),
        |rows| rows[1].event_bytes = None,
        |rows| rows[2].event_bytes = Some(b"[]".to_vec()),
        |rows| rows[0].next_head = altered_head(&rows[0].next_head),
        |rows| rows[3].prior_head = altered_head(&rows[3].prior_head),
        |rows| rows[2].next_head = rows[0].next_head.clone(),
        |rows| shift_sequences(rows, 2, 1),
        |rows| {
            rows.remove(0);
            relink(rows, 0);
        },
    ];
    block_on(async {
        let chain = chain(4).await;
        for change in changes {
            let mut rows = chain.rows.clone();
            change(&mut rows);
            let store = chain.tampered(rows);
            let verifier = ReplayVerifier::new(&store);
            for pin in [PinPolicy::Enforce, PinPolicy::Ignore] {
                for expected in [None, Some(chain.tail), Some(Tail::Empty)] {
                    let expectations = Expectations { pin, expected };
                    let verified = verifier
                        .verify_against::<VulnState>(&chain.workflow, expectations)
                        .await
                        .expect("the chain can be checked");
                    let audited = verifier
                        .audit::<VulnState>(&chain.workflow, expectations, |_| ())
                        .await
                        .expect("the chain can be checked");
                    let expected = Checked {
                        verdict: without_events(verified.verdict),
                        pin: verified.pin,
                    };
                    assert_eq!(audited, expected);
                }
            }
        }
    });
}

#[test]
fn progress_counts_every_row_of_a_long_chain() {
    const ROWS: u32 = 1_000;
    block_on(async {
        let chain = chain(ROWS).await;
        let mut heard = Vec::new();
        let checked = ReplayVerifier::new(&chain.store)
            .audit::<VulnState>(&chain.workflow, Expectations::default(), |rows| {
                heard.push(rows);
            })
            .await
            .expect("the chain can be checked");
        let tail = chain.store.tail_chain_head(&chain.workflow).await;
        assert_eq!(
            checked.verdict,
            AuditVerdict::Verified {
                tail_chain_head: tail.expect("a head"),
                rows: u64::from(ROWS).try_into().expect("from 1"),
            }
        );
        assert!(heard.len() > 1, "it is heard of in steps");
        assert!(heard.is_sorted());
        assert_eq!(heard.last(), Some(&u64::from(ROWS)));
    });
}

#[test]
fn a_pin_that_was_not_compared_is_not_called_contradicted() {
    type Change = fn(&mut Vec<PersistedRow>);
    let changes: [(Change, PinStatus); 7] = [
        (|_| {}, PinStatus::Matched),
        (|rows| rows[1].event_bytes = None, PinStatus::Unchecked),
        (
            |rows| rows[1].next_head = altered_head(&rows[1].next_head),
            PinStatus::Unchecked,
        ),
        (|rows| rows[3].event_bytes = None, PinStatus::Unchecked),
        // The pinned row itself is bad, but it was read and has the pinned head or another.
        (
            |rows| rows[3].prior_head = altered_head(&rows[3].prior_head),
            PinStatus::Matched,
        ),
        (
            |rows| rows[3].next_head = altered_head(&rows[3].next_head),
            PinStatus::Contradicted,
        ),
        (|rows| rows.truncate(2), PinStatus::Contradicted),
    ];
    block_on(async {
        let chain = chain(4).await;
        for (place, (change, expected)) in changes.into_iter().enumerate() {
            let mut rows = chain.rows.clone();
            change(&mut rows);
            let store = chain.tampered(rows);
            let verifier = ReplayVerifier::new(&store);
            let checked =
                verifier.audit::<VulnState>(&chain.workflow, Expectations::default(), |_| ());
            assert_eq!(
                checked.await.expect("the chain can be checked").pin,
                expected,
                "change {place}"
            );
        }
    });
}

#[test]
fn a_verifier_shows_nothing_of_its_store() {
    block_on(async {
        let chain = chain(1).await;
        let verifier = ReplayVerifier::new(&chain.store);
        assert_eq!(format!("{verifier:?}"), "ReplayVerifier");
    });
}
