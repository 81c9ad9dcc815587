//! Owns `list`: what is known of each workflow without walking it. Nothing is verified.

use futures_util::stream::{self, StreamExt as _};
use piton_ledger::{ChainHead, StateMachine, WorkflowId};
use piton_store::{AnyStore, StoreError, Stored, WorkflowCatalog as _, WorkflowStats};
use serde::Serialize;

use crate::command::log::{short_head, time_of};
use crate::command::{Context, Format, cores};
use crate::console::Console;
use crate::escape;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Unchecked};
use crate::store::{StoreArgument, closing};

/// How many workflows one task counts, and how many answers wait at most for each core.
const PIECE: usize = 32;

/// List the workflows of a store; nothing is verified
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    store: StoreArgument,

    /// How the list is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The JSON form of one workflow; what can't be read is null.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    workflow_id: &'a WorkflowId,
    rows: u64,
    tail_chain_head: Option<ChainHead>,
    latest_state: Option<&'static str>,
    first_written_at: Option<&'a str>,
    last_written_at: Option<&'a str>,
    verified: bool,
}

impl List {
    pub(crate) async fn run<M: StateMachine>(
        self,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let store = self.store.open_to_read(context.busy_timeout, console)?;
        let outcome = self.print::<M>(&store, console).await;
        closing(store, outcome).await
    }

    async fn print<M: StateMachine>(
        &self,
        store: &AnyStore,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let workflows = store.list().await?;
        let widths = Widths::of::<M>(&workflows);
        if self.format == Format::Text {
            if workflows.is_empty() {
                console.line("no workflows")?;
                return Ok(ExitStatus::Done);
            }
            let columns = [
                "rows",
                "tail head",
                "latest state",
                "first written at",
                "last written at",
            ];
            table_line("workflow", columns, widths, console)?;
        }
        // Shared out in pieces: for most workflows a task of their own would cost more than the
        // answer.
        let mut pieces = stream::iter(workflows.chunks(PIECE).map(<[WorkflowId]>::to_vec))
            .map(|piece| tokio::spawn(count(store.clone(), piece)))
            .buffered(cores());
        let mut worst = ExitStatus::Done;
        while !console.is_output_closed()
            && let Some(counted) = pieces.next().await
        {
            let counted =
                counted.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
            for (workflow, stats) in counted {
                worst = worst.worse(self.tell::<M>(&workflow, stats, widths, console)?);
            }
        }
        Ok(worst)
    }

    fn tell<M: StateMachine>(
        &self,
        workflow: &WorkflowId,
        stats: Result<WorkflowStats, StoreError>,
        widths: Widths,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        match (stats, self.format) {
            (Ok(stats), Format::Json) => console.json(&entry::<M>(&stats))?,
            (Ok(stats), Format::Text) => {
                let columns = columns::<M>(&stats);
                let columns = columns.each_ref().map(String::as_str);
                table_line(workflow.as_str(), columns, widths, console)?;
            }
            (Err(error), Format::Json) => {
                console.json(&Unchecked::new(workflow, &error))?;
                return Ok(ExitStatus::CouldNotCheck);
            }
            (Err(error), Format::Text) => {
                let message = escape::visible(&error.to_string());
                console.complain(format_args!("error: {message}"));
                return Ok(ExitStatus::CouldNotCheck);
            }
        }
        Ok(ExitStatus::Done)
    }
}

type Counted = (WorkflowId, Result<WorkflowStats, StoreError>);

async fn count(store: AnyStore, workflows: Vec<WorkflowId>) -> Vec<Counted> {
    let mut counted = Vec::with_capacity(workflows.len());
    for workflow in workflows {
        let stats = store.stats(&workflow).await;
        counted.push((workflow, stats));
    }
    counted
}

fn entry<M: StateMachine>(stats: &WorkflowStats) -> Entry<'_> {
    let last = stats.last_row.as_ref();
    Entry {
        workflow_id: &stats.workflow_id,
        rows: stats.rows,
        tail_chain_head: match last {
            Some(row) => row.next_head.to_head(),
            None => Some(ChainHead::GENESIS),
        },
        latest_state: latest_state::<M>(stats),
        first_written_at: stats.first_written_at.as_deref(),
        last_written_at: last.and_then(|row| row.written_at.as_text()),
        verified: false,
    }
}

/// Gives the initial state for a workflow that has recorded nothing, none for an unreadable one.
fn latest_state<M: StateMachine>(stats: &WorkflowStats) -> Option<&'static str> {
    match stats.last_row {
        Some(_) => stats.latest_state::<M>().map(M::slug),
        None => Some(M::INITIAL.slug()),
    }
}

fn columns<M: StateMachine>(stats: &WorkflowStats) -> [String; 5] {
    let state = latest_state::<M>(stats).unwrap_or("unreadable").to_owned();
    let Some(last) = &stats.last_row else {
        let [head, first, last] = ["-", "-", "-"].map(str::to_owned);
        return [stats.rows.to_string(), head, state, first, last];
    };
    let first = match &stats.first_written_at {
        Some(text) => time_of(&Stored::Text(text.clone())),
        None => "unreadable".to_owned(),
    };
    [
        stats.rows.to_string(),
        short_head(&last.next_head),
        state,
        first,
        time_of(&last.written_at),
    ]
}

/// How wide the columns are that differ from list to list.
#[derive(Debug, Clone, Copy)]
struct Widths {
    id: usize,
    state: usize,
}

impl Widths {
    fn of<M: StateMachine>(workflows: &[WorkflowId]) -> Self {
        let ids = workflows.iter().map(|id| id.as_str().len());
        let states = M::KINDS.iter().map(|kind| kind.slug().len());
        Self {
            id: ids.max().unwrap_or(0).max("workflow".len()),
            state: states.max().unwrap_or(0).max("latest state".len()),
        }
    }
}

fn table_line(
    workflow: &str,
    [rows, head, state, first, last]: [&str; 5],
    Widths {
        id: widest_id,
        state: widest_state,
    }: Widths,
    console: &mut Console<'_>,
) -> Result<(), Failure> {
    console.line(format_args!(
        "{workflow:widest_id$}  {rows:>6}  {head:19}  {state:widest_state$}  {first:20}  {last}"
    ))
}
