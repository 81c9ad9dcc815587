//! Owns samples of every variant of the types that have a schema. It judges nothing.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use piton_ledger::{
    CanonicalJson, ChainHead, Detail, FailedUnrecoverable, FailedUnrecoverableReason,
    RemediationError, ReviewReason, Sequence, ShortText, StateMachine, Transition, TransitionEvent,
    VulnLedgerState, VulnState,
};
use piton_verify::{
    AuditVerdict, ChainMismatch, Hydrated, HydrationResult, MismatchCause, ReplayVerdict,
    TornReason, TornWrite,
};

use crate::contents::exhaustive::samples_of;

type Event = TransitionEvent<VulnState>;

/// An event along each legal edge, with outcomes of each JSON type in turn.
pub(super) fn events() -> Vec<Event> {
    let outcomes = [
        "null",
        "true",
        "-0.5",
        r#""text""#,
        r#"[1,{"a":[]}]"#,
        r#"{"a":18446744073709551615}"#,
    ];
    VulnState::KINDS
        .iter()
        .flat_map(|prior| prior.successors().iter().map(|next| (*prior, *next)))
        .zip(outcomes.iter().cycle())
        .map(|((prior, next), outcome)| event(prior, next, outcome))
        .collect()
}

fn event(prior: VulnState, next: VulnState, outcome: &str) -> Event {
    let transition = Transition {
        transition_id: parsed("01JZ8Q5T9V6W3X2Y1Z0ABCDEFG"),
        prior_state_id: prior,
        next_state_id: next,
        triggering_outcome: CanonicalJson::parse(outcome.as_bytes()).expect("JSON"),
        evidence_digest: parsed(&format!("blake3:{}", "e".repeat(64))),
        chain_head: ChainHead::GENESIS,
        workflow_id: parsed("remediate-CVE-2021-44906"),
    };
    transition.try_into().expect("a legal edge")
}

fn a_few_events() -> Vec<Event> {
    events().into_iter().take(2).collect()
}

/// A verdict of each kind, cause and reason.
pub(crate) fn verdicts() -> Vec<ReplayVerdict<VulnState>> {
    samples_of!(ReplayVerdict<VulnState> {
        ReplayVerdict::Verified { .. } => vec![ReplayVerdict::Verified {
            tail_chain_head: head(),
            events: a_few_events(),
        }],
        ReplayVerdict::ChainMismatch(_) => {
            mismatches().into_iter().map(ReplayVerdict::ChainMismatch).collect()
        },
        ReplayVerdict::TornWrite(_) => {
            torn_writes().into_iter().map(ReplayVerdict::TornWrite).collect()
        },
        ReplayVerdict::EmptyWorkflow { .. } => vec![ReplayVerdict::EmptyWorkflow {
            genesis_chain_head: ChainHead::GENESIS,
        }],
    })
}

/// The same without events.
pub(super) fn audit_verdicts() -> Vec<AuditVerdict> {
    samples_of!(AuditVerdict {
        AuditVerdict::Verified { .. } => [1, i64::MAX]
            .into_iter()
            .map(|rows| AuditVerdict::Verified {
                tail_chain_head: head(),
                rows: Sequence::try_from(rows).expect("a sequence"),
            })
            .collect(),
        AuditVerdict::ChainMismatch(_) => {
            mismatches().into_iter().map(AuditVerdict::ChainMismatch).collect()
        },
        AuditVerdict::TornWrite(_) => {
            torn_writes().into_iter().map(AuditVerdict::TornWrite).collect()
        },
        AuditVerdict::EmptyWorkflow { .. } => vec![AuditVerdict::EmptyWorkflow {
            genesis_chain_head: ChainHead::GENESIS,
        }],
    })
}

/// A mismatch of each cause.
fn mismatches() -> Vec<ChainMismatch> {
    let causes = samples_of!(MismatchCause {
        MismatchCause::Sequence => vec![MismatchCause::Sequence],
        MismatchCause::WorkflowId => vec![MismatchCause::WorkflowId],
        MismatchCause::TransitionId => vec![MismatchCause::TransitionId],
        MismatchCause::PriorHead => vec![MismatchCause::PriorHead],
        MismatchCause::NextHead => vec![MismatchCause::NextHead],
        MismatchCause::PinnedHead => vec![MismatchCause::PinnedHead],
        MismatchCause::ExpectedHead => vec![MismatchCause::ExpectedHead],
    });
    (0..)
        .zip(causes)
        .map(|(divergence_index, cause)| ChainMismatch {
            persisted_tail: head(),
            recomputed_tail: ChainHead::from_bytes([0xbb; 32]),
            divergence_index,
            offending_transition_id: parsed("01JZ8Q5T9V6W3X2Y1Z0ABCDEFG"),
            cause,
        })
        .collect()
}

/// A torn write of each reason.
fn torn_writes() -> Vec<TornWrite> {
    let reasons = samples_of!(TornReason {
        TornReason::UnparseableEvent => vec![TornReason::UnparseableEvent],
        TornReason::NullEventBytes => vec![TornReason::NullEventBytes],
        TornReason::DuplicateChainLink => vec![TornReason::DuplicateChainLink],
        TornReason::TruncatedTail => vec![TornReason::TruncatedTail],
    });
    (1..)
        .zip(reasons)
        .map(|(offending_sequence, reason)| TornWrite {
            reason,
            offending_sequence,
        })
        .collect()
}

