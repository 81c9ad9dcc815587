//! Owns `verify`: one verdict a workflow. It turns no verdict into policy.

use piton_ledger::{StateMachine, WorkflowId};
use piton_store::{AnyStore, StoreError, Tail, WorkflowCatalog as _};
use piton_verify::{Checked, Expectations, PinPolicy, PinStatus, ReplayVerifier};
use serde::Serialize;

use crate::command::{Context, Format};
use crate::console::{Console, Tone};
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
            self.store.open(context.busy_timeout)?
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
        let mut worst = ExitStatus::Done;
        for workflow in self.workflows.iter().chain(&listed) {
            // The walk goes on even if nobody reads: the exit code is an answer too.
            let status = match self.verify_one::<M>(workflow, store, console).await? {
                Ok(status) => status,
                Err(error) => self.tell_unchecked(workflow, &error, console)?,
            };
            worst = worst.worse(status);
        }
        Ok(worst)
    }

    async fn verify_one<M: StateMachine>(
        &self,
        workflow: &WorkflowId,
        store: &AnyStore,
        console: &mut Console<'_>,
    ) -> Result<Result<ExitStatus, StoreError>, Failure> {
        let verifier = ReplayVerifier::new(store);
        let expectations = Expectations {
            pin: if self.ignore_pin {
                PinPolicy::Ignore
            } else {
                PinPolicy::Enforce
            },
            expected: self.expect,
        };
        if self.events {
            let checked = verifier.verify_against::<M>(workflow, expectations).await;
            let Checked { verdict, pin } = match checked {
                Ok(checked) => checked,
                Err(error) => return Ok(Err(error)),
            };
            let status = ExitStatus::from(&verdict);
            console.json(&Answer {
                workflow_id: workflow,
                verdict,
                pin,
            })?;
            return Ok(Ok(status));
        }
        let bar = progress::bar(workflow, store, console).await;
        let checked = verifier
            .audit::<M>(workflow, expectations, |rows| {
                if let Some(bar) = &bar {
                    bar.set_position(rows);
                }
            })
            .await;
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        let Checked { verdict, pin } = match checked {
            Ok(checked) => checked,
            Err(error) => return Ok(Err(error)),
        };
        let status = ExitStatus::from(&verdict);
        match self.format {
            Format::Text => report::tell(console, workflow, &verdict, pin)?,
            Format::Json => console.json(&Answer {
                workflow_id: workflow,
                verdict,
                pin,
            })?,
        }
        Ok(Ok(status))
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
