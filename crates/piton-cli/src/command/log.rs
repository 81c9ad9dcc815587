//! Owns `log`: the raw rows of a workflow for reading. It verifies nothing, and says so.

use piton_ledger::{CanonicalJson, ChainHead, StateMachine, TransitionEvent, WorkflowId};
use piton_store::{AnyStore, CheckpointStore as _, PersistedChain as _, PersistedRow, Stored};
use serde::Serialize;

use crate::command::{Context, Format};
use crate::console::{Console, Tone};
use crate::escape::{shorten, visible};
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::store::{StoreArgument, closing};

const OUTCOME_CHARACTERS: usize = 60;
const TIME_CHARACTERS: usize = 20;
const TRANSITION_CHARACTERS: usize = 26;
/// `blake3:` and 12 digits.
const HEAD_CHARACTERS: usize = 19;

/// Show the recorded rows of a workflow as they are; nothing is verified
#[derive(Debug, clap::Args)]
pub(crate) struct Log {
    #[command(flatten)]
    store: StoreArgument,

    /// The workflow
    workflow: WorkflowId,

    /// How the rows are written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The JSON form of one row; a column that can't be read is null.
#[derive(Debug, Serialize)]
struct RawRow<'a> {
    workflow_id: &'a WorkflowId,
    sequence: i64,
    written_at: Option<&'a str>,
    transition_id: Option<&'a str>,
    prior_state_id: Option<&'static str>,
    next_state_id: Option<&'static str>,
    prior_head: Option<ChainHead>,
    next_head: Option<ChainHead>,
    triggering_outcome: Option<&'a CanonicalJson>,
    event: &'static str,
    verified: bool,
}

impl Log {
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
        let mut chain = store.iter_persisted_chain(&self.workflow).await?;
        let mut table = Table::default();
        if self.format == Format::Text {
            let unverified = console.paint(Tone::Doubtful, "not verified");
            console.line(format_args!(
                "{unverified}: {}: rows as they are stored; `piton verify {0}` checks them",
                self.workflow
            ))?;
        }
        let mut batches = 0u64;
        loop {
            let rows = chain.next_rows().await?;
            if rows.is_empty() || console.is_output_closed() {
                break;
            }
            match self.format {
                Format::Text => table.print::<M>(&rows, console)?,
                Format::Json => {
                    for row in &rows {
                        self.print_json::<M>(row, console)?;
                    }
                }
            }
            batches = batches.saturating_add(1);
            console.flush()?;
        }
        if batches == 0 && self.format == Format::Text && !console.is_output_closed() {
            console.line("nothing is recorded")?;
        }
        Ok(ExitStatus::Done)
    }

    fn print_json<M: StateMachine>(
        &self,
        row: &PersistedRow,
        console: &mut Console<'_>,
    ) -> Result<(), Failure> {
        let event = event_of::<M>(row);
        let event = event.as_ref();
        console.json(&RawRow {
            workflow_id: &self.workflow,
            sequence: row.sequence,
            written_at: row.written_at.as_text(),
            transition_id: row.transition_id.as_text(),
            prior_state_id: event.map(|event| event.prior_state_id().slug()),
            next_state_id: event.map(|event| event.next_state_id().slug()),
            prior_head: row.prior_head.to_head(),
            next_head: row.next_head.to_head(),
            triggering_outcome: event.map(TransitionEvent::triggering_outcome),
            event: if event.is_some() {
                "readable"
            } else {
                "unreadable"
            },
            verified: false,
        })
    }
}

/// Rows in columns; the widths follow the widest row so far.
#[derive(Debug, Default)]
struct Table {
    sequence: usize,
    states: usize,
    has_header: bool,
}

impl Table {
    fn print<M: StateMachine>(
        &mut self,
        rows: &[PersistedRow],
        console: &mut Console<'_>,
    ) -> Result<(), Failure> {
        let lines: Vec<Line> = rows.iter().map(Line::new::<M>).collect();
        for line in &lines {
            self.sequence = self.sequence.max(line.sequence.chars().count());
            self.states = self.states.max(line.states.chars().count());
        }
        if !self.has_header {
            self.has_header = true;
            let header = Line::header();
            self.sequence = self.sequence.max(header.sequence.len());
            self.line(&header, console)?;
        }
        lines.iter().try_for_each(|line| self.line(line, console))
    }

    fn line(&self, line: &Line, console: &mut Console<'_>) -> Result<(), Failure> {
        console.line(format_args!(
            "{:>sequence$}  {:TIME_CHARACTERS$}  {:states$}  {:TRANSITION_CHARACTERS$}  {:HEAD_CHARACTERS$}  {}",
            line.sequence,
            line.time,
            line.states,
            line.transition,
            line.head,
            line.outcome,
            sequence = self.sequence,
            states = self.states,
        ))
    }
}

#[derive(Debug)]
struct Line {
    sequence: String,
    time: String,
    states: String,
    transition: String,
    head: String,
    outcome: String,
}

impl Line {
    fn header() -> Self {
        Self {
            sequence: "seq".to_owned(),
            time: "written at".to_owned(),
            states: "prior → next".to_owned(),
            transition: "transition".to_owned(),
            head: "head".to_owned(),
            outcome: "outcome".to_owned(),
        }
    }

    fn new<M: StateMachine>(row: &PersistedRow) -> Self {
        let event = event_of::<M>(row);
        let states = match (&event, &row.event_bytes) {
            (Some(event), _) => format!(
                "{} → {}",
                event.prior_state_id().slug(),
                event.next_state_id().slug()
            ),
            (None, Some(_)) => "unreadable event".to_owned(),
            (None, None) => "unreadable event (NULL)".to_owned(),
        };
        let outcome = event.as_ref().map_or_else(String::new, |event| {
            shorten(
                &visible(event.triggering_outcome().as_str()),
                OUTCOME_CHARACTERS,
            )
        });
        let transition = match row.transition_id.to_transition_id() {
            Some(id) => id.to_string(),
            None => "unreadable".to_owned(),
        };
        Self {
            sequence: row.sequence.to_string(),
            time: time_of(&row.written_at),
            states,
            transition,
            head: short_head(&row.next_head),
            outcome,
        }
    }
}

fn event_of<M: StateMachine>(row: &PersistedRow) -> Option<TransitionEvent<M>> {
    TransitionEvent::parse(row.event_bytes.as_deref()?).ok()
}

/// Shows a stored time in whole seconds.
pub(super) fn time_of(written_at: &Stored) -> String {
    match written_at
        .as_text()
        .and_then(|text| text.parse::<jiff::Timestamp>().ok())
    {
        Some(time) => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        None => "unreadable".to_owned(),
    }
}

/// Shows the first digits of a stored head.
pub(super) fn short_head(head: &Stored) -> String {
    match head.to_head() {
        Some(head) => head.to_string().chars().take(HEAD_CHARACTERS).collect(),
        None => "unreadable".to_owned(),
    }
}
