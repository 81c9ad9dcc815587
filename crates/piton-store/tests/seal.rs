//! Sealing from outside: boundary, cap, redaction, and what is hashed.

use piton_ledger::{
    CanonicalJson, ChainHead, StateMachine, Transition, TransitionEvent, VulnState,
};
use piton_store::{MAX_EVENT_BYTES, PAYLOAD_TOO_LARGE, SealError, SealedEvent, seal};
use proptest::prelude::*;

fn event(outcome: &str) -> TransitionEvent<VulnState> {
    event_of("wf-1", VulnState::NeedsPlan, VulnState::PlanReady, outcome)
}

fn event_of(
    workflow: &str,
    prior: VulnState,
    next: VulnState,
    outcome: &str,
) -> TransitionEvent<VulnState> {
    let transition = Transition {
        transition_id: "01HZZZZZZZZZZZZZSCN001A001".parse().expect("a ULID"),
        prior_state_id: prior,
        next_state_id: next,
        triggering_outcome: CanonicalJson::parse(outcome.as_bytes()).expect("JSON"),
        evidence_digest: format!("blake3:{}", "a".repeat(64))
            .parse()
            .expect("a digest"),
        chain_head: ChainHead::from_bytes([7; 32]),
        workflow_id: workflow.parse().expect("a workflow id"),
    };
    transition.try_into().expect("a legal edge")
}

/// The outcome as it is stored.
fn sealed_outcome(outcome: &str) -> String {
    let sealed = seal(&event(outcome)).expect("sealable");
    let stored = TransitionEvent::<VulnState>::parse(sealed.bytes()).expect("reads back");
    stored.triggering_outcome().as_str().to_owned()
}

fn check(outcome: &str, stored: &str) {
    assert_eq!(sealed_outcome(outcome), stored, "{outcome}");
    assert_eq!(sealed_outcome(stored), stored, "sealing is not idempotent");
}

