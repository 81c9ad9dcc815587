//! Kills a process before each of its system calls, and a second one before each of those that it
//! makes while it recovers.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use piton_ledger::{ChainHead, WorkflowId};
use piton_store::{
    CheckpointStore as _, CheckpointStoreExt as _, SealedEvent, StoreError, Tail,
    WorkflowCatalog as _,
};
use piton_testkit::history;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::trace::{self, Call, End};
use super::{PARTS, check, go_on};
use crate::child::Place;
use crate::evidence::Evidence;
use crate::ledger::{self, Finding, Known, LOCK};
use crate::plan::Plan;
use crate::process::{self, Second};
use crate::scratch::{self, Image};
use crate::sweep;

/// How many rows a ledger has before it is written to.
const ROWS: usize = 3;
/// How many events a role appends.
const MORE: usize = 2;

/// What a process was doing when it was killed.
struct Operation {
    kind: &'static str,
    /// The same, when a second one is killed that recovers.
    again: &'static str,
    role: &'static str,
    start: Start,
}

/// What a ledger is like before the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Nothing,
    Closed,
    Crashed,
    DamagedPin,
}

const OPERATIONS: [Operation; 6] = [
    Operation {
        kind: "kill before a system call of the first append",
        again: "kill before a system call of the recovery of a first append",
        role: "append",
        start: Start::Nothing,
    },
    Operation {
        kind: "kill before a system call of an append",
        again: "kill before a system call of the recovery of an append",
        role: "append",
        start: Start::Closed,
    },
    Operation {
        kind: "kill before a system call of an append and the checkpoint at close",
        again: "kill before a system call of the recovery of a checkpoint",
        role: "append-and-close",
        start: Start::Crashed,
    },
    Operation {
        kind: "kill before a system call of a repin",
        again: "kill before a system call of a repeated repin",
        role: "repin",
        start: Start::DamagedPin,
    },
    Operation {
        kind: "kill before a system call of a deletion",
        again: "kill before a system call of a repeated deletion",
        role: "delete",
        start: Start::Crashed,
    },
    Operation {
        kind: "kill before a system call of a read",
        again: "kill before a system call of a repeated read",
        role: "read",
        start: Start::Closed,
    },
];

/// What all operations start from.
struct Specimens {
    workflow: WorkflowId,
    events: Vec<SealedEvent>,
    closed: Image,
    crashed: Image,
}

impl Specimens {
    fn make() -> Result<Self> {
        let workflow = ledger::workflow("killed")?;
        let events = history::first(&workflow, u32::try_from(ROWS + MORE)?);
        let place = scratch::in_memory()?;
        let recording = ledger::record_live(place.path(), &workflow, &events[..ROWS]);
        let crashed = ledger::runtime()?.block_on(recording)?;
        Ok(Self {
            closed: Image::read(&scratch::home(place.path(), &workflow))?,
            crashed,
            workflow,
            events,
        })
    }

    fn image(&self, start: Start) -> Result<Option<Image>> {
        Ok(match start {
            Start::Nothing => None,
            Start::Closed => Some(self.closed.clone()),
            Start::Crashed => Some(self.crashed.clone()),
            Start::DamagedPin => {
                let damaged = vec![0xff; self.closed.file(LOCK)?.len()];
                Some(self.closed.with(LOCK, damaged))
            }
        })
    }

    /// How many rows there are before the operation.
    fn rows(&self, start: Start) -> usize {
        if start == Start::Nothing { 0 } else { ROWS }
    }

    fn arguments(&self, operation: &Operation) -> Vec<String> {
        let rows = self.rows(operation.start);
        match operation.role {
            "append" | "append-and-close" => vec![(rows + 1).to_string(), MORE.to_string()],
            "repin" => vec![tail(&self.events[..ROWS]).to_string()],
            _ => Vec::new(),
        }
    }
}

fn tail(events: &[SealedEvent]) -> Tail {
    let head = |prior: ChainHead, event: &SealedEvent| event.link(&prior);
    let head = events.iter().fold(ChainHead::GENESIS, head);
    events.iter().fold(Tail::Empty, |tail, _| {
        tail.next_sequence()
            .map_or(tail, |sequence| Tail::At { sequence, head })
    })
}

