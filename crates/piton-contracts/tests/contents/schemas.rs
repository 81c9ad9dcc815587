//! Owns the JSON Schemas of what Piton writes, each held to its type before it is given.
//!
//! A schema is built from the types' own lists of names and limits. Before its text becomes a
//! golden, [`law::hold`] shows that it allows exactly what the type writes.

mod law;
mod parts;
pub(super) mod samples;

use piton_ledger::{FailedUnrecoverableReason, StateMachine, VulnState};
use piton_verify::{MismatchCause, TornReason};
use serde_json::{Value, json};

use parts::{array, constant, document, in_definition, names, object, one_of, tagged};

/// The schema of a transition event of the vulnerability ledger.
pub(crate) fn transition_event() -> String {
    let schema = document("transition_event", event_definition());
    law::hold(&schema, &samples::events());
    text(&schema)
}

/// The schema of a verdict with its events.
pub(crate) fn verdict() -> String {
    let verified = tagged(
        "verified",
        &[
            ("tail_chain_head", in_definition("chain_head")),
            ("events", array(in_definition("transition_event"))),
        ],
        &[],
    );
    let schema = document("verdict", verdict_of(verified));
    law::hold(&schema, &samples::verdicts());
    text(&schema)
}

/// The schema of a verdict without events.
pub(crate) fn audit_verdict() -> String {
    let verified = tagged(
        "verified",
        &[
            ("tail_chain_head", in_definition("chain_head")),
            ("rows", in_definition("sequence")),
        ],
        &[],
    );
    let schema = document("audit_verdict", verdict_of(verified));
    law::hold(&schema, &samples::audit_verdicts());
    text(&schema)
}

/// The schema of what an orchestrator gets.
pub(crate) fn hydration_result() -> String {
    let hydrated = tagged(
        "hydrated",
        &[
            ("events", array(in_definition("transition_event"))),
            ("latest_state_kind", in_definition("state_kind")),
            ("tail_chain_head", in_definition("chain_head")),
        ],
        &[],
    );
    let schema = document("hydration_result", one_of([hydrated, failed()]));
    law::hold(&schema, &samples::hydration_results());
    text(&schema)
}

/// The schema of the states of the vulnerability ledger with their payloads.
pub(crate) fn ledger_state() -> String {
    let text_of = |definition| in_definition(definition);
    let states = VulnState::KINDS.iter().map(|kind| match kind {
        VulnState::NeedsPlan => tagged(kind.slug(), &[], &[]),
        VulnState::PlanReady => {
            tagged(kind.slug(), &[("plan_summary", text_of("short_text"))], &[])
        }
        VulnState::PatchApplied => tagged(
            kind.slug(),
            &[("patch_digest", text_of("blob_digest"))],
            &[],
        ),
        VulnState::GateFailedRetryable => tagged(
            kind.slug(),
            &[
                ("failing_signals", array(in_definition("signal_kind"))),
                ("attempt_number", parts::integer(1, u32::MAX.into())),
            ],
            &[],
        ),
        VulnState::AwaitingHumanReview => tagged(
            kind.slug(),
            &[("review_reason", names(&samples::review_reason_names()))],
            &[("handoff_path", json!({ "type": "string" }))],
        ),
        VulnState::Completed => tagged(
            kind.slug(),
            &[],
            &[("report_path", json!({ "type": "string" }))],
        ),
        VulnState::FailedUnrecoverable => failed(),
    });
    let schema = document("ledger_state", one_of(states));
    law::hold(&schema, &samples::ledger_states());
    text(&schema)
}

fn event_definition() -> Value {
    let mut event = object(
        &[
            ("transition_id", in_definition("transition_id")),
            ("prior_state_id", in_definition("state_kind")),
            ("next_state_id", in_definition("state_kind")),
            ("triggering_outcome", json!(true)),
            ("evidence_digest", in_definition("blob_digest")),
            ("chain_head", in_definition("chain_head")),
            ("workflow_id", in_definition("workflow_id")),
        ],
        &[],
    );
    let edges = VulnState::KINDS
        .iter()
        .filter(|kind| !kind.successors().is_empty())
        .map(|kind| {
            let next: Vec<&str> = kind.successors().iter().map(|next| next.slug()).collect();
            json!({ "properties": {
                "prior_state_id": constant(kind.slug()),
                "next_state_id": names(&next),
            } })
        });
    event["oneOf"] = edges.collect();
    event
}

fn verdict_of(verified: Value) -> Value {
    let mismatch = tagged(
        "chain_mismatch",
        &[
            ("persisted_tail", in_definition("chain_head")),
            ("recomputed_tail", in_definition("chain_head")),
            ("divergence_index", parts::integer(0, u64::MAX.into())),
            ("offending_transition_id", in_definition("transition_id")),
            ("cause", names(&MismatchCause::ALL.map(MismatchCause::slug))),
        ],
        &[],
    );
    let torn = tagged(
        "torn_write",
        &[
            ("reason", names(&TornReason::ALL.map(TornReason::slug))),
            (
                "offending_sequence",
                parts::integer(i64::MIN.into(), i64::MAX.into()),
            ),
        ],
        &[],
    );
    let empty = tagged(
        "empty_workflow",
        &[("genesis_chain_head", in_definition("chain_head"))],
        &[],
    );
    one_of([verified, mismatch, torn, empty])
}

fn failed() -> Value {
    tagged(
        "failed_unrecoverable",
        &[(
            "reason",
            names(&FailedUnrecoverableReason::ALL.map(FailedUnrecoverableReason::slug)),
        )],
        &[("error", in_definition("remediation_error"))],
    )
}

/// Gives the text of a document; its keys are in order, since `serde_json` keeps them so.
fn text(schema: &Value) -> String {
    serde_json::to_string_pretty(schema).expect("a value prints")
}
