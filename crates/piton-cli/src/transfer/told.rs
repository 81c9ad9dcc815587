//! Owns the words and the JSON for what became of a workflow, and the exit code of it. It moves
//! nothing.

use piton_ledger::{Sequence, WorkflowId};
use piton_store::Tail;
use piton_verify::{AuditVerdict, Checked, PinStatus};
use serde::{Serialize, Serializer};

use super::{Halt, Moved, Refusal, Side};
use crate::command::Format;
use crate::console::{Console, Tone};
use crate::escape;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Unchecked, advice};
use crate::report;

const CHANGED: &str = "the source changed while it was read; try again";

/// The JSON form of a workflow that was moved.
#[derive(Debug, Serialize)]
struct MovedAnswer<'a> {
    workflow_id: &'a WorkflowId,
    copied_rows: u64,
    skipped_rows: u64,
    #[serde(serialize_with = "as_text")]
    tail: Tail,
}

/// The JSON form of a chain that is not intact.
#[derive(Debug, Serialize)]
struct NotIntactAnswer<'a> {
    workflow_id: &'a WorkflowId,
    side: &'static str,
    verdict: &'a AuditVerdict,
    pin: PinStatus,
}

/// The JSON form of a workflow that is refused.
#[derive(Debug, Serialize)]
struct RefusedAnswer<'a> {
    workflow_id: &'a WorkflowId,
    refused: Reason,
}

#[derive(Debug, Serialize)]
struct Reason {
    kind: &'static str,
    sequence: Sequence,
}

/// The JSON form of a source that did not stand still.
#[derive(Debug, Serialize)]
struct ChangedAnswer<'a> {
    workflow_id: &'a WorkflowId,
    error: ChangedError,
}

#[derive(Debug, Serialize)]
struct ChangedError {
    kind: &'static str,
    message: &'static str,
    retry: bool,
}

/// Tells what became of one workflow and gives the exit code of it.
pub(crate) fn tell(
    console: &mut Console<'_>,
    format: Format,
    workflow: &WorkflowId,
    outcome: &Result<Moved, Halt>,
) -> Result<ExitStatus, Failure> {
    match format {
        Format::Text => tell_text(console, workflow, outcome)?,
        Format::Json => tell_json(console, workflow, outcome)?,
    }
    Ok(status(outcome))
}

fn status(outcome: &Result<Moved, Halt>) -> ExitStatus {
    match outcome {
        Ok(_) => ExitStatus::Done,
        Err(halt) => halt.into(),
    }
}

impl From<&Halt> for ExitStatus {
    fn from(halt: &Halt) -> Self {
        match halt {
            Halt::NotIntact(_, checked) => (&checked.verdict).into(),
            Halt::Refused(_) => Self::Refused,
            Halt::Changed => Self::CouldNotCheck,
            Halt::Failed(_, error) => error.into(),
        }
    }
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Destination => "destination",
            Self::Copy => "copy",
        }
    }
}

fn tell_text(
    console: &mut Console<'_>,
    workflow: &WorkflowId,
    outcome: &Result<Moved, Halt>,
) -> Result<(), Failure> {
    match outcome {
        Ok(moved) => {
            let line = moved_words(console, workflow, *moved);
            console.line(line)
        }
        Err(Halt::NotIntact(side, Checked { verdict, pin })) => {
            let what = match side {
                Side::Source => "the source is not intact; nothing was written",
                Side::Destination => "the destination is not intact; nothing was written",
                Side::Copy => "what was written is not what is there now",
            };
            let bad = console.paint(Tone::Bad, "not copied");
            console.line(format_args!("{bad}: {workflow}: {what}"))?;
            report::tell(console, workflow, verdict, *pin)
        }
        Err(Halt::Refused(refusal)) => {
            let refused = console.paint(Tone::Bad, "refused");
            console.line(format_args!("{refused}: {workflow}: {refusal}"))
        }
        Err(Halt::Changed) => {
            let failed = console.paint(Tone::Doubtful, "failed");
            console.line(format_args!("{failed}: {workflow}: {CHANGED}"))
        }
        Err(Halt::Failed(side, error)) => {
            let failed = console.paint(Tone::Doubtful, "failed");
            let message = escape::visible(&error.to_string());
            let side = side.name();
            console.line(format_args!("{failed}: {workflow}: {side}: {message}"))?;
            match advice(error) {
                Some(advice) => console.line(format_args!("  do: {advice}")),
                None => Ok(()),
            }
        }
    }
}

fn moved_words(console: &Console<'_>, workflow: &WorkflowId, moved: Moved) -> String {
    let Moved {
        copied,
        skipped,
        tail,
    } = moved;
    match (copied, skipped) {
        (0, 0) => {
            let empty = console.paint(Tone::Good, "empty");
            format!("{empty}: {workflow}: nothing to copy")
        }
        (0, _) => {
            let unchanged = console.paint(Tone::Good, "unchanged");
            format!(
                "{unchanged}: {workflow}: nothing to copy, rows already there: {skipped}; tail {tail}"
            )
        }
        (_, _) => {
            let done = console.paint(Tone::Good, "copied");
            format!("{done}: {workflow}: rows: {copied}, already there: {skipped}; tail {tail}")
        }
    }
}

fn tell_json(
    console: &mut Console<'_>,
    workflow: &WorkflowId,
    outcome: &Result<Moved, Halt>,
) -> Result<(), Failure> {
    let workflow_id = workflow;
    match outcome {
        Ok(moved) => console.json(&MovedAnswer {
            workflow_id,
            copied_rows: moved.copied,
            skipped_rows: moved.skipped,
            tail: moved.tail,
        }),
        Err(Halt::NotIntact(side, Checked { verdict, pin })) => console.json(&NotIntactAnswer {
            workflow_id,
            side: side.name(),
            verdict,
            pin: *pin,
        }),
        Err(Halt::Refused(refusal)) => console.json(&RefusedAnswer {
            workflow_id,
            refused: reason(*refusal),
        }),
        Err(Halt::Changed) => console.json(&ChangedAnswer {
            workflow_id,
            error: ChangedError {
                kind: "source_changed",
                message: CHANGED,
                retry: true,
            },
        }),
        Err(Halt::Failed(side, error)) => {
            console.json(&Unchecked::new(workflow, error).at(side.name()))
        }
    }
}

fn reason(refusal: Refusal) -> Reason {
    Reason {
        kind: refusal.slug(),
        sequence: refusal.sequence(),
    }
}

/// The text that `piton head` prints and `--expect` takes.
fn as_text<S: Serializer>(tail: &Tail, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(tail)
}
