//! Owns the progress bar of long walks. It is a comfort, and nothing depends on it.

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use piton_ledger::WorkflowId;
use piton_store::{AnyStore, WorkflowCatalog as _};

use crate::console::{Console, Progress};

/// Shorter chains are walked before a bar could be read.
const ROWS_WORTH_A_BAR: u64 = 20_000;

/// Makes the bar of a walk over one workflow, if there is somebody to see it and enough to walk.
///
/// It disappears when it is dropped.
pub(crate) async fn bar(
    workflow: &WorkflowId,
    store: &AnyStore,
    console: &Console<'_>,
) -> Option<ProgressBar> {
    match console.progress() {
        Progress::Hidden => return None,
        Progress::Shown => {}
    }
    // Whatever is wrong here, the walk will say.
    let rows = store.stats(workflow).await.ok()?.rows;
    if rows < ROWS_WORTH_A_BAR {
        return None;
    }
    let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} rows").ok()?;
    Some(
        ProgressBar::new(rows)
            .with_style(style)
            .with_finish(ProgressFinish::AndClear)
            .with_prefix(workflow.to_string()),
    )
}
