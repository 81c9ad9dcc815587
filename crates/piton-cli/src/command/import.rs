//! Owns `import`: exported rows into a store, each proved before it is written. It mends nothing:
//! the first line that does not fit ends it.

use std::collections::BTreeMap;

use piton_ledger::{StateMachine, WorkflowId};
use piton_store::{AnyLock, AnyStore, AppendLock as _, CheckpointStore as _, Tail};

use crate::command::{Context, Format};
use crate::console::Console;
use crate::exit::ExitStatus;
use crate::failure::{Failure, LineError};
use crate::input::{InputArgument, Lines};
use crate::proof::Proof;
use crate::row_line::ReadRow;
use crate::store::{StoreArgument, closing};
use crate::transfer::{self, Moved, Side};

/// Import rows that `export` printed, with the same bytes and heads, verified on the way in
///
/// Each row must follow the row of its workflow before it, the first one at sequence 1; the lines
/// of several workflows may be mixed. Nothing is redacted or rewritten. Rows that the store holds
/// already are skipped, so an import that was cut off is simply run again; a store that holds
/// another chain, or lines that were changed, end the command with exit code 6 at that line, and
/// the lines before it stay recorded. At the end each chain is audited with its last line as
/// expectation, and one result a workflow is printed. The times of writing are those of the
/// import. While lines of a workflow come in, its append lock is held.
#[derive(Debug, clap::Args)]
pub(crate) struct Import {
    #[command(flatten)]
    store: StoreArgument,

    /// How the results are written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    input: InputArgument,
}

impl Import {
    pub(crate) async fn run<M: StateMachine>(
        self,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let mut lines = self.input.open(console)?;
        let store = self.store.open(context.busy_timeout)?;
        let outcome = self.import_all::<M>(&mut lines, &store, console).await;
        closing(store, outcome).await
    }

    async fn import_all<M: StateMachine>(
        &self,
        lines: &mut Lines<'_>,
        store: &AnyStore,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let mut feed = Feed::<M> {
            store,
            fed: BTreeMap::new(),
            held: None,
        };
        let outcome = feed.take_all(lines).await;
        let released = feed.release().await;
        // What was recorded before a bad line is told too.
        let mut worst = ExitStatus::Done;
        for (workflow, fed) in &feed.fed {
            if fed.moved.tail == Tail::Empty {
                continue;
            }
            let expected = Some(fed.moved.tail);
            let outcome = transfer::audit::<M>(store, workflow, Side::Copy, expected)
                .await
                .map(|_| fed.moved);
            let status = transfer::tell(console, self.format, workflow, &outcome)?;
            worst = worst.worse(status);
        }
        outcome?;
        released?;
        Ok(worst)
    }
}

/// One workflow of the input.
struct Fed<M> {
    proof: Proof<M>,
    moved: Moved,
}

/// The rows on their way in.
struct Feed<'a, M> {
    store: &'a AnyStore,
    fed: BTreeMap<WorkflowId, Fed<M>>,
    /// The lock of the workflow that the last line was of.
    held: Option<AnyLock>,
}

impl<M: StateMachine> Feed<'_, M> {
    async fn take_all(&mut self, lines: &mut Lines<'_>) -> Result<(), Failure> {
        while let Some(line) = lines.next()? {
            let taken = match ReadRow::parse(line) {
                Ok(read) => self.take(read).await,
                Err(error) => Err(error),
            };
            taken.map_err(|reason| lines.refuse(reason))?;
        }
        Ok(())
    }

    async fn take(&mut self, read: ReadRow) -> Result<(), LineError> {
        let ReadRow { workflow, row } = read;
        let is_first = !self.fed.contains_key(&workflow);
        let fed = self.fed.entry(workflow.clone()).or_insert_with(|| Fed {
            proof: Proof::new(workflow.clone()),
            moved: Moved::NOTHING,
        });
        // Before the lock: a line that is refused must leave no trace in the store.
        let verified = fed.proof.next(&row)?;
        let tail = fed.proof.tail();
        let lock = match self.held.take() {
            Some(held) if *held.workflow_id() == workflow => held,
            Some(held) => {
                held.release().await?;
                self.store.lock(&workflow).await?
            }
            None => self.store.lock(&workflow).await?,
        };
        let lock = self.held.insert(lock);
        if is_first {
            transfer::audit::<M>(self.store, &workflow, Side::Destination, None).await?;
        }
        let status = transfer::place(lock, verified).await?;
        fed.moved.count(status);
        fed.moved.tail = tail;
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Failure> {
        match self.held.take() {
            Some(held) => Ok(held.release().await?),
            None => Ok(()),
        }
    }
}
