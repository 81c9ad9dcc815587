//! Owns `copy`: whole chains from one store into another, verified before and after. It changes no
//! source, and no row that is there already.

use piton_ledger::{Sequence, StateMachine, WorkflowId};
use piton_store::{
    AnyLock, AnyStore, AppendLock as _, AppendStatus, CheckpointStore as _, Tail,
    WorkflowCatalog as _,
};

use crate::command::{Context, Format};
use crate::console::Console;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::progress;
use crate::proof::Proof;
use crate::rows::Rows;
use crate::store::{StoreUrl, closing, open_present, open_store};
use crate::transfer::{self, Halt, Moved, Refusal, Side, at};

/// Copy chains into another store, with the same bytes and heads, verified before and after
///
/// Each chain is audited, its rows are proved once more while they are copied, and what is there
/// afterwards is audited with the source's tail as expectation. A destination that holds the
/// beginning of a chain is continued, so a copy that was cut off is simply run again. Any other
/// destination is refused with exit code 6 and the sequence at which the two chains part, also one
/// that goes on where the source has ended; nothing is written then. Rows that the source gets
/// meanwhile are left for the next run. The times of writing are those of the copy: they are not
/// part of a chain. Prints one result a workflow; the worst exit code counts, in the order 3, 4,
/// 5, 6, 0.
#[derive(Debug, clap::Args)]
pub(crate) struct Copy {
    /// The store to read: `sqlite:DIR`, `postgres://…` or `memory:`
    #[arg(long, value_name = "URL")]
    from: StoreUrl,

    /// The store to write, likewise
    #[arg(long, value_name = "URL")]
    to: StoreUrl,

    /// The workflows to copy; all of the source if none is named
    #[arg(value_name = "WORKFLOW")]
    workflows: Vec<WorkflowId>,

    /// How the results are written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How many rows are written by one commit.
const ROWS_AT_ONCE: usize = 256;

/// The two ends of a copy.
struct Ends<'a> {
    source: &'a AnyStore,
    destination: &'a AnyStore,
    workflow: &'a WorkflowId,
}

impl Copy {
    pub(crate) async fn run<M: StateMachine>(
        self,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let source = open_present(&self.from, context.busy_timeout)?;
        let outcome = self
            .copy_into_destination::<M>(&source, context, console)
            .await;
        closing(source, outcome).await
    }

    async fn copy_into_destination<M: StateMachine>(
        &self,
        source: &AnyStore,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let destination = open_store(&self.to, context.busy_timeout)?;
        let outcome = self.copy_all::<M>(source, &destination, console).await;
        closing(destination, outcome).await
    }

    async fn copy_all<M: StateMachine>(
        &self,
        source: &AnyStore,
        destination: &AnyStore,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let listed = if self.workflows.is_empty() {
            source.list().await?
        } else {
            Vec::new()
        };
        if self.workflows.is_empty() && listed.is_empty() && self.format == Format::Text {
            console.complain("the source holds no workflow");
        }
        let mut worst = ExitStatus::Done;
        for workflow in self.workflows.iter().chain(&listed) {
            let ends = Ends {
                source,
                destination,
                workflow,
            };
            let outcome = ends.copy::<M>(console).await;
            let status = transfer::tell(console, self.format, workflow, &outcome)?;
            // A copy may take long, and each result is wanted when it is there.
            console.flush()?;
            worst = worst.worse(status);
        }
        Ok(worst)
    }
}

