//! Holds what syntax says to what live values do: an extractor that reads a name wrong fails here
//! and not in a golden that nobody doubts.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::num::NonZeroU32;

use piton_ledger::{
    FailedUnrecoverable, FailedUnrecoverableReason, ReviewReason, ShortText, SignalKind,
    StateMachine as _, VulnLedgerState, VulnState, WorkflowId,
};
use piton_verify::{AuditVerdict, ChainMismatch, MismatchCause, PinStatus, TornReason, TornWrite};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::documents::{event, failure, probe};
use crate::ports::{error_ids, limits, ports};
use crate::sources::Sources;
use crate::types::types;

fn names(object: &Value) -> BTreeSet<String> {
    let object = object.as_object().expect("an object");
    object.keys().cloned().collect()
}

#[test]
fn closed_sets_of_words_are_the_ones_that_the_types_list() {
    let types = types(&Sources::read());
    let check = |name: &str, listed: &[&str]| {
        let found = names(&types[name]["variants"]);
        assert_eq!(
            found,
            listed.iter().map(|slug| (*slug).to_owned()).collect()
        );
    };
    check(
        "MismatchCause",
        &MismatchCause::ALL.map(MismatchCause::slug),
    );
    check("TornReason", &TornReason::ALL.map(TornReason::slug));
    check(
        "FailedUnrecoverableReason",
        &FailedUnrecoverableReason::ALL.map(FailedUnrecoverableReason::slug),
    );
}

#[test]
fn every_word_is_read_and_written_as_it_stands() {
    fn check<T: Serialize + DeserializeOwned + Debug>(types: &Value, name: &str) {
        let words = names(&types[name]["variants"]);
        assert!(!words.is_empty());
        for word in words {
            let value: T = serde_json::from_value(json!(word))
                .unwrap_or_else(|error| panic!("{name} {word}: {error}"));
            assert_eq!(serde_json::to_value(value).expect("a JSON value"), word);
        }
    }
    let types = types(&Sources::read());
    check::<ReviewReason>(&types, "ReviewReason");
    check::<PinStatus>(&types, "PinStatus");
    check::<FailedUnrecoverableReason>(&types, "FailedUnrecoverableReason");
    check::<MismatchCause>(&types, "MismatchCause");
    check::<TornReason>(&types, "TornReason");
}

/// Compares the fields of one object, found by syntax, with those that a live value has.
fn check_fields<T: Serialize + DeserializeOwned>(types: &Value, found: &Value, value: &T) {
    let probed = probe(value);
    let found = match found.get("holds") {
        Some(held) => &types[held.as_str().expect("a name")]["fields"],
        None => &found["fields"],
    };
    let mut expected = found.clone();
    let mut live = probed["fields"].clone();
    // The tag is no field of any variant.
    live.as_object_mut().expect("an object").remove("kind");
    for fields in [&mut expected, &mut live] {
        for field in fields.as_object_mut().expect("an object").values_mut() {
            field.as_object_mut().expect("an object").remove("type");
        }
    }
    assert_eq!(expected, live);
    assert_eq!(probed["unknown_fields"], "refused");
}

/// Gives a state of a kind with nothing left out.
fn state(kind: VulnState) -> VulnLedgerState {
    match kind {
        VulnState::NeedsPlan => VulnLedgerState::NeedsPlan {},
        VulnState::PlanReady => VulnLedgerState::PlanReady {
            plan_summary: "a plan".parse().expect("a text"),
        },
        VulnState::PatchApplied => VulnLedgerState::PatchApplied {
            patch_digest: event().evidence_digest(),
        },
        VulnState::GateFailedRetryable => VulnLedgerState::GateFailedRetryable {
            failing_signals: vec!["tests_failed".parse().expect("a signal")],
            attempt_number: NonZeroU32::MIN,
        },
        VulnState::AwaitingHumanReview => VulnLedgerState::AwaitingHumanReview {
            review_reason: ReviewReason::NoConcreteMatch,
            handoff_path: Some("a/path".into()),
        },
        VulnState::Completed => VulnLedgerState::Completed {
            report_path: Some("a/path".into()),
        },
        VulnState::FailedUnrecoverable => VulnLedgerState::FailedUnrecoverable(failure()),
    }
}

