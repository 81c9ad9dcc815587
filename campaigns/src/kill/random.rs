//! Kills a process that appends without end, at instants that the seed chooses and the machine's
//! load shifts.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use piton_ledger::WorkflowId;
use piton_store::{CheckpointStore, SealedEvent};
use piton_testkit::history;

use super::{PARTS, check, go_on};
use crate::child::Place;
use crate::evidence::Evidence;
use crate::ledger;
use crate::plan::Plan;
use crate::process::{self, Second};
use crate::scratch;
use crate::server::Schema;
use crate::sweep;

const SQLITE: &str = "kill at a random instant of an endless writer (SQLite)";
const POSTGRES: &str = "kill at a random instant of an endless writer (Postgres)";

/// How often one ledger is written to by a process that is killed.
const ROUNDS: usize = 10;
const LONGEST: Duration = Duration::from_millis(25);

pub(super) fn run(plan: &Plan, evidence: &mut Evidence) -> Result<()> {
    evidence.announce(&[SQLITE, POSTGRES]);
    for (kind, part, most) in [
        (SQLITE, 3, plan.pick(1000, 4)),
        (POSTGRES, 4, plan.pick(200, 2)),
    ] {
        let order: Vec<usize> = (0..most).collect();
        let acknowledged = std::sync::atomic::AtomicU64::new(0);
        let kills = std::sync::Mutex::new(sweep::Tally::new());
        sweep::sweep(
            &order,
            plan.end_of(part, PARTS),
            |_| ledger::runtime(),
            |runtime, index| {
                let mut random = plan.random(&format!("{kind} {index}"));
                let workflow = ledger::workflow(&format!("killed-{index}"))?;
                let mut series = Series {
                    workflow,
                    random: &mut random,
                    acknowledged: 0,
                    outcomes: sweep::Tally::new(),
                };
                if kind == SQLITE {
                    let root = scratch::in_memory()?;
                    let place = Place::Sqlite(root.path().to_owned());
                    runtime.block_on(series.run(&place, || Ok(ledger::open(root.path())?)))?;
                } else {
                    let name = format!("kill_{index}");
                    let schema = runtime.block_on(Schema::make(&name))?;
                    let place = Place::Postgres(schema.name.to_string());
                    runtime.block_on(series.run(&place, || schema.store()))?;
                    runtime.block_on(schema.remove())?;
                }
                acknowledged.fetch_add(series.acknowledged, std::sync::atomic::Ordering::Relaxed);
                if let Ok(mut kills) = kills.lock() {
                    for (outcome, count) in series.outcomes {
                        *kills.entry(outcome).or_default() += count;
                    }
                }
                Ok(String::new())
            },
        )?;
        evidence.swept(kind, kills.into_inner().unwrap_or_default());
        evidence.add_figure(
            "events acknowledged to writers that were killed",
            acknowledged.into_inner(),
        );
    }
    Ok(())
}

/// One ledger, written to by one killed process after another.
struct Series<'a> {
    workflow: WorkflowId,
    random: &'a mut fastrand::Rng,
    acknowledged: u64,
    outcomes: sweep::Tally,
}

impl Series<'_> {
    async fn run<S: CheckpointStore>(
        &mut self,
        place: &Place,
        open: impl Fn() -> Result<S>,
    ) -> Result<()> {
        let mut rows = 0;
        for round in 0..ROUNDS {
            let mut second = Second::start("append-for-ever", place, &self.workflow, &[])?;
            let mut heard = Vec::new();
            // Half of the kills fall into the opening, half among appends.
            if round % 2 == 1 {
                heard.extend(second.hear()?);
            }
            let wait = LONGEST.mul_f64(self.random.f64());
            let begun = Instant::now();
            while begun.elapsed() < wait {
                std::hint::spin_loop();
            }
            heard.extend(second.kill()?);
            let acknowledged = process::acknowledged(&heard);
            let attempted = self.attempted(rows + acknowledged + 1)?;
            let store = open()?;
            let after = check(&store, &self.workflow, &attempted, rows + acknowledged)
                .await
                .with_context(|| format!("round {round}"))?;
            // A server may still carry out what it was sent, and a killed client's event with it.
            let outcome = match (acknowledged, after - rows - acknowledged) {
                (0, 0) => "nothing acknowledged, nothing lost",
                (_, 0) => "all that was acknowledged is there",
                (_, _) => "all that was acknowledged is there, and the event in flight",
            };
            *self.outcomes.entry(outcome.to_owned()).or_default() += 1;
            self.acknowledged += u64::try_from(acknowledged)?;
            go_on(&store, &self.workflow, &attempted).await?;
            store.close().await?;
            rows = attempted.len() + 1;
        }
        Ok(())
    }

    fn attempted(&self, count: usize) -> Result<Vec<SealedEvent>> {
        Ok(history::first(&self.workflow, u32::try_from(count)?))
    }
}
