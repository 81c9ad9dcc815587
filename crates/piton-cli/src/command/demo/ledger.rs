//! Owns what the demo does to ledgers on disk: read them, copy them, flip one bit in them.

use std::fs;
use std::path::Path;

use piton_ledger::{StateMachine, WorkflowId};
use piton_store::{AnyStore, CheckpointStoreExt as _};
use piton_verify::{AuditVerdict, Expectations, ReplayVerdict, ReplayVerifier};

use super::{failed, off_script};
use crate::command::Context;
use crate::failure::Failure;
use crate::store::{StoreUrl, closing, open_store};

/// What a failing gate wrote; its last character is the one that is falsified.
const FAILING: &[u8] = br#""exit_code":1"#;

fn open(root: &Path, context: Context<'_>) -> Result<AnyStore, Failure> {
    let url = StoreUrl::Sqlite(root.to_owned());
    Ok(open_store(&url, context.busy_timeout)?)
}

/// Recomputes the chain and gives its events.
pub(super) async fn replay<M: StateMachine>(
    root: &Path,
    context: Context<'_>,
    workflow: &WorkflowId,
) -> Result<ReplayVerdict<M>, Failure> {
    let store = open(root, context)?;
    let verdict = ReplayVerifier::new(&store).verify::<M>(workflow).await;
    closing(store, verdict.map_err(Failure::from)).await
}

/// Recomputes the chain without its events.
pub(super) async fn audit<M: StateMachine>(
    root: &Path,
    context: Context<'_>,
    workflow: &WorkflowId,
) -> Result<AuditVerdict, Failure> {
    let store = open(root, context)?;
    let checked = ReplayVerifier::new(&store)
        .audit::<M>(workflow, Expectations::default(), |_| ())
        .await;
    let checked = closing(store, checked.map_err(Failure::from)).await?;
    Ok(checked.verdict)
}

/// Copies the files of one workflow.
pub(super) fn copy(root: &Path, target: &Path, workflow: &WorkflowId) -> Result<(), Failure> {
    let (from, to) = (root.join(workflow.as_str()), target.join(workflow.as_str()));
    fs::create_dir_all(&to).map_err(failed("make a directory"))?;
    for entry in fs::read_dir(&from).map_err(failed("list the ledger"))? {
        let entry = entry.map_err(failed("list the ledger"))?;
        fs::copy(entry.path(), to.join(entry.file_name())).map_err(failed("copy the ledger"))?;
    }
    Ok(())
}

/// Turns the exit code of the first failing gate from 1 to 0, which is one bit, wherever the
/// files hold that event; gives the position of the event in the chain.
pub(super) async fn falsify(
    root: &Path,
    context: Context<'_>,
    workflow: &WorkflowId,
) -> Result<usize, Failure> {
    let store = open(root, context)?;
    let rows = store.collect_rows(workflow).await.map_err(Failure::from);
    let rows = closing(store, rows).await?;
    let (position, event, within) = rows
        .iter()
        .enumerate()
        .find_map(|(position, row)| {
            let event = row.event_bytes.as_deref()?;
            Some((position, event, find(event, FAILING, 0)?))
        })
        .ok_or_else(|| off_script("no recorded gate has failed"))?;
    let digit = within.saturating_add(FAILING.len()).saturating_sub(1);
    let directory = root.join(workflow.as_str());
    let mut flipped = 0usize;
    for entry in fs::read_dir(directory).map_err(failed("list the copy"))? {
        let path = entry.map_err(failed("list the copy"))?.path();
        let mut bytes = fs::read(&path).map_err(failed("read the copy"))?;
        let mut from = 0;
        while let Some(start) = find(&bytes, event, from) {
            if let Some(byte) = bytes.get_mut(start.saturating_add(digit)) {
                *byte ^= 1;
                flipped = flipped.saturating_add(1);
            }
            from = start.saturating_add(event.len());
        }
        fs::write(&path, bytes).map_err(failed("write the copy"))?;
    }
    if flipped == 0 {
        return Err(off_script("the event is not in the files"));
    }
    Ok(position)
}

fn find(bytes: &[u8], pattern: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let found = rest
        .windows(pattern.len())
        .position(|window| window == pattern)?;
    Some(from.saturating_add(found))
}
