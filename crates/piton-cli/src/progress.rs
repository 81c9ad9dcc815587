//! Owns the progress bar of long walks. It is a comfort, and nothing depends on it.

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use piton_ledger::WorkflowId;
use piton_store::{AnyStore, WorkflowCatalog as _};

use crate::console::Progress;

/// Shorter chains are walked before a bar could be read.
const ROWS_WORTH_A_BAR: u64 = 20_000;

/// Makes the bar of a walk over one workflow, if there is somebody to see it and enough to walk.
///
/// It disappears when it is dropped.
pub(crate) async fn bar(
    workflow: &WorkflowId,
    store: &AnyStore,
    progress: Progress,
) -> Option<ProgressBar> {
    match progress {
        Progress::Hidden => return None,
        Progress::Shown => {}
    }
    // Whatever is wrong here, the walk will say.
    let rows = store.stats(workflow).await.ok()?.rows;
    if rows < ROWS_WORTH_A_BAR {
        return None;
    }
    let bar = shown(
        rows,
        "{prefix} {bar:30} {pos}/{len} rows, {per_sec}, {eta} left",
    )?;
    Some(bar.with_prefix(workflow.to_string()))
}

/// Makes the bar of walks over many workflows, if there is somebody to see it.
pub(crate) fn bar_of_many(workflows: usize, progress: Progress) -> Option<ProgressBar> {
    match progress {
        Progress::Hidden => None,
        Progress::Shown => shown(
            u64::try_from(workflows).ok()?,
            "{bar:30} {pos}/{len} workflows, {per_sec}, {eta} left",
        ),
    }
}

fn shown(length: u64, template: &str) -> Option<ProgressBar> {
    let style = ProgressStyle::with_template(template).ok()?;
    Some(
        ProgressBar::new(length)
            .with_style(style)
            .with_finish(ProgressFinish::AndClear),
    )
}
