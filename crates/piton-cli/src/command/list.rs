//! Owns `list`: what is known of each workflow without walking it. Nothing is verified.

use piton_ledger::{ChainHead, StateMachine, WorkflowId};
use piton_store::{AnyStore, Stored, WorkflowCatalog as _, WorkflowStats};
use serde::Serialize;

use crate::command::log::{short_head, time_of};
use crate::command::{Context, Format};
use crate::console::Console;
use crate::escape;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Unchecked};
use crate::store::{StoreArgument, closing};

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
        let store = self.store.open(context.busy_timeout)?;
        let outcome = self.print::<M>(&store, console).await;
        closing(store, outcome).await
    }

    async fn print<M: StateMachine>(
        &self,
        store: &AnyStore,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let workflows = store.list().await?;
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
            table_line::<M>("workflow", columns, &workflows, console)?;
        }
        let mut worst = ExitStatus::Done;
        for workflow in &workflows {
            if console.is_output_closed() {
                break;
            }
            match (store.stats(workflow).await, self.format) {
                (Ok(stats), Format::Json) => console.json(&entry::<M>(&stats))?,
                (Ok(stats), Format::Text) => {
                    let columns = columns::<M>(&stats);
                    let columns = columns.each_ref().map(String::as_str);
                    table_line::<M>(workflow.as_str(), columns, &workflows, console)?;
                }
                (Err(error), format) => {
                    worst = worst.worse(ExitStatus::CouldNotCheck);
                    match format {
                        Format::Json => console.json(&Unchecked::new(workflow, &error))?,
                        Format::Text => {
                            let message = escape::visible(&error.to_string());
                            console.complain(format_args!("error: {message}"));
                        }
                    }
                }
            }
        }
        Ok(worst)
    }
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

fn table_line<M: StateMachine>(
    workflow: &str,
    [rows, head, state, first, last]: [&str; 5],
    workflows: &[WorkflowId],
    console: &mut Console<'_>,
) -> Result<(), Failure> {
    let ids = workflows.iter().map(|id| id.as_str().len());
    let widest_id = ids.max().unwrap_or(0).max("workflow".len());
    let states = M::KINDS.iter().map(|kind| kind.slug().len());
    let widest_state = states.max().unwrap_or(0).max("latest state".len());
    console.line(format_args!(
        "{workflow:widest_id$}  {rows:>6}  {head:19}  {state:widest_state$}  {first:20}  {last}"
    ))
}