pub(super) fn run(plan: &Plan, evidence: &mut Evidence) -> Result<()> {
    for operation in &OPERATIONS {
        evidence.announce(&[operation.kind, operation.again]);
    }
    let specimens = Specimens::make()?;
    let mut calls = Vec::new();
    for operation in &OPERATIONS {
        calls.push(Trial::new(&specimens, operation)?.list()?);
    }
    once(plan, evidence, &specimens, &calls)?;
    twice(plan, evidence, &specimens, &calls)
}

/// Kills each operation before each of its calls.
fn once(
    plan: &Plan,
    evidence: &mut Evidence,
    specimens: &Specimens,
    calls: &[Vec<Call>],
) -> Result<()> {
    let points: Vec<(usize, usize)> = calls
        .iter()
        .enumerate()
        .flat_map(|(operation, calls)| (1..=calls.len()).map(move |nth| (operation, nth)))
        .collect();
    evidence.figure(
        "system calls of all operations",
        u64::try_from(points.len())?,
    );
    // A sample has more of those that write.
    let stratum = |index: usize| {
        let (operation, nth) = points[index];
        let is_write = calls[operation][nth - 1].is_write();
        operation * 2 + usize::from(is_write)
    };
    let order = sweep::order(
        points.len(),
        plan.pick(points.len(), 150),
        &mut plan.random("calls"),
        stratum,
    );
    let swept = sweep::sweep(
        &order,
        plan.end_of(1, PARTS),
        |_| ledger::runtime(),
        |runtime, index| {
            let (operation, nth) = points[index];
            let trial = Trial::new(specimens, &OPERATIONS[operation])?;
            let heard = trial
                .kill(nth)
                .with_context(|| format!("{}, call {nth}", OPERATIONS[operation].kind))?;
            let outcome = trial
                .judge(runtime, &heard)
                .with_context(|| format!("{}, call {nth}", OPERATIONS[operation].kind))?;
            Ok(format!("{operation} {outcome}"))
        },
    )?;
    count(evidence, swept, |operation| operation.kind)
}

/// Kills an operation, and then the one that repeats it.
fn twice(
    plan: &Plan,
    evidence: &mut Evidence,
    specimens: &Specimens,
    calls: &[Vec<Call>],
) -> Result<()> {
    let mut random = plan.random("recovery");
    let each = plan.pick(150, 8);
    let pairs: Vec<(usize, usize, usize)> = (0..each)
        .flat_map(|_| 0..OPERATIONS.len())
        .map(|operation| {
            let any = 1..=calls[operation].len();
            (operation, random.usize(any.clone()), random.usize(any))
        })
        .collect();
    let order: Vec<usize> = (0..pairs.len()).collect();
    let swept = sweep::sweep(
        &order,
        plan.end_of(2, PARTS),
        |_| ledger::runtime(),
        |runtime, index| {
            let (operation, first, second) = pairs[index];
            let trial = Trial::new(specimens, &OPERATIONS[operation])?;
            let what = || {
                format!(
                    "{}, calls {first} and {second}",
                    OPERATIONS[operation].again
                )
            };
            let mut heard = trial.kill(first).with_context(what)?;
            let again = trial.kill(second).with_context(what)?;
            let is_killed = again.is_killed;
            // What is acknowledged twice is one event.
            if process::acknowledged(&again.lines) > process::acknowledged(&heard.lines) {
                heard.lines = again.lines;
            }
            heard.is_killed = is_killed;
            let outcome = trial.judge(runtime, &heard).with_context(what)?;
            Ok(format!("{operation} {outcome}"))
        },
    )?;
    count(evidence, swept, |operation| operation.again)
}

/// The outcome of a process that had ended before its turn came: no injection.
const NOT_KILLED: &str = "ended before its turn";

fn count(
    evidence: &mut Evidence,
    swept: sweep::Tally,
    kind: impl Fn(&Operation) -> &'static str,
) -> Result<()> {
    for (label, count) in swept {
        let (operation, outcome) = label.split_once(' ').context("a label has two parts")?;
        let operation: usize = operation.parse()?;
        if outcome == NOT_KILLED {
            evidence.add_figure("processes that ended before their turn to be killed", count);
        } else {
            evidence.count(kind(&OPERATIONS[operation]), outcome, count);
        }
    }
    Ok(())
}

/// What a process said, and whether it was killed.
struct Heard {
    lines: Vec<String>,
    is_killed: bool,
}

/// One ledger and one operation on it.
struct Trial<'a> {
    specimens: &'a Specimens,
    operation: &'a Operation,
    root: TempDir,
}

