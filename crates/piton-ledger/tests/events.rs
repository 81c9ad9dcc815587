//! Transition events from outside: building, parsing, printing, refusing.

use piton_ledger::{
    CanonicalJson, ChainHead, EventError, EventField, IdError, StateMachine, Transition,
    TransitionEvent, VulnState,
};

fn text(fields: &[(&str, &str)]) -> String {
    let digest = format!("\"blake3:{}\"", "a".repeat(64));
    let genesis = format!("\"{}\"", "0".repeat(64));
    let defaults = [
        ("transition_id", "\"01HZZZZZZZZZZZZZSCN001A001\""),
        ("prior_state_id", "\"needs_plan\""),
        ("next_state_id", "\"plan_ready\""),
        ("triggering_outcome", "{\"scenario\":\"golden\"}"),
        ("evidence_digest", digest.as_str()),
        ("chain_head", genesis.as_str()),
        ("workflow_id", "\"wf-1\""),
    ];
    let members: Vec<String> = defaults
        .iter()
        .map(|(name, value)| {
            let value = fields
                .iter()
                .find(|(other, _)| other == name)
                .map_or(*value, |(_, value)| value);
            format!("\"{name}\":{value}")
        })
        .collect();
    format!("{{{}}}", members.join(","))
}

fn parse(text: &str) -> Result<TransitionEvent<VulnState>, EventError> {
    TransitionEvent::parse(text.as_bytes())
}

fn refuses(fields: &[(&str, &str)], expected: &EventError) {
    let text = text(fields);
    assert_eq!(&parse(&text).expect_err(&text), expected, "{text}");
    assert!(serde_json::from_str::<TransitionEvent<VulnState>>(&text).is_err());
}

#[test]
fn an_event_prints_canonically_and_reads_back() {
    let event = parse(&text(&[(
        "triggering_outcome",
        " { \"b\" : 1.0, \"a\" : [ ] } ",
    )]))
    .expect("an event");
    let digest = "a".repeat(64);
    let genesis = "0".repeat(64);
    let canonical = format!(
        "{{\"chain_head\":\"blake3:{genesis}\",\"evidence_digest\":\"blake3:{digest}\",\
         \"next_state_id\":\"plan_ready\",\"prior_state_id\":\"needs_plan\",\
         \"transition_id\":\"01HZZZZZZZZZZZZZSCN001A001\",\"triggering_outcome\":{{\"a\":[],\"b\":1}},\
         \"workflow_id\":\"wf-1\"}}"
    );
    assert_eq!(event.to_canonical_json(), canonical);
    assert_eq!(
        serde_json::to_string(&event).expect("serialises"),
        canonical
    );
    assert_eq!(parse(&canonical).expect("reads back"), event);
    assert_eq!(
        serde_json::from_str::<TransitionEvent<VulnState>>(&canonical).expect("reads back"),
        event
    );
    let again = piton_ledger::json::canonicalize(canonical.as_bytes()).expect("is JSON");
    assert_eq!(again, canonical);
}

#[test]
fn an_event_gives_its_fields() {
    let event = parse(&text(&[])).expect("an event");
    assert_eq!(
        event.transition_id().to_string(),
        "01HZZZZZZZZZZZZZSCN001A001"
    );
    assert_eq!(
        (event.prior_state_id(), event.next_state_id()),
        (VulnState::NeedsPlan, VulnState::PlanReady)
    );
    assert_eq!(
        event.triggering_outcome().as_str(),
        "{\"scenario\":\"golden\"}"
    );
    assert_eq!(event.evidence_digest().as_bytes(), &[0xaa; 32]);
    assert_eq!(event.chain_head(), ChainHead::GENESIS);
    assert_eq!(event.workflow_id().as_str(), "wf-1");
    let transition = event.clone().into_transition();
    assert_eq!(TransitionEvent::try_from(transition).expect("legal"), event);
}

