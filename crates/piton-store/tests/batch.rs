//! Batches from outside: what may be one, and what is said when it may not.

use piton_ledger::{
    CanonicalJson, ChainHead, Transition, TransitionEvent, TransitionId, VulnState,
};
use piton_store::{Batch, BatchError, MAX_BATCH_EVENTS, SealedEvent, seal};

fn sealed(workflow: &str, number: u128) -> SealedEvent {
    let event = TransitionEvent::try_from(Transition {
        transition_id: TransitionId::from_bits(number),
        prior_state_id: VulnState::NeedsPlan,
        next_state_id: VulnState::PlanReady,
        triggering_outcome: CanonicalJson::parse(b"null").expect("JSON"),
        evidence_digest: format!("blake3:{}", "a".repeat(64))
            .parse()
            .expect("a digest"),
        chain_head: ChainHead::GENESIS,
        workflow_id: workflow.parse().expect("a workflow id"),
    });
    seal(&event.expect("a legal edge")).expect("sealable")
}

fn numbered(numbers: impl IntoIterator<Item = u128>) -> Vec<SealedEvent> {
    numbers
        .into_iter()
        .map(|number| sealed("wf-1", number))
        .collect()
}

#[track_caller]
fn check_refused(events: Vec<SealedEvent>, expected: &BatchError, text: &str) {
    let error = Batch::new(events).expect_err("it can't be one batch");
    assert_eq!(&error, expected);
    assert_eq!(error.to_string(), text);
}

#[test]
fn a_batch_keeps_its_events_in_their_order() {
    let batch = Batch::new(numbered([3, 1, 2])).expect("a batch");
    assert_eq!(batch.workflow_id().as_str(), "wf-1");
    let ids: Vec<_> = batch
        .events()
        .iter()
        .map(SealedEvent::transition_id)
        .collect();
    assert_eq!(ids, [3, 1, 2].map(TransitionId::from_bits));
}

#[test]
fn one_to_the_most_events_are_a_batch() {
    let most = u128::try_from(MAX_BATCH_EVENTS).expect("small");
    for count in [1, most] {
        assert!(Batch::new(numbered(0..count)).is_ok());
    }
    check_refused(
        Vec::new(),
        &BatchError::Empty,
        "a batch holds at least one event",
    );
    let count = MAX_BATCH_EVENTS + 1;
    check_refused(
        numbered(0..=most),
        &BatchError::TooManyEvents { count },
        "a batch holds at most 1024 events, and these are 1025; append them in several batches",
    );
}

#[test]
fn a_batch_belongs_to_one_workflow() {
    let (first, other) = (sealed("wf-1", 1), sealed("wf-2", 2));
    check_refused(
        vec![first, other],
        &BatchError::MixedWorkflows {
            first: "wf-1".parse().expect("an id"),
            other: "wf-2".parse().expect("an id"),
        },
        "a batch belongs to one workflow, and these events belong to wf-1 and wf-2",
    );
}

#[test]
fn a_batch_has_no_transition_twice() {
    let transition_id = TransitionId::from_bits(2);
    check_refused(
        numbered([2, 1, 2]),
        &BatchError::RepeatedTransition { transition_id },
        "transition 00000000000000000000000002 stands in the batch twice",
    );
}