impl<'a> Trial<'a> {
    fn new(specimens: &'a Specimens, operation: &'a Operation) -> Result<Self> {
        let root = scratch::in_memory()?;
        if let Some(image) = specimens.image(operation.start)? {
            image.write(&scratch::home(root.path(), &specimens.workflow))?;
        }
        Ok(Self {
            specimens,
            operation,
            root,
        })
    }

    fn start(&self) -> Result<Second> {
        let place = Place::Sqlite(self.root().to_owned());
        let arguments = self.specimens.arguments(self.operation);
        let workflow = &self.specimens.workflow;
        let mut second = Second::start(self.operation.role, &place, workflow, &arguments)?;
        second.await_line("ready")?;
        Ok(second)
    }

    fn root(&self) -> &Path {
        self.root.path()
    }

    fn list(&self) -> Result<Vec<Call>> {
        let calls = trace::list(&mut self.start()?)?;
        ensure!(
            calls.iter().any(|call| call.is_write()),
            "the tracer sees {} calls, and none that writes",
            calls.len()
        );
        Ok(calls)
    }

    fn kill(&self, nth: usize) -> Result<Heard> {
        let mut second = self.start()?;
        let end = trace::kill_at(&mut second, nth)?;
        Ok(Heard {
            lines: second.rest()?,
            is_killed: end == End::Killed,
        })
    }

    /// Checks what is left, finishes the operation, and checks again.
    fn judge(&self, runtime: &Runtime, heard: &Heard) -> Result<String> {
        let outcome = match self.operation.role {
            "repin" => runtime.block_on(self.judge_repin())?,
            "delete" => runtime.block_on(self.judge_delete())?,
            _ => runtime.block_on(self.judge_append(heard))?,
        };
        Ok(if heard.is_killed {
            outcome
        } else {
            NOT_KILLED.to_owned()
        })
    }

    async fn judge_append(&self, heard: &Heard) -> Result<String> {
        let Specimens {
            workflow, events, ..
        } = self.specimens;
        let rows = self.specimens.rows(self.operation.start);
        let appends = self.operation.role != "read";
        let attempted = if appends {
            &events[..rows + MORE]
        } else {
            &events[..rows]
        };
        let acknowledged = rows + process::acknowledged(&heard.lines);
        let store = ledger::open(self.root())?;
        let found = check(&store, workflow, attempted, acknowledged).await?;
        go_on(&store, workflow, attempted).await?;
        store.close().await?;
        Ok(format!("intact, {} rows more, and goes on", found - rows))
    }

    /// A pin that can't be read is refused until the repin is done.
    async fn judge_repin(&self) -> Result<String> {
        let Specimens {
            workflow, events, ..
        } = self.specimens;
        let known = Known::exactly(&events[..ROWS]);
        let before = ledger::judge(self.root(), workflow, known, None).await?;
        let allowed = Finding::Unreadable("the pin is damaged".to_owned());
        ensure!(
            before == Finding::Same || before == allowed,
            "after a repin that was killed: {}",
            before.label()
        );
        let store = ledger::open(self.root())?;
        let accepted = tail(&events[..ROWS]);
        piton_verify::repin::<piton_ledger::VulnState, _>(&store, workflow, accepted).await?;
        check(&store, workflow, &events[..ROWS], ROWS).await?;
        go_on(&store, workflow, &events[..ROWS]).await?;
        store.close().await?;
        Ok(format!("{}; then repinned, and goes on", before.label()))
    }

    /// A deletion that was cut short is refused, or the ledger is whole, or gone; never a part.
    async fn judge_delete(&self) -> Result<String> {
        let Specimens {
            workflow, events, ..
        } = self.specimens;
        let store = ledger::open(self.root())?;
        let known = Known::exactly(&events[..ROWS]);
        let before = ledger::examine_store(&store, workflow, known, None).await?;
        let label = match &before {
            Finding::Older => {
                let rows = store.collect_rows(workflow).await?.len();
                ensure!(rows == 0, "half a deletion left {rows} rows that verify");
                "gone".to_owned()
            }
            Finding::Same => "whole".to_owned(),
            Finding::Refused(_) | Finding::Unreadable(_) => before.label(),
        };
        match store.delete(workflow).await {
            Ok(()) | Err(StoreError::UnknownWorkflow { .. }) => {}
            Err(error) => return Err(error).context("the deletion can't be repeated"),
        }
        go_on(&store, workflow, &[]).await?;
        store.close().await?;
        Ok(format!("{label}; then deleted, and begins anew"))
    }
}
