//! Owns deterministic events and histories of the vulnerability ledger. It seals and stores
//! nothing by itself.

use piton_ledger::{
    BlobDigest, CanonicalJson, ChainHead, StateMachine, Transition, TransitionEvent, TransitionId,
    VulnState, WorkflowId,
};
use piton_store::{SealedEvent, seal};

use VulnState::{
    AwaitingHumanReview, Completed, FailedUnrecoverable, GateFailedRetryable, NeedsPlan,
    PatchApplied, PlanReady,
};

/// A time in 2025, so that the ids look like those of a running system.
const FIRST_ID: u128 = 0x0197_e1f0_0000 << 80;

/// Every legal edge that reaches a boundary.
const BOUNDARY_EDGES: [(VulnState, VulnState); 13] = [
    (NeedsPlan, PlanReady),
    (PlanReady, PatchApplied),
    (PatchApplied, GateFailedRetryable),
    (PlanReady, AwaitingHumanReview),
    (AwaitingHumanReview, PlanReady),
    (PatchApplied, AwaitingHumanReview),
    (GateFailedRetryable, AwaitingHumanReview),
    (AwaitingHumanReview, Completed),
    (PatchApplied, Completed),
    (PlanReady, FailedUnrecoverable),
    (PatchApplied, FailedUnrecoverable),
    (GateFailedRetryable, FailedUnrecoverable),
    (AwaitingHumanReview, FailedUnrecoverable),
];

/// Parses the id of a workflow that a case uses.
pub fn workflow(id: &str) -> WorkflowId {
    id.parse().expect("a case names well-formed workflows")
}

/// Gives the `n`th transition id; a greater number gives an id that sorts later.
pub fn transition_id(n: u32) -> TransitionId {
    TransitionId::from_bits(FIRST_ID | u128::from(n))
}

/// Makes the event with the `n`th transition id along one edge, with any outcome as JSON text.
pub fn event(
    workflow: &WorkflowId,
    n: u32,
    prior: VulnState,
    next: VulnState,
    outcome: &str,
) -> TransitionEvent<VulnState> {
    event_after(ChainHead::GENESIS, workflow, n, prior, next, outcome)
}

/// Makes an event as [`event`] does, whose writer had seen a head.
pub fn event_after(
    seen: ChainHead,
    workflow: &WorkflowId,
    n: u32,
    prior: VulnState,
    next: VulnState,
    outcome: &str,
) -> TransitionEvent<VulnState> {
    let transition = Transition {
        transition_id: transition_id(n),
        prior_state_id: prior,
        next_state_id: next,
        triggering_outcome: CanonicalJson::parse(outcome.as_bytes())
            .expect("a case makes outcomes that are JSON"),
        evidence_digest: BlobDigest::from_bytes([0xe1; 32]),
        chain_head: seen,
        workflow_id: workflow.clone(),
    };
    transition.try_into().expect("a case takes legal edges")
}

/// Seals an event that has a right to be persisted.
pub fn sealed(event: &TransitionEvent<VulnState>) -> SealedEvent {
    seal(event).expect("a case makes boundary events below the cap")
}

/// Makes the `n`th plain event of a workflow, sealed; the edges go round all thirteen that reach
/// a boundary.
pub fn nth(workflow: &WorkflowId, n: u32) -> SealedEvent {
    nth_with(workflow, n, &format!(r#"{{"step":{n}}}"#))
}

/// Makes the `n`th event of a workflow with another outcome, sealed.
pub fn nth_with(workflow: &WorkflowId, n: u32, outcome: &str) -> SealedEvent {
    let round = usize::try_from(n).expect("a case counts within a machine word");
    let (prior, next) = BOUNDARY_EDGES[round % BOUNDARY_EDGES.len()];
    sealed(&event(workflow, n, prior, next, outcome))
}

/// Makes the first `count` plain events of a workflow, sealed.
pub fn first(workflow: &WorkflowId, count: u32) -> Vec<SealedEvent> {
    (1..=count).map(|n| nth(workflow, n)).collect()
}

/// Walks the state machine from its initial kind for `length` boundary events; the same seed
/// gives the same walk, and a terminal dead end starts again from the initial kind.
pub fn legal_walk(
    workflow: &WorkflowId,
    seed: u64,
    length: u32,
) -> Vec<TransitionEvent<VulnState>> {
    let mut random = seed;
    let mut state = VulnState::INITIAL;
    let mut events = Vec::new();
    let mut n = 0;
    while n < length {
        // A linear congruential step; its high bits choose the edge.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let successors = state.successors();
        let choices = u64::try_from(successors.len()).expect("a machine has few edges");
        let Some(choice) = (random >> 33).checked_rem(choices) else {
            state = VulnState::INITIAL;
            continue;
        };
        let next = successors[usize::try_from(choice).expect("a machine has few edges")];
        if next.is_boundary() {
            n += 1;
            let outcome = format!(r#"{{"choice":{choice}}}"#);
            events.push(event(workflow, n, state, next, &outcome));
        }
        state = next;
    }
    events
}

/// Gives the shortest success: planned, patched, completed.
pub fn clean_completion(workflow: &WorkflowId) -> Vec<TransitionEvent<VulnState>> {
    along(
        workflow,
        &[
            (NeedsPlan, PlanReady),
            (PlanReady, PatchApplied),
            (PatchApplied, Completed),
        ],
    )
}

/// Gives a success at the second attempt: a gate fails, a new plan follows. The move back to the
/// initial kind is no boundary, so two rows do not connect.
pub fn retry_then_recovery(workflow: &WorkflowId) -> Vec<TransitionEvent<VulnState>> {
    along(
        workflow,
        &[
            (NeedsPlan, PlanReady),
            (PlanReady, PatchApplied),
            (PatchApplied, GateFailedRetryable),
            (NeedsPlan, PlanReady),
            (PlanReady, PatchApplied),
            (PatchApplied, Completed),
        ],
    )
}

fn along(
    workflow: &WorkflowId,
    edges: &[(VulnState, VulnState)],
) -> Vec<TransitionEvent<VulnState>> {
    (1..)
        .zip(edges)
        .map(|(n, (prior, next))| event(workflow, n, *prior, *next, r#"{"scenario":"known"}"#))
        .collect()
}
