//! Owns the shape of JSON that others read: probed with a live value, field by field.

use piton_ledger::{
    CanonicalJson, ChainHead, FailedUnrecoverable, FailedUnrecoverableReason, RemediationError,
    Transition, TransitionEvent, VulnState,
};
use piton_verify::{Hydrated, HydrationResult};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Probes an event and both results of a hydration.
pub(crate) fn documents() -> Value {
    let event = event();
    let hydrated = HydrationResult::Hydrated(Hydrated {
        events: vec![event.clone()],
        latest_state_kind: event.next_state_id(),
        tail_chain_head: event.chain_head(),
    });
    let failed = HydrationResult::<VulnState>::FailedUnrecoverable(failure());
    json!({
        "event": probe(&event),
        "hydrated": probe(&hydrated),
        "failed_unrecoverable": probe(&failed),
    })
}

pub(crate) fn event() -> TransitionEvent<VulnState> {
    TransitionEvent::try_from(Transition {
        transition_id: "01HZZZZZZZZZZZZZSCN001A001".parse().expect("a ULID"),
        prior_state_id: VulnState::NeedsPlan,
        next_state_id: VulnState::PlanReady,
        triggering_outcome: CanonicalJson::parse(b"{}").expect("JSON"),
        evidence_digest: format!("blake3:{}", "a".repeat(64))
            .parse()
            .expect("a digest"),
        chain_head: ChainHead::GENESIS,
        workflow_id: "wf-1".parse().expect("a workflow id"),
    })
    .expect("a legal edge")
}

/// A failure with nothing left out.
pub(crate) fn failure() -> FailedUnrecoverable {
    FailedUnrecoverable {
        reason: FailedUnrecoverableReason::CheckpointIntegrity,
        error: Some(RemediationError {
            error_id: "area.name".parse().expect("an error id"),
            message: "a message".parse().expect("a text"),
            details: Some([("name".to_owned(), piton_ledger::Detail::Integer(1))].into()),
        }),
    }
}

/// Says which fields the JSON of a value has, which of them a reader insists on, and what it does
/// about others.
pub(crate) fn probe<T: Serialize + DeserializeOwned>(value: &T) -> Value {
    let Value::Object(whole) = serde_json::to_value(value).expect("a JSON value") else {
        panic!("not an object");
    };
    let reads = |object: &Map<String, Value>| {
        let text = serde_json::to_string(object).expect("a JSON text");
        serde_json::from_str::<T>(&text).is_ok()
    };
    assert!(reads(&whole), "what is written does not read back");
    let mut fields = Map::new();
    for (name, content) in &whole {
        let mut lacking = whole.clone();
        lacking.remove(name);
        let presence = if reads(&lacking) {
            "optional"
        } else {
            "required"
        };
        fields.insert(
            name.clone(),
            json!({ "type": json_type(content), "presence": presence }),
        );
    }
    let mut widened = whole.clone();
    widened.insert("a_field_that_is_not_there".to_owned(), 1.into());
    let unknown = if reads(&widened) {
        "ignored"
    } else {
        "refused"
    };
    json!({ "fields": fields, "unknown_fields": unknown })
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