#[test]
fn every_pair_of_kinds_is_judged_by_the_edge_table() {
    let mut legal = 0;
    for prior in VulnState::KINDS {
        for next in VulnState::KINDS {
            let text = text(&[
                ("prior_state_id", &format!("{:?}", prior.slug())),
                ("next_state_id", &format!("{:?}", next.slug())),
            ]);
            let built = TransitionEvent::try_from(Transition {
                prior_state_id: *prior,
                next_state_id: *next,
                ..parse(&self::text(&[])).expect("an event").into_transition()
            });
            if prior.successors().contains(next) {
                legal += 1;
                assert_eq!(parse(&text).expect("legal"), built.expect("legal"));
            } else {
                let edge = built.expect_err("illegal");
                assert_eq!((edge.prior(), edge.next()), (prior.slug(), next.slug()));
                assert_eq!(parse(&text).expect_err("illegal"), EventError::Edge(edge));
            }
        }
    }
    assert_eq!(legal, 14);
}

#[test]
fn an_illegal_edge_says_what_is_legal() {
    let error = parse(&text(&[("next_state_id", "\"completed\"")])).expect_err("illegal");
    assert_eq!(
        error.to_string(),
        "illegal edge: completed can't follow needs_plan; legal next states are plan_ready"
    );
    let error = parse(&text(&[("prior_state_id", "\"completed\"")])).expect_err("illegal");
    assert_eq!(
        error.to_string(),
        "illegal edge: plan_ready can't follow completed; nothing can"
    );
    let error = parse(&text(&[("prior_state_id", "\"plan_ready\"")])).expect_err("illegal");
    let legal = "patch_applied, awaiting_human_review, failed_unrecoverable";
    assert_eq!(
        error.to_string(),
        format!("illegal edge: plan_ready can't follow plan_ready; legal next states are {legal}")
    );
}

#[test]
fn each_field_is_checked_by_name() {
    use EventField::{
        ChainHead, EvidenceDigest, NextStateId, PriorStateId, TransitionId, WorkflowId,
    };

    refuses(
        &[("workflow_id", "\"..\"")],
        &EventError::Id {
            field: WorkflowId,
            source: IdError::WorkflowEdge,
        },
    );
    refuses(&[("workflow_id", "7")], &EventError::NotText(WorkflowId));
    refuses(
        &[("workflow_id", "\"\\ud800\"")],
        &EventError::NotText(WorkflowId),
    );
    refuses(&[("workflow_id", "null")], &EventError::NotText(WorkflowId));
    refuses(
        &[("transition_id", "\"01hzzzzzzzzzzzzzscn001a001\"")],
        &EventError::Id {
            field: TransitionId,
            source: IdError::TransitionCharacter,
        },
    );
    for field in [PriorStateId, NextStateId] {
        refuses(
            &[(field.name(), "\"done\"")],
            &EventError::State {
                field,
                ledger: "vulnerability",
            },
        );
    }
    for field in [EvidenceDigest, ChainHead] {
        let error = parse(&text(&[(field.name(), "\"blake3:00\"")])).expect_err("refused");
        assert!(
            matches!(error, EventError::Digest { field: found, .. } if found == field),
            "{error}"
        );
    }
    let error = parse(&text(&[("triggering_outcome", "{\"a\":1,\"a\":2}")])).expect_err("refused");
    assert!(matches!(error, EventError::Outcome(_)), "{error}");
}

#[test]
fn ids_may_be_written_with_escapes() {
    assert_eq!(
        parse(&text(&[("workflow_id", "\"\\u0077f-1\"")])),
        parse(&text(&[]))
    );
}

#[test]
fn missing_duplicate_and_unknown_fields_are_refused() {
    let whole = text(&[]);
    let members = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&whole)
        .expect("an object");
    for field in EventField::ALL {
        let mut fewer = members.clone();
        fewer.remove(field.name());
        let fewer = serde_json::to_string(&fewer).expect("serialises");
        assert_eq!(
            parse(&fewer).expect_err("missing"),
            EventError::Missing(field)
        );
        let value = serde_json::to_string(&members[field.name()]).expect("serialises");
        let twice = format!("{{\"{}\":{value},{}", field.name(), &whole[1..]);
        assert_eq!(
            parse(&twice).expect_err("twice"),
            EventError::Duplicate(field)
        );
    }
    let secret = ["hunt", "er2"].concat();
    let more = format!("{{\"{secret}\":1,{}", &whole[1..]);
    let error = parse(&more).expect_err("unknown");
    assert_eq!(error, EventError::Unknown);
    assert!(!error.to_string().contains(&secret));
}

#[test]
fn an_error_names_its_field_as_json_does() {
    for field in EventField::ALL {
        assert_eq!(field.to_string(), field.name());
        assert_eq!(
            EventError::Missing(field).to_string(),
            format!("field {} is missing", field.name())
        );
    }
}