#[test]
fn states_have_the_tag_and_the_fields_that_syntax_says() {
    let types = types(&Sources::read());
    let found = &types["VulnLedgerState"]["variants"];
    assert_eq!(names(found).len(), VulnState::KINDS.len());
    for kind in VulnState::KINDS {
        let state = state(*kind);
        let written = serde_json::to_value(&state).expect("a JSON value");
        assert_eq!(written["kind"], kind.slug());
        check_fields(&types, &found[kind.slug()], &state);
    }
}

#[test]
fn verdicts_and_failures_have_the_fields_that_syntax_says() {
    let types = types(&Sources::read());
    let event = event();
    let mismatch = ChainMismatch {
        persisted_tail: event.chain_head(),
        recomputed_tail: event.chain_head(),
        divergence_index: 0,
        offending_transition_id: event.transition_id(),
        cause: MismatchCause::NextHead,
    };
    let torn = TornWrite {
        reason: TornReason::TruncatedTail,
        offending_sequence: 1,
    };
    let failed: FailedUnrecoverable = failure();
    let error = failed.error.clone().expect("an error");
    check_fields(&types, &types["ChainMismatch"], &mismatch);
    check_fields(&types, &types["TornWrite"], &torn);
    check_fields(&types, &types["FailedUnrecoverable"], &failed);
    check_fields(&types, &types["RemediationError"], &error);
    let verdicts = [
        AuditVerdict::Verified {
            tail_chain_head: event.chain_head(),
            rows: 1u64.try_into().expect("a sequence"),
        },
        AuditVerdict::ChainMismatch(mismatch),
        AuditVerdict::TornWrite(torn),
        AuditVerdict::EmptyWorkflow {
            genesis_chain_head: event.chain_head(),
        },
    ];
    let found = &types["AuditVerdict"]["variants"];
    assert_eq!(names(found).len(), verdicts.len());
    for verdict in verdicts {
        let written = serde_json::to_value(&verdict).expect("a JSON value");
        let kind = written["kind"].as_str().expect("a tag");
        check_fields(&types, &found[kind], &verdict);
    }
}

#[test]
fn constants_have_the_values_that_syntax_says() {
    let sources = Sources::read();
    let live = json!({
        "MAX_BATCH_EVENTS": piton_store::MAX_BATCH_EVENTS,
        "MAX_EVENT_BYTES": piton_store::MAX_EVENT_BYTES,
        "MAX_LEVELS": piton_ledger::json::MAX_LEVELS,
        "ShortText::MAX_CHARS": ShortText::MAX_CHARS,
        "SignalKind::MAX_BYTES": SignalKind::MAX_BYTES,
        "WorkflowId::MAX_BYTES": WorkflowId::MAX_BYTES,
    });
    assert_eq!(limits(&sources), live);
    let live = json!({
        "INTEGRITY_ERROR_ID": piton_verify::INTEGRITY_ERROR_ID,
        "PAYLOAD_TOO_LARGE": piton_store::PAYLOAD_TOO_LARGE,
    });
    assert_eq!(error_ids(&sources), live);
}

#[test]
fn the_store_port_has_seven_operations_of_which_one_has_a_default() {
    let ports = ports(&Sources::read());
    let operations: Vec<(&String, &Value)> = ports["CheckpointStore"]["items"]
        .as_object()
        .expect("an object")
        .iter()
        .filter(|(_, item)| item["signature"].as_str().expect("text").starts_with("fn "))
        .collect();
    assert_eq!(operations.len(), 7);
    let with_default: Vec<&str> = operations
        .iter()
        .filter(|(_, item)| item["presence"] == "optional")
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(with_default, ["read_all_for_workflow"]);
}
