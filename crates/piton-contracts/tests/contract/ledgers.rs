//! Owns what a state machine and the exit codes say of themselves.

use std::collections::BTreeSet;

use piton_cli::ExitStatus;
use piton_ledger::{StateMachine, check_machine};
use serde_json::{Map, Value, json};

use crate::sources::Sources;
use crate::types::variants_of;

/// Describes a workflow family by asking it.
pub(crate) fn ledger<M: StateMachine>(openness: &str) -> Value {
    check_machine::<M>().expect("a machine that holds together");
    let slugs = |belongs: fn(M) -> bool| -> BTreeSet<&'static str> {
        let kinds = M::KINDS.iter().copied();
        kinds.filter(|kind| belongs(*kind)).map(M::slug).collect()
    };
    let edges: BTreeSet<String> = M::KINDS
        .iter()
        .flat_map(|kind| {
            let successors = kind.successors().iter();
            successors.map(|next| format!("{}->{}", kind.slug(), next.slug()))
        })
        .collect();
    json!({
        "kinds": slugs(|_| true),
        "initial": M::INITIAL.slug(),
        "boundaries": slugs(M::is_boundary),
        "terminals": slugs(M::is_terminal),
        "edges": edges,
        "openness": openness,
    })
}

/// Gives the code of each way to end, under the name that the type has for it.
pub(crate) fn exit_codes(sources: &Sources, openness: &str) -> Value {
    let codes: Map<String, Value> = ExitStatus::ALL
        .iter()
        .map(|status| (format!("{status:?}"), status.code().into()))
        .collect();
    let named: BTreeSet<String> = codes.keys().cloned().collect();
    assert_eq!(
        named,
        variants_of(sources, "piton-cli", "ExitStatus"),
        "a status is missing from `ALL`"
    );
    json!({ "codes": codes, "openness": openness })
}