/// Both results, the failures in every form.
pub(super) fn hydration_results() -> Vec<HydrationResult<VulnState>> {
    samples_of!(HydrationResult<VulnState> {
        HydrationResult::Hydrated(_) => [Vec::new(), a_few_events()]
            .map(|events| HydrationResult::Hydrated(Hydrated {
                events,
                latest_state_kind: VulnState::PlanReady,
                tail_chain_head: head(),
            }))
            .into(),
        HydrationResult::FailedUnrecoverable(_) => {
            failures().into_iter().map(HydrationResult::FailedUnrecoverable).collect()
        },
    })
}

/// Every state, with and without what may be missing.
pub(super) fn ledger_states() -> Vec<VulnLedgerState> {
    samples_of!(VulnLedgerState {
        VulnLedgerState::NeedsPlan {} => vec![VulnLedgerState::NeedsPlan {}],
        VulnLedgerState::PlanReady { .. } => vec![VulnLedgerState::PlanReady {
            plan_summary: parsed("raise minimist to 1.2.6"),
        }],
        VulnLedgerState::PatchApplied { .. } => vec![VulnLedgerState::PatchApplied {
            patch_digest: parsed(&format!("blake3:{}", "d".repeat(64))),
        }],
        VulnLedgerState::GateFailedRetryable { .. } => {
            vec![VulnLedgerState::GateFailedRetryable {
                failing_signals: vec![parsed("unit_tests"), parsed("lint")],
                attempt_number: NonZeroU32::MIN,
            }]
        },
        VulnLedgerState::AwaitingHumanReview { .. } => review_reasons()
            .into_iter()
            .zip([None, Some("handoff.md".into())].iter().cycle())
            .map(|(review_reason, path)| VulnLedgerState::AwaitingHumanReview {
                review_reason,
                handoff_path: path.clone(),
            })
            .collect(),
        VulnLedgerState::Completed { .. } => [None, Some("report.md".into())]
            .map(|report_path| VulnLedgerState::Completed { report_path })
            .into(),
        VulnLedgerState::FailedUnrecoverable(_) => {
            failures().into_iter().map(VulnLedgerState::FailedUnrecoverable).collect()
        },
    })
}

/// The names of the review reasons; their type has no list of its own.
pub(super) fn review_reason_names() -> Vec<&'static str> {
    let name = |reason| match reason {
        ReviewReason::NoConcreteMatch => "no_concrete_match",
        ReviewReason::TrustOutcomeFailed => "trust_outcome_failed",
        ReviewReason::PolicyViolationUnrecoverable => "policy_violation_unrecoverable",
        ReviewReason::MultiPackageCve => "MULTI_PACKAGE_CVE",
    };
    review_reasons().into_iter().map(name).collect()
}

fn review_reasons() -> Vec<ReviewReason> {
    samples_of!(ReviewReason {
        ReviewReason::NoConcreteMatch => vec![ReviewReason::NoConcreteMatch],
        ReviewReason::TrustOutcomeFailed => vec![ReviewReason::TrustOutcomeFailed],
        ReviewReason::PolicyViolationUnrecoverable => {
            vec![ReviewReason::PolicyViolationUnrecoverable]
        },
        ReviewReason::MultiPackageCve => vec![ReviewReason::MultiPackageCve],
    })
}

fn failures() -> Vec<FailedUnrecoverable> {
    use FailedUnrecoverableReason as Reason;

    let reasons = samples_of!(Reason {
        Reason::CheckpointIntegrity => vec![Reason::CheckpointIntegrity],
        Reason::SubgraphAborted => vec![Reason::SubgraphAborted],
        Reason::ManifestRejected => vec![Reason::ManifestRejected],
        Reason::PolicyViolation => vec![Reason::PolicyViolation],
        Reason::InternalInvariantViolated => vec![Reason::InternalInvariantViolated],
    });
    let details = samples_of!(Detail {
        Detail::Text(_) => vec![Detail::Text("minimist".into())],
        Detail::Integer(_) => [i64::MIN, 0, i64::MAX].map(Detail::Integer).into(),
        Detail::Flag(_) => vec![Detail::Flag(true)],
        Detail::Number(_) => [0.25, -1.0, 1e300].map(Detail::Number).into(),
    });
    let details: BTreeMap<String, Detail> = ('a'..).map(String::from).zip(details).collect();
    let error = |details| RemediationError {
        error_id: parsed(piton_verify::INTEGRITY_ERROR_ID),
        message: ShortText::truncated("torn_write"),
        details,
    };
    let errors = [
        None,
        Some(error(None)),
        Some(error(Some(BTreeMap::new()))),
        Some(error(Some(details))),
    ];
    reasons
        .into_iter()
        .zip(errors.iter().cycle())
        .map(|(reason, error)| FailedUnrecoverable {
            reason,
            error: error.clone(),
        })
        .collect()
}

fn head() -> ChainHead {
    ChainHead::from_bytes([0xaa; 32])
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("a sample is well-formed")
}