#[test]
fn an_event_without_secrets_is_stored_as_it_prints() {
    let event = event(r#"{"b":[1,"two",{"c":null}],"a":true}"#);
    let sealed = seal(&event).expect("sealable");
    assert_eq!(sealed.bytes(), event.to_canonical_json().as_bytes());
    assert_eq!(sealed.transition_id(), event.transition_id());
    assert_eq!(sealed.workflow_id(), event.workflow_id());
    assert_eq!(sealed.chain_head(), ChainHead::from_bytes([7; 32]));
    assert!(sealed.redactions().is_empty());
    let prior = ChainHead::from_bytes([1; 32]);
    assert_eq!(
        sealed.link(&prior),
        piton_chain::link(&prior, sealed.bytes())
    );
}

#[test]
fn only_boundaries_are_sealed() {
    let error = seal(&event_of(
        "wf-1",
        VulnState::GateFailedRetryable,
        VulnState::NeedsPlan,
        "null",
    ));
    let error = error.expect_err("not a boundary");
    let SealError::NotABoundary {
        ledger: "vulnerability",
        next: "needs_plan",
        boundaries,
    } = &error
    else {
        panic!("{error:?}");
    };
    let expected: Vec<_> = VulnState::KINDS
        .iter()
        .filter(|kind| kind.is_boundary())
        .map(|kind| kind.slug())
        .collect();
    assert_eq!(boundaries, &expected);
    let message = error.to_string();
    assert!(
        message.contains("needs_plan") && message.contains("plan_ready, patch_applied"),
        "{message}"
    );
    for prior in VulnState::KINDS {
        for next in prior.successors().iter().filter(|next| next.is_boundary()) {
            assert!(
                seal(&event_of("wf-1", *prior, *next, "null")).is_ok(),
                "{prior:?} -> {next:?}"
            );
        }
    }
}

fn event_of_size(bytes: usize) -> TransitionEvent<VulnState> {
    let shortest = event("\"\"").to_canonical_json().len();
    let padded = event(&format!(
        "\"{}\"",
        "x ".repeat((bytes - shortest) / 2) + &"y".repeat((bytes - shortest) % 2)
    ));
    assert_eq!(padded.to_canonical_json().len(), bytes);
    padded
}

#[test]
fn the_cap_is_inclusive() {
    assert_eq!(MAX_EVENT_BYTES, 65_536);
    assert_eq!(
        seal(&event_of_size(MAX_EVENT_BYTES))
            .expect("at the cap")
            .bytes()
            .len(),
        MAX_EVENT_BYTES
    );
    let error = seal(&event_of_size(MAX_EVENT_BYTES + 1)).expect_err("above the cap");
    assert_eq!(
        error,
        SealError::TooLarge {
            bytes: MAX_EVENT_BYTES + 1
        }
    );
    assert!(error.to_string().starts_with(PAYLOAD_TOO_LARGE));
    assert!(error.to_string().contains("digest"));
}

#[test]
fn the_cap_holds_after_redaction_too() {
    // Every empty string beneath the secret name grows by the length of the marker.
    let many = vec!["\"\""; 9_000].join(",");
    let outcome = format!("{{\"tokens\":[{many}]}}");
    assert!(event(&outcome).to_canonical_json().len() < MAX_EVENT_BYTES);
    assert!(
        matches!(seal(&event(&outcome)), Err(SealError::TooLarge { bytes }) if bytes > MAX_EVENT_BYTES)
    );
}

#[test]
fn strings_beneath_secret_names_are_redacted_whole() {
    check(
        r#"{"api_token":"hunter2"}"#,
        r#"{"api_token":"<REDACTED>"}"#,
    );
    check(
        r#"{"credentials":[{"n":["a",1,true,null]}],"max_tokens":4096,"name":"bob"}"#,
        r#"{"credentials":[{"<REDACTED>":["<REDACTED>",1,true,null]}],"max_tokens":4096,"name":"bob"}"#,
    );
    check(
        r#"{"a":{"password":{"x":"1"}},"b":"1"}"#,
        r#"{"a":{"password":{"<REDACTED>":"<REDACTED>"}},"b":"1"}"#,
    );
    check(
        r#"[{"secret":"1"},"1"]"#,
        r#"[{"secret":"<REDACTED>"},"1"]"#,
    );
}

#[test]
fn keys_that_collide_are_numbered() {
    check(
        r#"{"secrets":{"b":2,"a":1,"c":3}}"#,
        r##"{"secrets":{"<REDACTED>":1,"<REDACTED>#2":2,"<REDACTED>#3":3}}"##,
    );
}

#[test]
fn secrets_are_found_through_escapes_in_values_keys_and_arrays() {
    let token = ["ghp_", &"a1B2".repeat(9)].concat();
    let escaped = token.replace("ghp_", "\\u0067hp\\u005f");
    let fingerprint = &blake3_hex(&token)[..8];
    let marker = format!("<REDACTED:fingerprint={fingerprint}>");
    check(
        &format!("{{\"note\":\"{escaped}\"}}"),
        &format!("{{\"note\":\"{marker}\"}}"),
    );
    check(
        &format!("{{\"{escaped}\":1}}"),
        &format!("{{\"{marker}\":1}}"),
    );
    check(
        &format!("[[[\"see {escaped}.\"]]]"),
        &format!("[[[\"see {marker}.\"]]]"),
    );
}

fn blake3_hex(text: &str) -> String {
    // The formula of the chain is the only hash at hand here, so compare through known bytes.
    piton_redact::redact_text(text, &mut |_| ())
        .and_then(|marker| {
            marker
                .strip_prefix("<REDACTED:fingerprint=")
                .map(|rest| rest[..8].to_owned())
        })
        .expect("the token is redacted")
}

#[test]
fn what_was_redacted_is_told_by_rule() {
    let token = ["ghp_", &"a1B2".repeat(9)].concat();
    let sealed = seal(&event(&format!(
        "{{\"a\":\"{token}\",\"b\":\"{token}\",\"jwt\":\"x\"}}"
    )))
    .expect("sealable");
    let told: Vec<_> = sealed
        .redactions()
        .iter()
        .map(|redaction| (redaction.rule, redaction.count))
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.contains(&("secret-named-key", 1)), "{told:?}");
    assert!(
        told.iter()
            .any(|(rule, count)| rule.contains("github") && *count == 2),
        "{told:?}"
    );
    assert!(!format!("{sealed:?}").contains(&token));
}

#[test]
fn a_secret_in_an_identifier_is_refused() {
    let token = ["ghp_", &"a1B2".repeat(9)].concat();
    let error = seal(&event_of(
        &token,
        VulnState::NeedsPlan,
        VulnState::PlanReady,
        "null",
    ))
    .expect_err("refused");
    assert!(
        matches!(error, SealError::SecretInIdentifier { .. }),
        "{error:?}"
    );
    assert!(!error.to_string().contains(&token) && !format!("{error:?}").contains(&token));
}

fn arbitrary_outcome() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(Into::into),
        any::<String>().prop_map(Into::into),
        Just(["AKIA", "IOSFODNN7EXAMPLX"].concat().into()),
        Just(["Basic dXNlcjpodW50", "ZXIyaHVudGVyMg=="].concat().into()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let key = prop_oneof!["[a-z]{1,3}", Just("api_token".to_owned()), any::<String>()];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::vec((key, inner), 0..4)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

fn seal_value(outcome: &serde_json::Value) -> SealedEvent {
    seal(&event(&outcome.to_string())).expect("sealable")
}

proptest! {
    #[test]
    fn sealing_is_idempotent_and_canonical(outcome in arbitrary_outcome()) {
        let sealed = seal_value(&outcome);
        let text = piton_ledger::json::canonicalize(sealed.bytes()).expect("JSON");
        prop_assert_eq!(text.as_bytes(), sealed.bytes());
        let again = TransitionEvent::<VulnState>::parse(sealed.bytes()).expect("reads back");
        let again = seal(&again).expect("sealable");
        prop_assert_eq!(again.bytes(), sealed.bytes());
    }
}
