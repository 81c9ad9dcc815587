//! An orchestrator that records each semantic step, is interrupted, and resumes only from a
//! verified history.
//!
//! Run it with `cargo run -p piton-examples --example orchestrator`.

use std::error::Error;

use piton_ledger::{
    BlobDigest, CanonicalJson, ChainHead, Transition, TransitionEvent, TransitionId, VulnState,
    WorkflowId,
};
use piton_sqlite::SqliteStore;
use piton_store::{CheckpointStore, CheckpointStoreExt, seal};
use piton_verify::{Hydrated, HydrationResult, hydrate_or_fail};

/// The steps that this run will take, each with what triggers it.
const STEPS: [(VulnState, VulnState, &str); 3] = [
    (
        VulnState::NeedsPlan,
        VulnState::PlanReady,
        r#"{"plan": "raise minimist to 1.2.6"}"#,
    ),
    (
        VulnState::PlanReady,
        VulnState::PatchApplied,
        r#"{"files": ["package.json", "package-lock.json"]}"#,
    ),
    (
        VulnState::PatchApplied,
        VulnState::Completed,
        r#"{"tests": {"passed": 412, "failed": 0}}"#,
    ),
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let root = tempfile::tempdir()?;
    let workflow: WorkflowId = "remediate-CVE-2021-44906".parse()?;

    // The first life of the orchestrator ends after two steps.
    work(&SqliteStore::open(root.path())?, &workflow, 2).await?;

    // The second one resumes, from a verified history or not at all.
    let store = SqliteStore::open(root.path())?;
    let hydrated = resume(&store, &workflow).await?;
    println!(
        "resumed after {} events in state {:?}",
        hydrated.events.len(),
        hydrated.latest_state_kind
    );
    work(&store, &workflow, STEPS.len()).await?;

    let hydrated = resume(&store, &workflow).await?;
    assert_eq!(hydrated.latest_state_kind, VulnState::Completed);
    assert_eq!(hydrated.events.len(), STEPS.len());
    println!(
        "finished in state {:?}, head {}",
        hydrated.latest_state_kind, hydrated.tail_chain_head
    );
    store.close().await?;
    Ok(())
}

/// Hands the verified history over, or stops for good.
async fn resume(
    store: &SqliteStore,
    workflow: &WorkflowId,
) -> Result<Hydrated<VulnState>, Box<dyn Error>> {
    match hydrate_or_fail::<VulnState, _>(store, workflow).await? {
        HydrationResult::Hydrated(hydrated) => Ok(hydrated),
        HydrationResult::FailedUnrecoverable(failure) => {
            Err(format!("not resumed: {failure:?}").into())
        }
    }
}

/// Takes the steps that the history does not hold yet, up to `limit`.
async fn work(
    store: &SqliteStore,
    workflow: &WorkflowId,
    limit: usize,
) -> Result<(), Box<dyn Error>> {
    let hydrated = resume(store, workflow).await?;
    let mut head = hydrated.tail_chain_head;
    let done = hydrated.events.len();
    for (number, step) in STEPS.iter().enumerate().take(limit).skip(done) {
        let event = event(workflow, number, step, head)?;
        // Fenced: if another orchestrator has moved the workflow meanwhile, this one must not.
        let appended = store.append_fenced(&seal(&event)?).await?;
        head = appended.head;
        println!("recorded step {} as row {}", number + 1, appended.sequence);
    }
    Ok(())
}

fn event(
    workflow: &WorkflowId,
    number: usize,
    (prior, next, outcome): &(VulnState, VulnState, &str),
    head: ChainHead,
) -> Result<TransitionEvent<VulnState>, Box<dyn Error>> {
    let transition = Transition {
        // A real orchestrator mints a ULID once per step and keeps it for retries.
        transition_id: TransitionId::from_bits(u128::try_from(number)?),
        prior_state_id: *prior,
        next_state_id: *next,
        triggering_outcome: CanonicalJson::parse(outcome.as_bytes())?,
        evidence_digest: BlobDigest::from_bytes([0; 32]),
        chain_head: head,
        workflow_id: workflow.clone(),
    };
    Ok(transition.try_into()?)
}
