//! Owns `delete`: one workflow with everything that belongs to it.

use piton_ledger::WorkflowId;
use piton_store::WorkflowCatalog as _;

use crate::command::Context;
use crate::console::Console;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::store::{StoreArgument, closing};

/// Delete a workflow for good; refused while somebody holds its append lock
#[derive(Debug, clap::Args)]
pub(crate) struct Delete {
    #[command(flatten)]
    store: StoreArgument,

    /// The workflow to delete
    workflow: WorkflowId,

    /// Confirm: nothing can bring the workflow back
    #[arg(long)]
    yes: bool,
}

impl Delete {
    pub(crate) async fn run(
        self,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        if !self.yes {
            return Err(Failure::Usage(
                "delete can't be undone; confirm it with --yes",
            ));
        }
        let store = self.store.open(context.busy_timeout)?;
        let outcome = store.delete(&self.workflow).await.map_err(Failure::from);
        closing(store, outcome).await?;
        console.line(format_args!("deleted: {}", self.workflow))?;
        Ok(ExitStatus::Done)
    }
}
