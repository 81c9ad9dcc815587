//! Owns `demo`: a recorded workflow, killed, verified, resumed, completed, and then falsified.
//! It works in a temporary directory and touches no ledger of the user.

mod ledger;
mod recorder;

use std::path::Path;

use piton_ledger::{StateMachine, TransitionEvent, WorkflowId};
use piton_store::seal;
use piton_verify::{
    AuditVerdict, Hydrated, HydrationResult, MismatchCause, ReplayVerdict, integrity_message,
};

use self::ledger::{audit, copy, falsify, replay};
use self::recorder::Recorder;
use crate::command::Context;
use crate::console::{Console, Tone};
use crate::event_line::{EventLine, Mint};
use crate::exit::ExitStatus;
use crate::failure::{Failure, LineError};

/// Record a real workflow, kill the recorder, verify, resume, and see tampering refused
///
/// Works on SQLite in a temporary directory, which is removed at the end.
#[derive(Debug, clap::Args)]
pub(crate) struct Demo {}

impl Demo {
    pub(crate) async fn run<M: StateMachine>(
        self,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let recorded = context.recorded.ok_or(Failure::Usage(
            "this binary has no recorded workflow to play",
        ))?;
        let story = Story::<M>::read(recorded)?;
        let directory = tempfile::tempdir().map_err(failed("make a temporary directory"))?;
        let played = story.play(directory.path(), context, console).await;
        directory
            .close()
            .map_err(failed("remove the temporary directory"))?;
        played?;
        console.line("done: everything went as told; the temporary ledger is removed")?;
        Ok(ExitStatus::Done)
    }
}

/// Says what the demo was doing when something failed.
fn failed<E: std::fmt::Display>(action: &'static str) -> impl Fn(E) -> Failure {
    move |error| Failure::Demo(format!("could not {action}: {error}"))
}

/// Makes the failure that something went otherwise than told.
fn off_script(what: &str) -> Failure {
    Failure::Demo(what.to_owned())
}

/// A recorded workflow.
struct Story<M: StateMachine> {
    workflow: WorkflowId,
    lines: Vec<&'static str>,
    events: Vec<TransitionEvent<M>>,
}

impl<M: StateMachine> Story<M> {
    fn read(recorded: &'static str) -> Result<Self, Failure> {
        let mut mint = Mint::new();
        let lines: Vec<&str> = recorded.lines().collect();
        let events = lines
            .iter()
            .map(|line| Ok(EventLine::parse(line.as_bytes(), &mut mint)?.event))
            .collect::<Result<Vec<TransitionEvent<M>>, LineError>>()
            .map_err(failed("read the recorded workflow"))?;
        let first = events
            .first()
            .ok_or_else(|| off_script("the recorded workflow is empty"))?;
        Ok(Self {
            workflow: first.workflow_id().clone(),
            lines,
            events,
        })
    }

