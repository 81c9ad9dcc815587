//! Owns `export`: the raw rows of verified chains as lines. It writes nothing but them to the
//! output: whatever else there is to say goes to the error stream.

use piton_ledger::{StateMachine, WorkflowId};
use piton_store::{AnyStore, StoreError, Tail, WorkflowCatalog as _};
use piton_verify::Checked;

use crate::command::Context;
use crate::console::Console;
use crate::escape;
use crate::exit::ExitStatus;
use crate::failure::{Failure, advice};
use crate::proof::Proof;
use crate::report;
use crate::row_line::RowLine;
use crate::rows::Rows;
use crate::store::{StoreArgument, closing};
use crate::transfer::{self, Halt, Side};

/// Print raw rows, one JSON object a line, for `import`; verified on the way out
///
/// Each line has `workflow_id`, `sequence`, `transition_id`, `prior_head`, `next_head`, `event`
/// and `written_at`. `event` is the stored bytes, as text within a string, so that nothing of them
/// is lost. A whole chain is audited before its first line is printed, and each row is proved once
/// more as it is printed; of a chain that is not intact nothing is printed but its verdict, on the
/// error stream. The worst exit code counts, in the order 3, 4, 5, 0; check it, for a cut output
/// is a shorter, intact chain.
#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    #[command(flatten)]
    store: StoreArgument,

    /// The workflows to export
    #[arg(value_name = "WORKFLOW", required_unless_present = "all")]
    workflows: Vec<WorkflowId>,

    /// Export every workflow of the store
    #[arg(long, conflicts_with = "workflows")]
    all: bool,
}

/// Why the export of one workflow ended early.
enum End {
    /// The workflow can't be exported, or not to its end.
    Halt(Halt),
    /// The output failed.
    Failure(Failure),
}

impl From<Halt> for End {
    fn from(halt: Halt) -> Self {
        Self::Halt(halt)
    }
}

impl From<StoreError> for End {
    fn from(error: StoreError) -> Self {
        Self::Halt(Halt::Failed(Side::Source, error))
    }
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl Export {
    pub(crate) async fn run<M: StateMachine>(
        self,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let store = if self.all {
            self.store.open_present(context.busy_timeout)?
        } else {
            self.store.open_to_read(context.busy_timeout, console)?
        };
        let outcome = self.export_all::<M>(&store, console).await;
        closing(store, outcome).await
    }

    async fn export_all<M: StateMachine>(
        &self,
        store: &AnyStore,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let listed = if self.all {
            store.list().await?
        } else {
            Vec::new()
        };
        if self.all && listed.is_empty() {
            console.complain("the store holds no workflow");
        }
        let mut worst = ExitStatus::Done;
        for workflow in self.workflows.iter().chain(&listed) {
            if console.is_output_closed() {
                break;
            }
            match export_one::<M>(workflow, store, console).await {
                Ok(()) => {}
                Err(End::Halt(halt)) => {
                    complain(workflow, &halt, console);
                    worst = worst.worse((&halt).into());
                }
                Err(End::Failure(failure)) => return Err(failure),
            }
        }
        Ok(worst)
    }
}

async fn export_one<M: StateMachine>(
    workflow: &WorkflowId,
    store: &AnyStore,
    console: &mut Console<'_>,
) -> Result<(), End> {
    let tail = transfer::audit::<M>(store, workflow, Side::Source, None).await?;
    if tail == Tail::Empty {
        console.complain(format_args!("{workflow}: nothing is recorded"));
        return Ok(());
    }
    let mut rows = Rows::open(store, workflow).await?;
    let mut proof = Proof::<M>::new(workflow.clone());
    while proof.tail().sequence() < tail.sequence() && !console.is_output_closed() {
        let row = rows.next().await?;
        let proved = row.as_ref().filter(|row| proof.next(row).is_ok());
        let Some(line) = proved.and_then(|row| RowLine::of(workflow, row)) else {
            return Err(changed::<M>(workflow, store).await.into());
        };
        console.json(&line)?;
    }
    if proof.tail() != tail && !console.is_output_closed() {
        return Err(changed::<M>(workflow, store).await.into());
    }
    console.flush()?;
    Ok(())
}

/// Says why the chain is another than a moment ago.
async fn changed<M: StateMachine>(workflow: &WorkflowId, store: &AnyStore) -> Halt {
    match transfer::audit::<M>(store, workflow, Side::Source, None).await {
        Ok(_) => Halt::Changed,
        Err(halt) => halt,
    }
}

fn complain(workflow: &WorkflowId, halt: &Halt, console: &mut Console<'_>) {
    match halt {
        Halt::NotIntact(_, Checked { verdict, pin }) => {
            console.complain(format_args!("not exported: {workflow}: it is not intact"));
            report::complain(console, workflow, verdict, *pin);
        }
        Halt::Failed(_, error) => {
            let message = escape::visible(&error.to_string());
            console.complain(format_args!("not exported: {workflow}: {message}"));
            if let Some(advice) = advice(error) {
                console.complain(format_args!("  do: {advice}"));
            }
        }
        Halt::Changed => console.complain(format_args!(
            "not exported to its end: {workflow}: the chain changed meanwhile; try again"
        )),
        Halt::Refused(refusal) => {
            console.complain(format_args!("not exported: {workflow}: {refusal}"));
        }
    }
}