impl Ends<'_> {
    async fn copy<M: StateMachine>(&self, console: &Console<'_>) -> Result<Moved, Halt> {
        let (workflow, destination) = (self.workflow, self.destination);
        let tail = transfer::audit::<M>(self.source, workflow, Side::Source, None).await?;
        if tail == Tail::Empty {
            // Taking the lock would create a ledger for nothing.
            return match transfer::audit::<M>(destination, workflow, Side::Destination, None)
                .await?
            {
                Tail::Empty => Ok(Moved::NOTHING),
                Tail::At { .. } => Err(Halt::Refused(Refusal::LongerChain(Sequence::FIRST))),
            };
        }
        let mut lock = destination
            .lock(workflow)
            .await
            .map_err(at(Side::Destination))?;
        let held = transfer::audit::<M>(destination, workflow, Side::Destination, None).await?;
        let moved = self
            .write_after::<M>(held, tail, &mut lock, console)
            .await?;
        transfer::audit::<M>(destination, workflow, Side::Copy, Some(tail)).await?;
        lock.release().await.map_err(at(Side::Copy))?;
        Ok(moved)
    }

    /// Proves the source's rows up to its audited tail, and writes those that follow `held`.
    async fn write_after<M: StateMachine>(
        &self,
        held: Tail,
        tail: Tail,
        lock: &mut AnyLock,
        console: &Console<'_>,
    ) -> Result<Moved, Halt> {
        if held.sequence() > tail.sequence() {
            return Err(self.parting(tail).await);
        }
        let bar = progress::bar(self.workflow, self.source, console.progress()).await;
        let from_source = at(Side::Source);
        let mut rows = Rows::open(self.source, self.workflow)
            .await
            .map_err(&from_source)?;
        let mut proof = Proof::<M>::new(self.workflow.clone());
        let mut moved = Moved {
            tail,
            ..Moved::NOTHING
        };
        let mut waiting = Vec::new();
        while proof.tail().sequence() < tail.sequence() {
            let row = rows.next().await.map_err(&from_source)?;
            let Some(Ok(verified)) = row.map(|row| proof.next(&row)) else {
                return Err(self.changed::<M>().await);
            };
            if proof.tail().sequence() > held.sequence() {
                waiting.push(verified);
                if waiting.len() == ROWS_AT_ONCE {
                    moved.add(transfer::place_all(lock, std::mem::take(&mut waiting)).await?);
                }
            } else if proof.tail().sequence() == held.sequence() && proof.tail() != held {
                return Err(self.parting(tail).await);
            } else {
                moved.count(AppendStatus::AlreadyPresent);
            }
            if let Some(bar) = &bar {
                bar.inc(1);
            }
        }
        moved.add(transfer::place_all(lock, waiting).await?);
        if proof.tail() != tail {
            return Err(self.changed::<M>().await);
        }
        Ok(moved)
    }

    /// Says why the source gives other rows than a moment ago.
    async fn changed<M: StateMachine>(&self) -> Halt {
        match transfer::audit::<M>(self.source, self.workflow, Side::Source, None).await {
            Ok(_) => Halt::Changed,
            Err(halt) => halt,
        }
    }

    /// Finds the first sequence at which two intact chains differ.
    async fn parting(&self, tail: Tail) -> Halt {
        self.refusal(tail)
            .await
            .map_or_else(|halt| halt, Halt::Refused)
    }

    async fn refusal(&self, tail: Tail) -> Result<Refusal, Halt> {
        let (here, there) = (at(Side::Source), at(Side::Destination));
        let mut source = Rows::open(self.source, self.workflow)
            .await
            .map_err(&here)?;
        let mut destination = Rows::open(self.destination, self.workflow)
            .await
            .map_err(&there)?;
        let mut common = Tail::Empty;
        while let Some(sequence) = common.next_sequence() {
            if common.sequence() >= tail.sequence() {
                return Ok(Refusal::LongerChain(sequence));
            }
            let ours = source.next().await.map_err(&here)?;
            let theirs = destination.next().await.map_err(&there)?;
            let [ours, theirs] =
                [ours, theirs].map(|row| row.and_then(|row| row.next_head.to_head()));
            match (ours, theirs) {
                (Some(head), Some(their_head)) if head == their_head => {
                    common = Tail::At { sequence, head };
                }
                (_, _) => return Ok(Refusal::DifferentChain(sequence)),
            }
        }
        Err(Halt::Changed)
    }
}
