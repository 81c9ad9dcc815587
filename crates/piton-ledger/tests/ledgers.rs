//! The vulnerability ledger's facts, its state payloads, and the checks on any machine.

use piton_ledger::{
    Detail, FailedUnrecoverable, FailedUnrecoverableReason, MachineFault, Role, StateMachine,
    VulnLedgerState, VulnState, check_machine,
};

#[test]
fn the_vulnerability_ledger_has_its_edges() {
    let edges: Vec<String> = VulnState::KINDS
        .iter()
        .map(|kind| {
            let next: Vec<_> = kind.successors().iter().map(|next| next.slug()).collect();
            format!("{} -> {}", kind.slug(), next.join(" "))
        })
        .collect();
    assert_eq!(
        edges,
        [
            "needs_plan -> plan_ready",
            "plan_ready -> patch_applied awaiting_human_review failed_unrecoverable",
            "patch_applied -> completed gate_failed_retryable awaiting_human_review failed_unrecoverable",
            "gate_failed_retryable -> needs_plan awaiting_human_review failed_unrecoverable",
            "awaiting_human_review -> plan_ready completed failed_unrecoverable",
            "completed -> ",
            "failed_unrecoverable -> ",
        ]
    );
}

#[test]
fn the_vulnerability_ledger_has_its_boundaries() {
    let slugs = |test: fn(VulnState) -> bool| -> Vec<&str> {
        VulnState::KINDS
            .iter()
            .copied()
            .filter(|kind| test(*kind))
            .map(VulnState::slug)
            .collect()
    };
    assert_eq!(
        slugs(VulnState::is_boundary),
        [
            "plan_ready",
            "patch_applied",
            "gate_failed_retryable",
            "awaiting_human_review",
            "completed",
            "failed_unrecoverable"
        ]
    );
    assert_eq!(
        slugs(VulnState::is_terminal),
        ["awaiting_human_review", "completed", "failed_unrecoverable"]
    );
    assert_eq!(VulnState::INITIAL.slug(), "needs_plan");
    assert_eq!(check_machine::<VulnState>(), Ok(()));
    for kind in VulnState::KINDS {
        assert_eq!(VulnState::from_slug(kind.slug()), Some(*kind));
        assert_eq!(
            serde_json::to_string(kind).expect("serialises"),
            format!("{:?}", kind.slug())
        );
    }
    assert_eq!(VulnState::from_slug("Completed"), None);
}

/// A machine with a fault of the caller's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Faulty<const FAULT: u8> {
    A,
    B,
}

impl<const FAULT: u8> StateMachine for Faulty<FAULT> {
    const LEDGER: &'static str = "faulty";
    const KINDS: &'static [Self] = match FAULT {
        3 => &[Self::A],
        4 => &[Self::B],
        _ => &[Self::A, Self::B],
    };
    const INITIAL: Self = Self::A;

    fn slug(self) -> &'static str {
        match (self, FAULT) {
            (Self::A, 1) => "Not a word",
            (Self::B, 2) | (Self::A, _) => "a",
            (Self::B, _) => "b",
        }
    }

    fn role(self) -> Role {
        Role::Boundary
    }

    fn successors(self) -> &'static [Self] {
        match (self, FAULT) {
            (Self::A, 5) => &[Self::B, Self::B],
            (Self::A, _) => &[Self::B],
            (Self::B, _) => &[],
        }
    }
}

#[test]
fn a_faulty_machine_is_found_out() {
    assert_eq!(check_machine::<Faulty<0>>(), Ok(()));
    assert_eq!(
        check_machine::<Faulty<1>>(),
        Err(MachineFault::Slug("Not a word"))
    );
    assert_eq!(
        check_machine::<Faulty<2>>(),
        Err(MachineFault::Repeated("a"))
    );
    assert_eq!(
        check_machine::<Faulty<3>>(),
        Err(MachineFault::Unlisted("b"))
    );
    assert_eq!(
        check_machine::<Faulty<4>>(),
        Err(MachineFault::Unlisted("a"))
    );
    assert_eq!(
        check_machine::<Faulty<5>>(),
        Err(MachineFault::RepeatedEdge("b"))
    );
}

fn round_trips(json: &str, kind: VulnState) {
    let state: VulnLedgerState =
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"));
    assert_eq!(state.kind(), kind);
    assert_eq!(serde_json::to_string(&state).expect("serialises"), json);
}

fn refused(json: &str) {
    assert!(
        serde_json::from_str::<VulnLedgerState>(json).is_err(),
        "{json} was accepted"
    );
}

