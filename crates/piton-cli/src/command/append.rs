//! Owns `append`: events in, acknowledgements out, one line each. It judges no chain.

use piton_ledger::{ChainHead, Sequence, StateMachine, TransitionEvent, TransitionId, WorkflowId};
use piton_store::{
    AnyStore, AppendLock as _, Appended, CheckpointStore as _, CheckpointStoreExt as _,
    ExpectedHead, seal,
};
use serde::Serialize;

use crate::command::Context;
use crate::console::Console;
use crate::event_line::{EventLine, Mint, Origin};
use crate::exit::ExitStatus;
use crate::failure::{Failure, LineError};
use crate::input::{InputArgument, Lines};
use crate::store::{StoreArgument, closing};

/// Append events, one JSON object a line; prints one acknowledgement a line
///
/// A line with a `transition_id` may be sent again: what is recorded already is answered again. A
/// missing one is minted, so such a line is a new event each time it is sent. A missing
/// `chain_head` is the head of the tail, or that of the recorded event when the transition is
/// recorded already. The first bad line ends the command; the lines before it stay recorded.
#[derive(Debug, clap::Args)]
pub(crate) struct Append {
    #[command(flatten)]
    store: StoreArgument,

    /// Refuse an event whose `chain_head` is not the head of the tail
    #[arg(long)]
    fenced: bool,

    #[command(flatten)]
    input: InputArgument,
}

/// The answer to one line.
#[derive(Debug, Serialize)]
struct Acknowledgement<'a> {
    workflow_id: &'a WorkflowId,
    sequence: Sequence,
    transition_id: TransitionId,
    next_head: ChainHead,
    status: &'static str,
}

impl Append {
    pub(crate) async fn run<M: StateMachine>(
        self,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let mut lines = self.input.open(console)?;
        let store = self.store.open(context.busy_timeout)?;
        let outcome = self.append_all::<M>(&mut lines, &store, console).await;
        closing(store, outcome).await
    }

    async fn append_all<M: StateMachine>(
        &self,
        lines: &mut Lines<'_>,
        store: &AnyStore,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let mut mint = Mint::new();
        while let Some(line) = lines.next()? {
            let parsed = EventLine::<M>::parse(line, &mut mint);
            let (appended, event) = async {
                let line = parsed?;
                let appended = self.append_one(&line, store).await?;
                Ok((appended, line.event))
            }
            .await
            .map_err(|reason: LineError| lines.refuse(reason))?;
            console.json(&Acknowledgement {
                workflow_id: event.workflow_id(),
                sequence: appended.sequence,
                transition_id: event.transition_id(),
                next_head: appended.head,
                status: appended.status.slug(),
            })?;
            console.flush()?;
            if console.is_output_closed() {
                // Nobody hears the acknowledgements, so the rest of the input is not recorded.
                return Ok(ExitStatus::Unexpected);
            }
        }
        Ok(ExitStatus::Done)
    }

    async fn append_one<M: StateMachine>(
        &self,
        line: &EventLine<M>,
        store: &AnyStore,
    ) -> Result<Appended, LineError> {
        // Before the lock: what is refused here must leave no trace in the store.
        let sealed = seal(&line.event)?;
        match (line.chain_head, self.fenced) {
            (Origin::Line, true) => Ok(store.append_fenced(&sealed).await?),
            (Origin::Line, false) => Ok(store.append(&sealed, ExpectedHead::Any).await?),
            (Origin::FilledIn, true) => Err(LineError::FenceWithoutHead),
            (Origin::FilledIn, false) => append_after_tail(line, store).await,
        }
    }
}

/// Appends an event whose writer has seen no head: the head is looked up under the lock.
async fn append_after_tail<M: StateMachine>(
    line: &EventLine<M>,
    store: &AnyStore,
) -> Result<Appended, LineError> {
    let mut lock = store.lock(line.event.workflow_id()).await?;
    let recorded = match line.transition_id {
        Origin::Line => lock.find(line.event.transition_id()).await?,
        Origin::FilledIn => None,
    };
    let recorded = recorded
        .and_then(|row| row.event_bytes)
        .and_then(|bytes| TransitionEvent::<M>::parse(&bytes).ok());
    let head = match recorded {
        Some(event) => event.chain_head(),
        None => lock.tail().await?.head(),
    };
    let sealed = seal(&line.with_chain_head(head)?)?;
    let appended = lock.append(&sealed, ExpectedHead::Any).await?;
    lock.release().await?;
    Ok(appended)
}
