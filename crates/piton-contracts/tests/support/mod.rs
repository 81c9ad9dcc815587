//! Records histories in every adapter and prints their rows, which must be the same.

use std::fmt::Write as _;

use piton_ledger::{
    CanonicalJson, Transition, TransitionEvent, TransitionId, VulnState, WorkflowId,
};
use piton_memory::MemoryStore;
use piton_sqlite::SqliteStore;
use piton_store::{CheckpointStore, CheckpointStoreExt, ExpectedHead, seal};

/// Moves along legal edges, each with its outcome.
pub(crate) type Moves = &'static [(VulnState, VulnState, &'static str)];

/// Records the moves in every adapter and prints the rows as each of them holds them.
pub(crate) async fn history(moves: Moves) -> String {
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
