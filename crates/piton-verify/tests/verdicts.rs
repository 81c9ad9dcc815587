//! Fixes the JSON and text forms of verdicts: scripts and logs read them.

use piton_ledger::{ChainHead, Sequence, VulnState};
use piton_testkit::history::{clean_completion, transition_id, workflow};
use piton_verify::{
    AuditVerdict, ChainMismatch, MismatchCause, PinStatus, ReplayVerdict, TornReason, TornWrite,
    integrity_message,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

type Verdict = ReplayVerdict<VulnState>;

fn mismatch(cause: MismatchCause) -> ChainMismatch {
    ChainMismatch {
        persisted_tail: ChainHead::from_bytes([0xaa; 32]),
        recomputed_tail: ChainHead::from_bytes([0xbb; 32]),
        divergence_index: 1,
        offending_transition_id: transition_id(2),
        cause,
    }
}

const TORN: TornWrite = TornWrite {
    reason: TornReason::TruncatedTail,
    offending_sequence: 4,
};

fn check<T>(value: &T, json: &str)
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    assert_eq!(serde_json::to_string(value).expect("JSON"), json);
    assert_eq!(&serde_json::from_str::<T>(json).expect("a value"), value);
}

#[test]
fn json_of_a_mismatch() {
    let a = "a".repeat(64);
    let b = "b".repeat(64);
    let id = transition_id(2);
    let json = format!(
        r#"{{"kind":"chain_mismatch","persisted_tail":"blake3:{a}","recomputed_tail":"blake3:{b}","divergence_index":1,"offending_transition_id":"{id}","cause":"prior_head"}}"#
    );
    check(
        &Verdict::ChainMismatch(mismatch(MismatchCause::PriorHead)),
        &json,
    );
    check(
        &AuditVerdict::ChainMismatch(mismatch(MismatchCause::PriorHead)),
        &json,
    );
}

#[test]
fn json_of_a_torn_write() {
    let json = r#"{"kind":"torn_write","reason":"truncated_tail","offending_sequence":4}"#;
    check(&Verdict::TornWrite(TORN), json);
    check(&AuditVerdict::TornWrite(TORN), json);
}

#[test]
fn json_of_an_empty_workflow() {
    let json = format!(
        r#"{{"kind":"empty_workflow","genesis_chain_head":"blake3:{}"}}"#,
        "0".repeat(64)
    );
    let genesis_chain_head = ChainHead::GENESIS;
    check(&Verdict::EmptyWorkflow { genesis_chain_head }, &json);
    check(&AuditVerdict::EmptyWorkflow { genesis_chain_head }, &json);
}

#[test]
fn json_of_a_verified_chain() {
    let events = clean_completion(&workflow("json"));
    let texts: Vec<_> = events
        .iter()
        .map(|event| event.to_canonical_json())
        .collect();
    let head = ChainHead::from_bytes([0xcc; 32]);
    let json = format!(
        r#"{{"kind":"verified","tail_chain_head":"{head}","events":[{}]}}"#,
        texts.join(",")
    );
    check(
        &Verdict::Verified {
            tail_chain_head: head,
            events,
        },
        &json,
    );
    check(
        &AuditVerdict::Verified {
            tail_chain_head: head,
            rows: Sequence::FIRST,
        },
        &format!(r#"{{"kind":"verified","tail_chain_head":"{head}","rows":1}}"#),
    );
}

#[test]
fn json_with_more_or_less_is_refused() {
    for json in [
        r#"{"kind":"torn_write","reason":"truncated_tail","offending_sequence":4,"extra":1}"#,
        r#"{"kind":"torn_write","reason":"truncated_tail"}"#,
        r#"{"kind":"torn_write","reason":"torn","offending_sequence":4}"#,
        r#"{"kind":"intact"}"#,
        r#"{"reason":"truncated_tail","offending_sequence":4}"#,
    ] {
        assert!(serde_json::from_str::<Verdict>(json).is_err(), "{json}");
        assert!(
            serde_json::from_str::<AuditVerdict>(json).is_err(),
            "{json}"
        );
    }
}

#[test]
fn slugs_are_the_json_names() {
    let slugs: Vec<_> = MismatchCause::ALL.map(MismatchCause::slug).into();
    assert_eq!(
        slugs,
        [
            "sequence",
            "workflow_id",
            "transition_id",
            "prior_head",
            "next_head",
            "pinned_head",
            "expected_head"
        ]
    );
    for cause in MismatchCause::ALL {
        check(&cause, &format!("\"{}\"", cause.slug()));
    }
    let slugs: Vec<_> = TornReason::ALL.map(TornReason::slug).into();
    assert_eq!(
        slugs,
        [
            "unparseable_event",
            "null_event_bytes",
            "duplicate_chain_link",
            "truncated_tail"
        ]
    );
    for reason in TornReason::ALL {
        check(&reason, &format!("\"{}\"", reason.slug()));
    }
    for status in [
        PinStatus::Matched,
        PinStatus::None,
        PinStatus::Ignored,
        PinStatus::Contradicted,
        PinStatus::Unchecked,
    ] {
        check(&status, &format!("\"{}\"", status.slug()));
    }
}

#[test]
fn messages() {
    let a = "a".repeat(64);
    let b = "b".repeat(64);
    let id = transition_id(2);
    for cause in MismatchCause::ALL {
        let slug = cause.slug();
        assert_eq!(
            integrity_message(&Verdict::ChainMismatch(mismatch(cause))),
            Some(format!(
                "chain_mismatch: divergence_index=1 transition_id={id} cause={slug} persisted_tail=blake3:{a} recomputed_tail=blake3:{b}"
            ))
        );
    }
    for reason in TornReason::ALL {
        let torn = TornWrite {
            reason,
            offending_sequence: -7,
        };
        assert_eq!(
            integrity_message(&Verdict::TornWrite(torn)),
            Some(format!(
                "torn_write: reason={} offending_sequence=-7",
                reason.slug()
            ))
        );
    }
    let empty = Verdict::EmptyWorkflow {
        genesis_chain_head: ChainHead::GENESIS,
    };
    assert_eq!(integrity_message(&empty), None);
    let verified = Verdict::Verified {
        tail_chain_head: ChainHead::GENESIS,
        events: Vec::new(),
    };
    assert_eq!(integrity_message(&verified), None);
}
