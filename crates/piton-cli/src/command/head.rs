//! Owns `head`: the tail as persisted, in the form that `--expect` takes. Nothing is verified.

use piton_ledger::WorkflowId;
use piton_store::{AnyStore, StoreError, Tail, WorkflowCatalog as _, WorkflowStats};

use crate::command::Context;
use crate::console::Console;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::store::{StoreArgument, closing};

/// Print the persisted tail of a workflow as SEQ:HEAD, for `--expect`
#[derive(Debug, clap::Args)]
pub(crate) struct Head {
    #[command(flatten)]
    store: StoreArgument,

    /// The workflow
    workflow: WorkflowId,
}

impl Head {
    pub(crate) async fn run(
        self,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let store = self.store.open_to_read(context.busy_timeout, console)?;
        let outcome = self.print(&store, console).await;
        closing(store, outcome).await
    }

    async fn print(
        &self,
        store: &AnyStore,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        console.line(persisted_tail(&store.stats(&self.workflow).await?)?)?;
        Ok(ExitStatus::Done)
    }
}

/// Reads the tail out of the last row.
pub(super) fn persisted_tail(stats: &WorkflowStats) -> Result<Tail, StoreError> {
    let Some(row) = &stats.last_row else {
        return Ok(Tail::Empty);
    };
    let unreadable = |column| StoreError::UnreadableColumn {
        workflow: stats.workflow_id.clone(),
        column,
    };
    Ok(Tail::At {
        sequence: row
            .sequence
            .try_into()
            .map_err(|_| unreadable("sequence"))?,
        head: row
            .next_head
            .to_head()
            .ok_or_else(|| unreadable("next_head"))?,
    })
}
