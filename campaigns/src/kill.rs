//! Kills a process that writes: at random instants, before each of its system calls, and once more
//! while another one recovers.

#[cfg(target_os = "linux")]
mod calls;
mod random;
#[cfg(target_os = "linux")]
mod trace;

use anyhow::{Result, ensure};
use piton_ledger::{Sequence, WorkflowId};
use piton_store::{CheckpointStore, CheckpointStoreExt as _, ExpectedHead, SealedEvent};
use piton_testkit::history;

use crate::evidence::Evidence;
use crate::ledger::{self, Finding, Known};
use crate::plan::Plan;

/// What must never happen.
pub(crate) const CLAIM: &str = "A process that is killed at any instant, or before any of its \
     system calls, loses nothing that it had acknowledged; the pin never leads the rows; the \
     ledger verifies and takes the interrupted event and the next one, or, where a deletion or a \
     repin was cut short, is refused or whole until that is done again.";

/// How many targets share the time.
const PARTS: u32 = 4;

pub(crate) fn run(plan: &Plan, evidence: &mut Evidence) -> Result<()> {
    evidence.not_covered(&[
        "Power loss: what a killed process wrote is still in the system's cache.",
        "An instant between two instructions that write to shared memory, other than at random.",
        "Every pair of two kills: the second one, during recovery, is sampled.",
    ]);
    #[cfg(not(target_os = "linux"))]
    anyhow::bail!(
        "Linux alone can stop a process before its system calls; run this campaign there"
    );
    #[cfg(target_os = "linux")]
    calls::run(plan, evidence)?;
    #[cfg(target_os = "linux")]
    random::run(plan, evidence)
}

/// Checks a ledger after a kill, without writing to it: everything acknowledged is there, nothing
/// is there that was not begun, and the pin stands at a row.
async fn check<S: CheckpointStore>(
    store: &S,
    workflow: &WorkflowId,
    attempted: &[SealedEvent],
    acknowledged: usize,
) -> Result<usize> {
    let known = Known {
        attempted,
        acknowledged,
    };
    let finding = ledger::judge_store(store, workflow, known, None).await?;
    ensure!(
        finding == Finding::Same,
        "after a kill the ledger is not intact: {}",
        finding.label()
    );
    let pin = store.pinned_tail(workflow).await?;
    let rows = store.collect_rows(workflow).await?.len();
    let pinned = pin
        .and_then(|tail| tail.sequence())
        .map_or(0, Sequence::to_u64);
    ensure!(
        pinned <= u64::try_from(rows)?,
        "the pin leads: it is at {pinned}, and there are {rows} rows"
    );
    ensure!(
        pinned >= u64::try_from(acknowledged)?,
        "the pin is at {pinned}, and {acknowledged} events were acknowledged"
    );
    Ok(rows)
}

/// How many of the last events are sent again: more than can have been in flight.
const AGAIN: usize = 3;

/// Sends the last events again that were begun, and one more, and checks the whole.
async fn go_on<S: CheckpointStore>(
    store: &S,
    workflow: &WorkflowId,
    attempted: &[SealedEvent],
) -> Result<()> {
    let mut events = attempted.to_vec();
    events.push(history::nth(
        workflow,
        u32::try_from(events.len())?.saturating_add(1),
    ));
    for event in &events[attempted.len().saturating_sub(AGAIN)..] {
        store.append(event, ExpectedHead::Any).await?;
    }
    let known = Known::exactly(&events);
    let finding = ledger::judge_store(store, workflow, known, None).await?;
    ensure!(
        finding == Finding::Same,
        "the ledger did not recover: {}",
        finding.label()
    );
    Ok(())
}