    async fn play(
        &self,
        directory: &Path,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<(), Failure> {
        let root = directory.join("ledger");
        let killed_after = self.lines.len() / 2;
        let acknowledged = self.record_and_kill(&root, killed_after, console)?;
        let hydrated = self.hydrate(&root, context, &acknowledged, console).await?;
        self.resume(&root, &hydrated, killed_after, console)?;
        self.check_complete(&root, context, console).await?;
        let copied = directory.join("copy");
        self.tamper(&root, &copied, context, console).await
    }

    /// Records in a child process, and kills it between an event and its acknowledgement.
    fn record_and_kill(
        &self,
        root: &Path,
        killed_after: usize,
        console: &mut Console<'_>,
    ) -> Result<Vec<recorder::Acknowledged>, Failure> {
        console.line(format_args!(
            "1. a child process records {} on SQLite",
            self.workflow
        ))?;
        let mut recorder = Recorder::start(root)?;
        let mut acknowledged = Vec::new();
        for (line, event) in self.lines.iter().zip(&self.events).take(killed_after) {
            recorder.send(line)?;
            acknowledged.push(self.hear(&mut recorder, event, console)?);
        }
        let unanswered = killed_after.saturating_add(1);
        if let Some(line) = self.lines.get(killed_after) {
            recorder.send(line)?;
        }
        recorder.kill()?;
        console.line(format_args!(
            "2. event {unanswered} is sent, and the child killed (SIGKILL) before it answers"
        ))?;
        console.flush()?;
        Ok(acknowledged)
    }

    fn hear(
        &self,
        recorder: &mut Recorder,
        event: &TransitionEvent<M>,
        console: &mut Console<'_>,
    ) -> Result<recorder::Acknowledged, Failure> {
        let answer = recorder.hear()?;
        console.line(format_args!(
            "   {}  {:24} {:16} {}",
            answer.sequence,
            event.next_state_id().slug(),
            answer.status,
            answer.next_head,
        ))?;
        console.flush()?;
        Ok(answer)
    }

    /// Verifies what the dead child left behind.
    async fn hydrate(
        &self,
        root: &Path,
        context: Context<'_>,
        acknowledged: &[recorder::Acknowledged],
        console: &mut Console<'_>,
    ) -> Result<Hydrated<M>, Failure> {
        let result = HydrationResult::from(replay::<M>(root, context, &self.workflow).await?);
        let hydrated = match result {
            HydrationResult::Hydrated(hydrated) => hydrated,
            HydrationResult::FailedUnrecoverable(_) => {
                return Err(off_script(
                    "the kill damaged the ledger, which it never may",
                ));
            }
        };
        let kept = hydrated.events.len();
        if kept < acknowledged.len() {
            return Err(off_script("an acknowledged event was lost"));
        }
        let intact = console.paint(Tone::Good, "intact");
        console.line(format_args!(
            "3. the whole chain is recomputed: {intact}, {kept} events, {} of them acknowledged; \
             resume from {}",
            acknowledged.len(),
            hydrated.latest_state_kind.slug()
        ))?;
        Ok(hydrated)
    }

    /// Sends what was not acknowledged, so one event may be sent twice.
    fn resume(
        &self,
        root: &Path,
        hydrated: &Hydrated<M>,
        killed_after: usize,
        console: &mut Console<'_>,
    ) -> Result<(), Failure> {
        console.line(
            "4. a second child resumes with the unanswered event; sending it again is safe",
        )?;
        let mut recorder = Recorder::start(root)?;
        let rest = self.lines.iter().zip(&self.events).enumerate();
        for (position, (line, event)) in rest.skip(killed_after) {
            recorder.send(line)?;
            let answer = self.hear(&mut recorder, event, console)?;
            let expected = if position < hydrated.events.len() {
                "already_present"
            } else {
                "appended"
            };
            if answer.status != expected {
                return Err(off_script("an event was recorded twice or not at all"));
            }
        }
        recorder.finish()
    }

    async fn check_complete(
        &self,
        root: &Path,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<(), Failure> {
        let (tail_chain_head, events) = match replay::<M>(root, context, &self.workflow).await? {
            ReplayVerdict::Verified {
                tail_chain_head,
                events,
            } => (tail_chain_head, events),
            ReplayVerdict::EmptyWorkflow { .. }
            | ReplayVerdict::ChainMismatch(_)
            | ReplayVerdict::TornWrite(_) => {
                return Err(off_script("the finished chain is not intact"));
            }
        };
        let ids = |events: &[TransitionEvent<M>]| -> Vec<_> {
            events.iter().map(TransitionEvent::transition_id).collect()
        };
        if ids(&events) != ids(&self.events) {
            return Err(off_script(
                "the finished chain does not hold each event once and in order",
            ));
        }
        let intact = console.paint(Tone::Good, "intact");
        let last = events
            .last()
            .map_or(M::INITIAL, TransitionEvent::next_state_id);
        console.line(format_args!(
            "5. the finished chain is {intact}: {} events, each once, in order; {}",
            events.len(),
            last.slug()
        ))?;
        console.line(format_args!("   tail {tail_chain_head}"))?;
        let mut redacted = 0usize;
        for event in &self.events {
            let sealed = seal(event).map_err(failed("seal an event"))?;
            let counts = sealed.redactions().iter().map(|redaction| redaction.count);
            redacted = redacted.saturating_add(counts.sum());
        }
        console.line(format_args!(
            "   secrets replaced before they reached the disk: {redacted}"
        ))
    }

    /// Falsifies a copy by one bit, and has it refused.
    async fn tamper(
        &self,
        root: &Path,
        copied: &Path,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<(), Failure> {
        copy(root, copied, &self.workflow)?;
        let position = falsify(copied, context, &self.workflow).await?;
        console.line(format_args!(
            "6. in a copy one bit of event {} is flipped: the failing gate's exit code 1 is now 0",
            position.saturating_add(1)
        ))?;
        let verdict = replay::<M>(copied, context, &self.workflow).await?;
        let mismatch = match &verdict {
            ReplayVerdict::ChainMismatch(mismatch) => mismatch,
            ReplayVerdict::Verified { .. }
            | ReplayVerdict::EmptyWorkflow { .. }
            | ReplayVerdict::TornWrite(_) => {
                return Err(off_script("the falsified copy was not refused"));
            }
        };
        if usize::try_from(mismatch.divergence_index) != Ok(position)
            || mismatch.cause != MismatchCause::NextHead
        {
            return Err(off_script(
                "the falsified copy was refused for another reason",
            ));
        }
        let message = integrity_message(&verdict).unwrap_or_default();
        match HydrationResult::from(verdict) {
            HydrationResult::FailedUnrecoverable(_) => {}
            HydrationResult::Hydrated(_) => {
                return Err(off_script("the falsified copy could be resumed"));
            }
        }
        let refused = console.paint(Tone::Bad, "refused");
        console.line(format_args!(
            "7. the copy is {refused}, before any work restarts:"
        ))?;
        console.line(format_args!(
            "   failed_unrecoverable: checkpoint_integrity"
        ))?;
        console.line(format_args!("   {message}"))?;
        match audit::<M>(root, context, &self.workflow).await? {
            AuditVerdict::Verified { .. } => console.line("8. the original is still intact"),
            AuditVerdict::EmptyWorkflow { .. }
            | AuditVerdict::ChainMismatch(_)
            | AuditVerdict::TornWrite(_) => Err(off_script("the original is not intact")),
        }
    }
}
