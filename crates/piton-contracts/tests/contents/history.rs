//! Records histories in every adapter and prints their rows, which must be the same.

use std::fmt::Write as _;

use piton_ledger::{
    CanonicalJson, Transition, TransitionEvent, TransitionId, VulnState, WorkflowId,
};
use piton_memory::MemoryStore;
use piton_sqlite::SqliteStore;
use piton_store::{CheckpointStore, CheckpointStoreExt, ExpectedHead, seal};

use VulnState::{Completed, GateFailedRetryable, NeedsPlan, PatchApplied, PlanReady};

/// Moves along legal edges, each with its outcome.
type Moves = &'static [(VulnState, VulnState, &'static str)];

const CLEAN_COMPLETION: Moves = &[
    (
        NeedsPlan,
        PlanReady,
        r#"{"advisory":"GHSA-xvch-5gv4-984h","plan":"raise minimist to 1.2.6"}"#,
    ),
    (
        PlanReady,
        PatchApplied,
        r#"{"api_token":"hunter2","files":2}"#,
    ),
    (
        PatchApplied,
        Completed,
        r#"{"tests":{"passed":412,"failed":0}}"#,
    ),
];

/// The move back to `needs_plan` between rows 3 and 4 is not persisted.
const RETRY_THEN_RECOVERY: Moves = &[
    (
        NeedsPlan,
        PlanReady,
        r#"{"b":[1e20,-0.0,9007199254740993,0.1],"a":null}"#,
    ),
    (
        PlanReady,
        PatchApplied,
        r#"{"\ue000":"after","\ud800\udc00":"before","control":"\u0000\u001f\u007f\n"}"#,
    ),
    (
        PatchApplied,
        GateFailedRetryable,
        r#"{"attempt":1,"failing_signals":["unit_tests"]}"#,
    ),
    (
        NeedsPlan,
        PlanReady,
        r#"{"note":"postgres://ci:hunter2@localhost/db"}"#,
    ),
    (PlanReady, PatchApplied, r#"["é", "e\u0301", true]"#),
    (PatchApplied, Completed, "null"),
];

/// Gives the rows of the shortest success.
pub(crate) fn clean_completion() -> String {
    super::wait(history(CLEAN_COMPLETION))
}

/// Gives the rows of a success at the second attempt.
pub(crate) fn retry_then_recovery() -> String {
    super::wait(history(RETRY_THEN_RECOVERY))
}

/// Records the moves in every adapter and prints the rows as each of them holds them.
async fn history(moves: Moves) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    let memory = rows(&MemoryStore::new(), moves).await;
    let sqlite = rows(
        &SqliteStore::open(directory.path()).expect("a store"),
        moves,
    )
    .await;
    assert_eq!(memory, sqlite, "the adapters differ");
    memory
}

async fn rows<S: CheckpointStore>(store: &S, moves: Moves) -> String {
    let workflow: WorkflowId = "remediate-CVE-2021-44906".parse().expect("a workflow id");
    for (number, (prior, next, outcome)) in moves.iter().enumerate() {
        let number = u128::try_from(number).expect("small") + 1;
        let event = TransitionEvent::try_from(Transition {
            transition_id: TransitionId::from_bits((1 << 120) + number),
            prior_state_id: *prior,
            next_state_id: *next,
            triggering_outcome: CanonicalJson::parse(outcome.as_bytes()).expect("JSON"),
            evidence_digest: format!("blake3:{}", "a".repeat(64))
                .parse()
                .expect("a digest"),
            chain_head: store.tail_chain_head(&workflow).await.expect("a head"),
            workflow_id: workflow.clone(),
        });
        let sealed = seal(&event.expect("a legal edge")).expect("sealable");
        store
            .append(&sealed, ExpectedHead::Any)
            .await
            .expect("an append");
    }
    let mut text = String::new();
    for row in store.collect_rows(&workflow).await.expect("rows") {
        let column = |stored: &piton_store::Stored| stored.as_text().expect("text").to_owned();
        let bytes = String::from_utf8(row.event_bytes.clone().expect("bytes")).expect("UTF-8");
        writeln!(
            text,
            "sequence      {}\ntransition_id {}\nprior_head    {}\nnext_head     {}\nevent_bytes   {bytes}\n",
            row.sequence,
            column(&row.transition_id),
            column(&row.prior_head),
            column(&row.next_head),
        )
        .expect("text grows");
    }
    text
}
