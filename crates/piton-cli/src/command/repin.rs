//! Owns `repin`: an operator accepts a tail. Whether it may be accepted the verifier decides.

use piton_ledger::{StateMachine, WorkflowId};
use piton_store::{AnyStore, CheckpointStore as _, StoreError, Tail, WorkflowCatalog as _};

use crate::command::Context;
use crate::console::{Console, Tone};
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::store::{StoreArgument, closing};

/// Accept the tail of a chain as acknowledged, whatever the store's pin says
///
/// This gives up what the pin proved: if acknowledged rows were lost, nobody will see it any more.
/// It is refused unless every row links and SEQ:HEAD is the tail.
#[derive(Debug, clap::Args)]
pub(crate) struct Repin {
    #[command(flatten)]
    store: StoreArgument,

    /// The workflow
    workflow: WorkflowId,

    /// The tail to accept, as `piton head` prints it
    #[arg(long, value_name = "SEQ:HEAD")]
    accept: Tail,
}

impl Repin {
    pub(crate) async fn run<M: StateMachine>(
        self,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let store = self.store.open(context.busy_timeout)?;
        let outcome = self.repin::<M>(&store, console).await;
        closing(store, outcome).await
    }

    async fn repin<M: StateMachine>(
        &self,
        store: &AnyStore,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        // Taking the lock would create a ledger where there is none.
        let pin = store.pinned_tail(&self.workflow).await;
        let is_unpinned = matches!(pin, Ok(None));
        if is_unpinned && store.stats(&self.workflow).await?.rows == 0 {
            return Err(Failure::Store(StoreError::UnknownWorkflow {
                workflow: self.workflow.clone(),
            }));
        }
        piton_verify::repin::<M, _>(store, &self.workflow, self.accept).await?;
        let accepted = console.paint(Tone::Doubtful, "accepted");
        console.line(format_args!(
            "{accepted}: {}: {}",
            self.workflow, self.accept
        ))?;
        match pin {
            Ok(Some(before)) => console.line(format_args!("  pin before: {before}"))?,
            Ok(None) => console.line("  pin before: none")?,
            Err(_) => console.line("  pin before: damaged")?,
        }
        console.line(
            "  given up: the proof that rows after this tail had been acknowledged; \
             if any were lost, their work may run again",
        )?;
        Ok(ExitStatus::Done)
    }
}
