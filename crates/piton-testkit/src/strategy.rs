//! Owns proptest strategies of legal histories with odd outcomes. It makes no illegal event.

use piton_ledger::{
    CanonicalJson, StateMachine, Transition, TransitionEvent, VulnState, WorkflowId,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use serde_json::Value;

use crate::history::{event, transition_id};

/// Gives any outcome: every kind of JSON value, numbers at their limits, any character, a few
/// levels deep.
pub fn arbitrary_outcome() -> impl Strategy<Value = CanonicalJson> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        proptest::num::f64::SUBNORMAL.prop_map(Value::from),
        Just(Value::from(-0.0)),
        Just(Value::from(1e20)),
        Just(Value::from(9_007_199_254_740_993u64)),
    ];
    let text = vec(any::<char>(), 0..12).prop_map(String::from_iter);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number,
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(text.clone(), inner, 0..5).prop_map(Value::from_iter),
        ]
    })
    .prop_map(|value| {
        CanonicalJson::from_serialize(&value)
            .expect("a tree of finite numbers has a canonical form")
    })
}

/// Gives a legal history of 1 to `most` boundary events of a workflow, with any outcomes. Only the
/// edges are legal: moves to the initial kind are left out, as the ledger leaves them out.
pub fn arbitrary_history(
    workflow: WorkflowId,
    most: usize,
) -> impl Strategy<Value = Vec<TransitionEvent<VulnState>>> {
    let step = (any::<proptest::sample::Index>(), arbitrary_outcome());
    vec(step, 1..=most).prop_map(move |steps| {
        let mut state = VulnState::INITIAL;
        (1..)
            .zip(steps)
            .map(|(n, (choice, outcome))| {
                let (prior, next) = boundary_move(state, choice);
                state = next;
                with_outcome(&workflow, n, prior, next, outcome)
            })
            .collect()
    })
}

/// Chooses the next boundary move from a state: through the initial kind where the chosen edge
/// leads there, or where there is no edge at all.
fn boundary_move(state: VulnState, choice: proptest::sample::Index) -> (VulnState, VulnState) {
    let successors = state.successors();
    let next = match successors.len() {
        0 => VulnState::INITIAL,
        edges => successors[choice.index(edges)],
    };
    if next.is_boundary() {
        return (state, next);
    }
    let onward = next.successors();
    (next, onward[choice.index(onward.len())])
}

fn with_outcome(
    workflow: &WorkflowId,
    n: u32,
    prior: VulnState,
    next: VulnState,
    outcome: CanonicalJson,
) -> TransitionEvent<VulnState> {
    let plain = event(workflow, n, prior, next, "null").into_transition();
    Transition {
        transition_id: transition_id(n),
        triggering_outcome: outcome,
        ..plain
    }
    .try_into()
    .expect("the edge is legal")
}