#[test]
fn what_is_not_an_object_is_a_syntax_error() {
    for text in [
        "",
        "[]",
        "null",
        "\"x\"",
        "{",
        "{\"a\"",
        "{}x",
        "{\"transition_id\":}",
    ] {
        let error = parse(text).expect_err(text);
        assert!(
            matches!(
                error,
                EventError::Syntax { .. } | EventError::Missing(_) | EventError::Unknown
            ),
            "{text}: {error}"
        );
    }
    let trailing = format!("{}x", text(&[]));
    assert!(matches!(
        parse(&trailing).expect_err("trailing"),
        EventError::Syntax { line: 1, .. }
    ));
    assert!(matches!(
        TransitionEvent::<VulnState>::parse(b"\xff"),
        Err(EventError::Syntax { .. })
    ));
}

#[test]
fn the_nesting_limit_counts_the_event() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(parse(&text(&[("triggering_outcome", &nested(126))])).is_ok());
    for levels in [127, 128, 10_000] {
        let error = parse(&text(&[("triggering_outcome", &nested(levels))])).expect_err("too deep");
        assert!(matches!(error, EventError::Outcome(_)), "{levels}: {error}");
    }
}

#[test]
fn debug_output_hides_the_outcome() {
    let event = parse(&text(&[("triggering_outcome", "\"hunter2\"")])).expect("an event");
    assert!(!format!("{event:?}").contains("hunter2"));
    assert_eq!(
        event.triggering_outcome(),
        &CanonicalJson::parse(b"\"hunter2\"").expect("JSON")
    );
}

/// The form in which events are stored is read by a way of its own, which a space before it bars.
#[track_caller]
fn same_both_ways(text: &[u8]) {
    let spaced = [b" ", text].concat();
    let other = TransitionEvent::<VulnState>::parse(&spaced);
    let expected = match other {
        Err(EventError::Syntax { line: 1, column }) => Err(EventError::Syntax {
            line: 1,
            column: column.saturating_sub(1),
        }),
        other => other,
    };
    let shown = String::from_utf8_lossy(text);
    assert_eq!(TransitionEvent::parse(text), expected, "{shown}");
}

fn stored(outcome: &str) -> String {
    parse(&text(&[("triggering_outcome", outcome)]))
        .expect("an event")
        .to_canonical_json()
}

#[test]
fn the_stored_form_is_read_as_any_other_form() {
    for outcome in [
        r#"{"workflow_id":"x"}"#,
        r#"{"a":",\"workflow_id\":\"wf-2"}"#,
        r#""\",\"workflow_id\":\"wf-2\"}""#,
        "[1,[2.5,null],true]",
        "0",
    ] {
        let stored = stored(outcome);
        assert_eq!(
            parse(&stored).expect("an event").triggering_outcome(),
            &outcome.parse().expect("JSON")
        );
        same_both_ways(stored.as_bytes());
        // What looks stored and is not one object must not slip through.
        let outcome = outcome.parse::<CanonicalJson>().expect("JSON");
        for wrong in ["", " ", "1,2", "}", "{", "1}", "\"", "1,\"x\":2", "\u{1}"] {
            let text = stored.replace(outcome.as_str(), wrong);
            same_both_ways(text.as_bytes());
            assert!(parse(&text).is_err() || wrong == outcome.as_str(), "{text}");
        }
    }
}

proptest::proptest! {
    #[test]
    fn damage_to_the_stored_form_is_told_as_in_any_other_form(
        at in proptest::prelude::any::<proptest::sample::Index>(),
        cut in 0_usize..4,
        put in proptest::sample::select(vec![
            "", "\"", "\\", ",", "}", "{", ":", " ", "0", "A", "a", "\u{e9}", "\n", "\\u0061",
            ",\"workflow_id\":\"wf-9\"", "\"}", "1",
        ]),
    ) {
        let stored = stored(r#"{"attempt":1,"gate":"unit \"tests\"","passed":true}"#);
        let at = at.index(stored.len());
        let end = at.saturating_add(cut).min(stored.len());
        let damaged = [&stored.as_bytes()[..at], put.as_bytes(), &stored.as_bytes()[end..]].concat();
        same_both_ways(&damaged);
    }
}
