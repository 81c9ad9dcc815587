//! Fixes that ledgers of the original implementation verify unchanged: bytes in declaration order,
//! bare hexadecimal heads, no pin.

mod support;

use piton_ledger::VulnState;
use piton_memory::MemoryStore;
use piton_store::{PersistedRow, Stored};
use piton_testkit::history::workflow;
use piton_testkit::tamper::TamperedStore;
use piton_verify::{
    Expectations, HydrationResult, MismatchCause, PinStatus, ReplayVerdict, ReplayVerifier,
    hydrate_or_fail,
};
use support::block_on;

const WORKFLOW: &str = "01HZZZZZZZZZZZZZZZZZZSCN001";
const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const STATES: [&str; 4] = ["needs_plan", "plan_ready", "patch_applied", "completed"];

/// The heads that the original implementation computed.
const HEADS: [&str; 3] = [
    "7893aece15da05844a38f25119b462486f50de5a8b528fc4d248959c494f681e",
    "133fd2c842882224b23fe138847ae74da12564b8257b925b93714664ce78ac3c",
    "0ef5e8322954069ec62965596f8a0620a5edb064fe4b197cf69a709f3153e6ca",
];

fn id(position: usize) -> String {
    format!("01HZZZZZZZZZZZZZSCN001A{:03}", position + 1)
}

fn rows() -> Vec<PersistedRow> {
    (1i64..)
        .zip(HEADS.iter().enumerate())
        .map(|(sequence, (position, head))| PersistedRow {
            sequence,
            transition_id: id(position).into(),
            prior_head: position
                .checked_sub(1)
                .map_or(GENESIS, |before| HEADS[before])
                .into(),
            next_head: Stored::from(*head),
            event_bytes: Some(
                format!(
                    r#"{{"transition_id":"{}","prior_state_id":"{}","next_state_id":"{}","triggering_outcome":{{"scenario":"golden"}},"evidence_digest":"blake3:{}","chain_head":"{GENESIS}","workflow_id":"{WORKFLOW}"}}"#,
                    id(position),
                    STATES[position],
                    STATES[position + 1],
                    "a".repeat(64),
                )
                .into_bytes(),
            ),
            written_at: "2025-06-01T00:00:00+00:00".into(),
        })
        .collect()
}

fn store(rows: Vec<PersistedRow>) -> TamperedStore<MemoryStore> {
    TamperedStore::new(MemoryStore::new(), workflow(WORKFLOW), rows, None)
}

#[test]
fn a_legacy_chain_is_verified_and_hydrated() {
    block_on(async {
        let store = store(rows());
        let checked = ReplayVerifier::new(&store)
            .verify_against::<VulnState>(&workflow(WORKFLOW), Expectations::default())
            .await
            .expect("the chain can be checked");
        assert_eq!(checked.pin, PinStatus::None);
        let ReplayVerdict::Verified {
            tail_chain_head,
            events,
        } = checked.verdict
        else {
            panic!("the chain is intact, but {:?}", checked.verdict);
        };
        assert_eq!(Ok(tail_chain_head), HEADS[2].parse());
        assert_eq!(events.len(), 3);
        match hydrate_or_fail::<VulnState, _>(&store, &workflow(WORKFLOW)).await {
            Ok(HydrationResult::Hydrated(hydrated)) => {
                assert_eq!(hydrated.latest_state_kind, VulnState::Completed);
            }
            other => panic!("the chain is intact, but {other:?}"),
        }
    });
}

#[test]
fn the_canonical_form_of_a_legacy_event_is_not_its_bytes() {
    block_on(async {
        let mut rows = rows();
        let bytes = rows[1].event_bytes.take().expect("bytes");
        let event = piton_ledger::TransitionEvent::<VulnState>::parse(&bytes).expect("an event");
        rows[1].event_bytes = Some(event.to_canonical_json().into_bytes());
        let verdict = support::verify(&store(rows), &workflow(WORKFLOW)).await;
        let ReplayVerdict::ChainMismatch(mismatch) = verdict else {
            panic!("the bytes are other bytes, but {verdict:?}");
        };
        assert_eq!(mismatch.divergence_index, 1);
        assert_eq!(mismatch.cause, MismatchCause::NextHead);
        assert_eq!(Ok(mismatch.persisted_tail), HEADS[2].parse());
    });
}
