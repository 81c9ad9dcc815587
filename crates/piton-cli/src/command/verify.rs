//! Owns `verify`: one verdict a workflow. It turns no verdict into policy.

use futures_util::{StreamExt as _, stream};
use piton_ledger::{StateMachine, WorkflowId};
use piton_store::{AnyStore, StoreError, Tail, WorkflowCatalog as _};
use piton_verify::{
    AuditVerdict, Checked, Expectations, PinPolicy, PinStatus, ReplayVerdict, ReplayVerifier,
};
use serde::Serialize;

use crate::command::{Context, Format, cores};
use crate::console::{Console, Progress, Tone};
use crate::escape;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Unchecked, advice};
use crate::progress;
use crate::report;
use crate::store::{StoreArgument, closing};

/// Recompute whole chains and say whether they are intact
#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    store: StoreArgument,

    /// The workflows to verify
    #[arg(value_name = "WORKFLOW", required_unless_present = "all")]
    workflows: Vec<WorkflowId>,

    /// Verify every workflow of the store
    #[arg(long, conflicts_with_all = ["workflows", "expect"])]
    all: bool,

    /// A tail that the chain is known to have had, as `piton head` printed it
    #[arg(long, value_name = "SEQ:HEAD")]
    expect: Option<Tail>,

    /// Do not hold the rows against the store's pin: for a copy of the database alone
    #[arg(long)]
    ignore_pin: bool,

    /// Include the events of an intact chain; goes with `--format json`
    #[arg(long)]
    events: bool,

    /// How the verdicts are written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The JSON form of one verdict.
#[derive(Debug, Serialize)]
struct Answer<'a, V> {
    workflow_id: &'a WorkflowId,
    verdict: V,
    pin: PinStatus,
}

impl Verify {
    /// Whether there may be work for more than one core.
    pub(crate) fn walks_many(&self) -> bool {
        self.all || self.workflows.len() > 1
    }

    pub(crate) async fn run<M: StateMachine>(
        self,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        if self.expect.is_some() && self.workflows.len() != 1 {
            return Err(Failure::Usage("--expect goes with exactly one workflow"));
        }
        if self.events && self.format == Format::Text {
            return Err(Failure::Usage("--events goes with --format json"));
        }
        let store = if self.all {
            self.store.open_present(context.busy_timeout)?
        } else {
            self.store.open_to_read(context.busy_timeout, console)?
        };
        let outcome = self.verify_all::<M>(&store, console).await;
        closing(store, outcome).await
    }

    async fn verify_all<M: StateMachine>(
        &self,
        store: &AnyStore,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let listed = if self.all {
            store.list().await?
        } else {
            Vec::new()
        };
        if self.all && listed.is_empty() && self.format == Format::Text {
            console.complain("the store holds no workflow");
        }
        let workflows: Vec<_> = self.workflows.iter().chain(&listed).cloned().collect();
        let (bar, progress) = match workflows.len() {
            0 | 1 => (None, console.progress()),
            count => (
                progress::bar_of_many(count, console.progress()),
                Progress::Hidden,
            ),
        };
        // Events are kept until they are told, so they are not read ahead.
        let at_once = if self.events { 1 } else { cores() };
        let mut walks = stream::iter(workflows)
            .map(|workflow| {
                let walk = Walk {
                    store: store.clone(),
                    workflow,
                    expectations: self.expectations(),
                    progress,
                };
                if self.events {
                    tokio::spawn(walk.replay::<M>())
                } else {
                    tokio::spawn(walk.audit::<M>())
                }
            })
            .buffered(at_once);
        let mut worst = ExitStatus::Done;
        // Told in the order of the workflows, though later ones are walked meanwhile.
        while let Some(walked) = walks.next().await {
            let Walked { workflow, answer } =
                walked.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
            if let Some(bar) = &bar {
                bar.inc(1);
            }
            // The walk goes on even if nobody reads: the exit code is an answer too.
            let status = match answer {
                Ok(Verdict::Audited(Checked { verdict, pin })) => {
                    self.tell_audited(&workflow, verdict, pin, console)?
                }
                Ok(Verdict::Replayed(Checked { verdict, pin })) => {
                    let status = ExitStatus::from(&verdict);
                    console.json(&Answer {
                        workflow_id: &workflow,
                        verdict,
                        pin,
                    })?;
                    status
                }
                Err(error) => self.tell_unchecked(&workflow, &error, console)?,
            };
            worst = worst.worse(status);
        }
        Ok(worst)
    }

    fn expectations(&self) -> Expectations {
        Expectations {
            pin: if self.ignore_pin {
                PinPolicy::Ignore
            } else {
                PinPolicy::Enforce
            },
            expected: self.expect,
        }
    }

    fn tell_audited(
        &self,
        workflow: &WorkflowId,
        verdict: AuditVerdict,
        pin: PinStatus,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let status = ExitStatus::from(&verdict);
        match self.format {
            Format::Text => report::tell(console, workflow, &verdict, pin)?,
            Format::Json => console.json(&Answer {
                workflow_id: workflow,
                verdict,
                pin,
            })?,
        }
        Ok(status)
    }

    fn tell_unchecked(
        &self,
        workflow: &WorkflowId,
        error: &StoreError,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        match self.format {
            Format::Json => console.json(&Unchecked::new(workflow, error))?,
            Format::Text => {
                let doubt = console.paint(Tone::Doubtful, "could not check");
                console.line(format_args!(
                    "{doubt}: {workflow}: neither intact nor tampered"
                ))?;
                let message = escape::visible(&error.to_string());
                console.line(format_args!("  why: {message}"))?;
                if let Some(advice) = advice(error) {
                    console.line(format_args!("  do: {advice}"))?;
                }
            }
        }
        // A chain that contradicts its pin is a verdict, so an error is never one.
        Ok(ExitStatus::CouldNotCheck)
    }
}

/// One chain to be recomputed, in a task of its own.
struct Walk {
    store: AnyStore,
    workflow: WorkflowId,
    expectations: Expectations,
    progress: Progress,
}

/// What became of one.
struct Walked<M: StateMachine> {
    workflow: WorkflowId,
    answer: Result<Verdict<M>, StoreError>,
}

enum Verdict<M: StateMachine> {
    Audited(Checked<AuditVerdict>),
    Replayed(Checked<ReplayVerdict<M>>),
}

impl Walk {
    async fn replay<M: StateMachine>(self) -> Walked<M> {
        let checked = ReplayVerifier::new(&self.store)
            .verify_against::<M>(&self.workflow, self.expectations)
            .await;
        Walked {
            workflow: self.workflow,
            answer: checked.map(Verdict::Replayed),
        }
    }

    async fn audit<M: StateMachine>(self) -> Walked<M> {
        let bar = progress::bar(&self.workflow, &self.store, self.progress).await;
        let checked = ReplayVerifier::new(&self.store)
            .audit::<M>(&self.workflow, self.expectations, |rows| {
                if let Some(bar) = &bar {
                    bar.set_position(rows);
                }
            })
            .await;
        Walked {
            workflow: self.workflow,
            answer: checked.map(Verdict::Audited),
        }
    }
}
