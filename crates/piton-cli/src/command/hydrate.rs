//! Owns `hydrate`: the verified events of a workflow, or its terminal failure. The mapping from
//! verdict to result belongs to the verifier.

use piton_ledger::{StateMachine, WorkflowId};
use piton_store::{AnyStore, Tail};
use piton_verify::{Expectations, HydrationResult, PinPolicy, ReplayVerifier};

use crate::command::{Context, Format};
use crate::console::{Console, Tone};
use crate::exit::ExitStatus;
use crate::failure::{Failure, Unchecked};
use crate::store::{StoreArgument, closing};

/// Verify a workflow and print what an orchestrator may resume from
#[derive(Debug, clap::Args)]
pub(crate) struct Hydrate {
    #[command(flatten)]
    store: StoreArgument,

    /// The workflow to hydrate
    workflow: WorkflowId,

    /// A tail that the chain is known to have had, as `piton head` printed it
    #[arg(long, value_name = "SEQ:HEAD")]
    expect: Option<Tail>,

    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
}

impl Hydrate {
    pub(crate) async fn run<M: StateMachine>(
        self,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let store = self.store.open_to_read(context.busy_timeout, console)?;
        let outcome = self.hydrate::<M>(&store, console).await;
        closing(store, outcome).await
    }

    async fn hydrate<M: StateMachine>(
        &self,
        store: &AnyStore,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let expectations = Expectations {
            pin: PinPolicy::Enforce,
            expected: self.expect,
        };
        let checked = ReplayVerifier::new(store)
            .verify_against::<M>(&self.workflow, expectations)
            .await;
        let verdict = match (checked, self.format) {
            (Ok(checked), _) => checked.verdict,
            (Err(error), Format::Text) => return Err(error.into()),
            (Err(error), Format::Json) => {
                console.json(&Unchecked::new(&self.workflow, &error))?;
                return Ok(ExitStatus::CouldNotCheck);
            }
        };
        let status = ExitStatus::from(&verdict);
        let result = HydrationResult::from(verdict);
        match self.format {
            Format::Json => console.json(&result)?,
            Format::Text => tell(console, &self.workflow, &result)?,
        }
        Ok(status)
    }
}

fn tell<M: StateMachine>(
    console: &mut Console<'_>,
    workflow: &WorkflowId,
    result: &HydrationResult<M>,
) -> Result<(), Failure> {
    match result {
        HydrationResult::Hydrated(hydrated) => {
            let verdict = console.paint(Tone::Good, "hydrated");
            let state = hydrated.latest_state_kind;
            console.line(format_args!("{verdict}: {workflow}: {}", state.slug()))?;
            match hydrated.events.len() {
                0 => console.line("  events: none; nothing is recorded")?,
                count => console.line(format_args!("  events: {count}"))?,
            }
            console.line(format_args!("  tail: {}", hydrated.tail_chain_head))?;
            console.line(if state.is_terminal() {
                "  do: nothing; this state is terminal without outside input"
            } else {
                "  do: resume, and append with this tail as the expected head"
            })
        }
        HydrationResult::FailedUnrecoverable(failed) => {
            let verdict = console.paint(Tone::Bad, "failed_unrecoverable");
            console.line(format_args!("{verdict}: {workflow}: checkpoint integrity"))?;
            if let Some(error) = &failed.error {
                console.line(format_args!("  where: {}", error.message))?;
            }
            console.line("  do: do not resume; run `piton verify` and restore from a backup")
        }
    }
}
