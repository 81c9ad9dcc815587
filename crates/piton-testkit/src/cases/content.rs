//! Cases of content: what is stored is what was sealed, byte for byte, in every adapter.

use piton_ledger::{ChainHead, Sequence, TransitionEvent, VulnState};
use piton_memory::MemoryStore;
use piton_store::{CheckpointStoreExt, MAX_EVENT_BYTES, PersistedRow, SealedEvent, VerifiedRow};

use crate::harness::{Harness, Settings};
use crate::history::{event, legal_walk, nth_with, sealed, transition_id, workflow};
use crate::observe::{append, append_all, assert_chain};

/// The same events give the same sequences, heads and bytes as the store in memory.
pub async fn c02_bytes_and_heads_equal_the_model<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let model = MemoryStore::new();
    for seed in 0..8 {
        let workflow = workflow(&format!("model-{seed}"));
        let events: Vec<_> = legal_walk(&workflow, seed, 12).iter().map(sealed).collect();
        let answers = append_all(&store, &events).await;
        assert_eq!(answers, append_all(&model, &events).await);
        let plain = |row: &PersistedRow| {
            (
                row.sequence,
                row.transition_id.to_transition_id(),
                row.prior_head.to_head(),
                row.next_head.to_head(),
                row.event_bytes.clone(),
            )
        };
        let rows = store.collect_rows(&workflow).await.expect("rows");
        let expected = model.collect_rows(&workflow).await.expect("rows");
        assert_eq!(rows.len(), expected.len());
        for (row, expected) in rows.iter().zip(&expected) {
            assert!(plain(row) == plain(expected), "row {}", expected.sequence);
        }
    }
}

/// A row that was proved elsewhere is taken with its bytes as they are, though they are not
/// canonical.
pub async fn c02_verified_rows_keep_bytes_and_heads<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("moved");
    let mut prior = ChainHead::GENESIS;
    let mut events = Vec::new();
    for (n, sequence) in (1..=3).map(|n| (n, Sequence::try_from(u64::from(n)).expect("from 1"))) {
        // Declaration order and white space, as another implementation may have written it.
        let bytes = format!(
            r#"{{ "transition_id": "{}", "prior_state_id": "plan_ready", "next_state_id": "patch_applied", "triggering_outcome": {{"z": {n}.0, "a": "é"}}, "evidence_digest": "blake3:{}", "chain_head": "{}", "workflow_id": "{workflow}" }}"#,
            transition_id(n),
            "a".repeat(64),
            "0".repeat(64),
        );
        let next = piton_chain::link(&prior, bytes.as_bytes());
        let row = PersistedRow {
            sequence: sequence.to_i64(),
            transition_id: transition_id(n).to_string().into(),
            prior_head: prior.to_string().into(),
            next_head: next.to_string().into(),
            event_bytes: Some(bytes.into_bytes()),
            written_at: "2025-01-01T00:00:00Z".into(),
        };
        let proved = VerifiedRow::prove::<VulnState>(&row, &workflow, sequence, &prior)
            .expect("the row links");
        let moved = SealedEvent::from(proved);
        assert_eq!(append(&store, &moved).await.head, next);
        events.push(moved);
        prior = next;
    }
    assert_chain(&store, &workflow, &events).await;
}

/// How many code points one event holds; four bytes each stay below the cap.
const CODE_POINTS_PER_EVENT: usize = 15_000;

/// Every code point, U+0000 among them, comes back as it was sealed.
pub async fn c02_every_code_point_round_trips<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("code-points");
    let mut every = '\0'..=char::MAX;
    let mut texts = Vec::new();
    loop {
        let text: String = every.by_ref().take(CODE_POINTS_PER_EVENT).collect();
        if text.is_empty() {
            break;
        }
        texts.push(text);
    }
    let mut events = Vec::new();
    for (n, text) in (1..).zip(&texts) {
        let outcome = serde_json::to_string(text).expect("a text can be written");
        let event = nth_with(&workflow, n, &outcome);
        assert!(event.redactions().is_empty(), "no rule finds a secret here");
        append(&store, &event).await;
        events.push(event);
    }
    assert_chain(&store, &workflow, &events).await;
    let read: Vec<TransitionEvent<VulnState>> =
        store.collect_events(&workflow).await.expect("events");
    for (text, event) in texts.iter().zip(read) {
        let outcome: String =
            serde_json::from_str(event.triggering_outcome().as_str()).expect("an outcome is JSON");
        assert!(&outcome == text, "a code point changed");
    }
}

/// An event of exactly the largest size is stored whole.
pub async fn c02_largest_event_round_trips<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("largest");
    let frame = nth_with(&workflow, 1, r#""""#).bytes().len();
    let text = "x ".repeat(MAX_EVENT_BYTES);
    let outcome = format!("\"{}\"", &text[..MAX_EVENT_BYTES - frame]);
    let largest = nth_with(&workflow, 1, &outcome);
    assert_eq!(largest.bytes().len(), MAX_EVENT_BYTES);
    append(&store, &largest).await;
    assert_chain(&store, &workflow, &[largest]).await;
}

/// A secret in an outcome is not in the stored bytes, and the chain over the redacted bytes is
/// intact.
pub async fn c08_secrets_are_stored_redacted<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("secret");
    // Put together at run time, so that no scanner takes this file for a leak.
    let secret = format!("{}-{}-{}", "sk", "ant", "x".repeat(50));
    let outcome = format!(r#"{{"log":"the key is {secret}, keep it","step":1}}"#);
    let event = sealed(&event(
        &workflow,
        1,
        VulnState::NeedsPlan,
        VulnState::PlanReady,
        &outcome,
    ));
    append(&store, &event).await;
    let rows = store.collect_rows(&workflow).await.expect("rows");
    let stored = rows[0].event_bytes.clone().expect("bytes");
    let stored = String::from_utf8(stored).expect("events are UTF-8");
    assert!(!stored.contains(&secret), "the secret was stored");
    assert!(stored.contains("<REDACTED:fingerprint="), "{stored}");
    assert_chain(&store, &workflow, &[event]).await;
}
