//! Fixes what follows from each verdict: events to resume from, or a terminal failure.

mod support;

use piton_ledger::{ChainHead, FailedUnrecoverableReason, VulnState};
use piton_memory::MemoryStore;
use piton_store::{CheckpointStore, CheckpointStoreExt, StoreError};
use piton_testkit::history::{clean_completion, legal_walk, retry_then_recovery, sealed, workflow};
use piton_testkit::observe::append_all;
use piton_testkit::tamper::altered_head;
use piton_verify::{
    Hydrated, HydrationResult, INTEGRITY_ERROR_ID, ReplayVerdict, hydrate_or_fail,
    integrity_message,
};
use support::{block_on, chain, verify};

type Hydration = HydrationResult<VulnState>;

/// Demands the terminal failure, with the message of the verdict.
fn assert_failed(hydration: &Hydration, verdict: &ReplayVerdict<VulnState>) {
    let HydrationResult::FailedUnrecoverable(failure) = hydration else {
        panic!("a damaged chain was hydrated");
    };
    assert_eq!(
        failure.reason,
        FailedUnrecoverableReason::CheckpointIntegrity
    );
    let error = failure.error.as_ref().expect("an error says what is wrong");
    assert_eq!(error.error_id.as_str(), INTEGRITY_ERROR_ID);
    assert_eq!(
        Some(error.message.as_str()),
        integrity_message(verdict).as_deref()
    );
    assert_eq!(error.details, None);
}

#[test]
fn the_error_id_is_fixed() {
    assert_eq!(
        INTEGRITY_ERROR_ID,
        "workflows.checkpoint_integrity_violation"
    );
}

#[test]
fn verified_histories_are_hydrated() {
    block_on(async {
        let store = MemoryStore::new();
        let id = |n: u32| workflow(&format!("history-{n}"));
        let mut histories = vec![clean_completion(&id(0)), retry_then_recovery(&id(1))];
        histories.extend((2..20).map(|n| legal_walk(&id(n), u64::from(n), n)));
        for (n, history) in (0..).zip(histories) {
            let events: Vec<_> = history.iter().map(sealed).collect();
            let answers = append_all(&store, &events).await;
            let hydration: Hydration = hydrate_or_fail(&store, &id(n)).await.expect("hydration");
            assert_eq!(
                hydration,
                HydrationResult::Hydrated(Hydrated {
                    latest_state_kind: history.last().expect("an event").next_state_id(),
                    tail_chain_head: answers.last().expect("an answer").head,
                    events: history,
                })
            );
        }
    });
}

#[test]
fn an_empty_workflow_is_hydrated_to_the_initial_kind() {
    block_on(async {
        let store = MemoryStore::new();
        let hydration: Hydration = hydrate_or_fail(&store, &workflow("empty"))
            .await
            .expect("hydration");
        assert_eq!(
            hydration,
            HydrationResult::Hydrated(Hydrated {
                events: Vec::new(),
                latest_state_kind: VulnState::NeedsPlan,
                tail_chain_head: ChainHead::GENESIS,
            })
        );
    });
}

#[test]
fn a_mismatch_fails_for_good() {
    block_on(async {
        let chain = chain(3).await;
        let mut rows = chain.rows.clone();
        rows[1].next_head = altered_head(&rows[1].next_head);
        let store = chain.tampered(rows);
        let verdict = verify(&store, &chain.workflow).await;
        assert!(matches!(verdict, ReplayVerdict::ChainMismatch(_)));
        let hydration = hydrate_or_fail(&store, &chain.workflow).await;
        assert_failed(&hydration.expect("hydration"), &verdict);
    });
}

#[test]
fn a_torn_write_fails_for_good() {
    block_on(async {
        let chain = chain(3).await;
        for kept in 0..3 {
            let store = chain.tampered(chain.rows[..kept].to_vec());
            let verdict = verify(&store, &chain.workflow).await;
            assert!(matches!(verdict, ReplayVerdict::TornWrite(_)));
            let hydration = hydrate_or_fail(&store, &chain.workflow).await;
            assert_failed(&hydration.expect("hydration"), &verdict);
        }
    });
}

#[test]
fn a_store_that_cannot_be_read_is_an_error_and_no_verdict() {
    block_on(async {
        let chain = chain(3).await;
        chain.store.close().await.expect("a store can be closed");
        let hydration = hydrate_or_fail::<VulnState, _>(&chain.store, &chain.workflow).await;
        assert!(matches!(hydration, Err(StoreError::Closed)));
    });
}

#[test]
fn json_with_more_or_less_is_refused() {
    let head = ChainHead::GENESIS;
    let hydrated = format!(
        r#"{{"kind":"hydrated","events":[],"latest_state_kind":"needs_plan","tail_chain_head":"{head}"}}"#
    );
    let accepted: Result<Hydration, _> = serde_json::from_str(&hydrated);
    assert!(accepted.is_ok(), "{accepted:?}");
    for json in [
        hydrated.replace("\"events\":[],", ""),
        hydrated.replace("needs_plan", "parked"),
        hydrated.replace("hydrated", "failed_unrecoverable"),
        hydrated.replace("\"events\"", "\"extra\":1,\"events\""),
        r#"{"kind":"failed_unrecoverable"}"#.to_owned(),
        r#"{"kind":"failed_unrecoverable","reason":"bad_luck"}"#.to_owned(),
        r#"{"kind":"failed_unrecoverable","reason":"policy_violation","extra":1}"#.to_owned(),
        r#"{"kind":"resumed"}"#.to_owned(),
        "[]".to_owned(),
    ] {
        let refused: Result<Hydration, _> = serde_json::from_str(&json);
        assert!(refused.is_err(), "{json}");
    }
}

#[test]
fn json_forms() {
    block_on(async {
        let store = MemoryStore::new();
        let workflow = workflow("json");
        let history = clean_completion(&workflow);
        let events: Vec<_> = history.iter().map(sealed).collect();
        append_all(&store, &events).await;
        let hydration: Hydration = hydrate_or_fail(&store, &workflow).await.expect("hydration");
        let json = serde_json::to_string(&hydration).expect("JSON");
        let texts: Vec<_> = history
            .iter()
            .map(|event| event.to_canonical_json())
            .collect();
        let head = store.tail_chain_head(&workflow).await.expect("a head");
        assert_eq!(
            json,
            format!(
                r#"{{"kind":"hydrated","events":[{}],"latest_state_kind":"completed","tail_chain_head":"{head}"}}"#,
                texts.join(",")
            )
        );
        let back: Hydration = serde_json::from_str(&json).expect("a value");
        assert_eq!(back, hydration);

        let rows = store.collect_rows(&workflow).await.expect("rows");
        let chain = support::Chain {
            store,
            workflow,
            tail: piton_testkit::observe::tail_of(&events),
            rows,
        };
        let store = chain.tampered(Vec::new());
        let hydration: Hydration = hydrate_or_fail(&store, &chain.workflow)
            .await
            .expect("hydration");
        let json = serde_json::to_string(&hydration).expect("JSON");
        assert_eq!(
            json,
            r#"{"kind":"failed_unrecoverable","reason":"checkpoint_integrity","error":{"error_id":"workflows.checkpoint_integrity_violation","message":"torn_write: reason=truncated_tail offending_sequence=1"}}"#
        );
        let back: Hydration = serde_json::from_str(&json).expect("a value");
        assert_eq!(back, hydration);
    });
}