#[test]
fn states_are_tagged_by_kind() {
    let digest = format!("blake3:{}", "a".repeat(64));
    round_trips(r#"{"kind":"needs_plan"}"#, VulnState::NeedsPlan);
    round_trips(
        r#"{"kind":"plan_ready","plan_summary":"raise minimist"}"#,
        VulnState::PlanReady,
    );
    round_trips(
        &format!(r#"{{"kind":"patch_applied","patch_digest":"{digest}"}}"#),
        VulnState::PatchApplied,
    );
    round_trips(
        r#"{"kind":"gate_failed_retryable","failing_signals":["tests_failed"],"attempt_number":1}"#,
        VulnState::GateFailedRetryable,
    );
    for reason in [
        "no_concrete_match",
        "trust_outcome_failed",
        "policy_violation_unrecoverable",
        "MULTI_PACKAGE_CVE",
    ] {
        let json = format!(r#"{{"kind":"awaiting_human_review","review_reason":"{reason}"}}"#);
        round_trips(&json, VulnState::AwaitingHumanReview);
    }
    round_trips(
        r#"{"kind":"awaiting_human_review","review_reason":"no_concrete_match","handoff_path":"handoff.md"}"#,
        VulnState::AwaitingHumanReview,
    );
    round_trips(r#"{"kind":"completed"}"#, VulnState::Completed);
    round_trips(
        r#"{"kind":"completed","report_path":"report.md"}"#,
        VulnState::Completed,
    );
    for reason in FailedUnrecoverableReason::ALL {
        let json = format!(r#"{{"kind":"failed_unrecoverable","reason":"{reason}"}}"#);
        round_trips(&json, VulnState::FailedUnrecoverable);
    }
    round_trips(
        r#"{"kind":"failed_unrecoverable","reason":"policy_violation","error":{"error_id":"a.b","message":"m","details":{"f":1.5,"i":-1,"s":"x","t":true}}}"#,
        VulnState::FailedUnrecoverable,
    );
}

#[test]
fn states_refuse_what_they_do_not_know() {
    let long = "x".repeat(4097);
    refused(r#"{"kind":"needs_plan","x":1}"#);
    refused(r#"{"kind":"done"}"#);
    refused(r#"{"plan_summary":"x"}"#);
    refused(r#"{"kind":"plan_ready"}"#);
    refused(&format!(
        r#"{{"kind":"plan_ready","plan_summary":"{long}"}}"#
    ));
    refused(r#"{"kind":"plan_ready","plan_summary":"x","extra":1}"#);
    refused(r#"{"kind":"gate_failed_retryable","failing_signals":[],"attempt_number":0}"#);
    refused(r#"{"kind":"awaiting_human_review","review_reason":"multi_package_cve"}"#);
    refused(r#"{"kind":"failed_unrecoverable","reason":"other"}"#);
    refused(r#"{"kind":"failed_unrecoverable","reason":"policy_violation","extra":1}"#);
    let error = |inner: &str| {
        format!(r#"{{"kind":"failed_unrecoverable","reason":"policy_violation","error":{inner}}}"#)
    };
    refused(&error(r#"{"error_id":"nodot","message":"m"}"#));
    refused(&error(r#"{"error_id":"a.b"}"#));
    refused(&error(r#"{"error_id":"a.b","message":"m","extra":1}"#));
    refused(&error(
        r#"{"error_id":"a.b","message":"m","details":{"x":[1]}}"#,
    ));
    refused(&error(
        r#"{"error_id":"a.b","message":"m","details":{"x":null}}"#,
    ));
    refused(&error(
        r#"{"error_id":"a.b","message":"m","details":{"x":9223372036854775808}}"#,
    ));
    refused(&error(&format!(
        r#"{{"error_id":"a.b","message":"{long}"}}"#
    )));
}

#[test]
fn a_detail_of_another_type_is_told_what_is_expected() {
    for json in ["[1]", "{}", "null"] {
        let error = serde_json::from_str::<Detail>(json).expect_err(json);
        let expected = "expected a string, an integer, a boolean or a number";
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn failures_hide_their_texts_from_debug_output() {
    let detail = Detail::Text("hunter2".into());
    assert_eq!(format!("{detail:?}"), "Text(7 bytes)");
    let json = r#"{"reason":"policy_violation","error":{"error_id":"a.b","message":"hunter2"}}"#;
    let failure: FailedUnrecoverable = serde_json::from_str(json).expect("a failure");
    assert!(!format!("{failure:?}").contains("hunter2"));
}
