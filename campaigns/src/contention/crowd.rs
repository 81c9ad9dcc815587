//! Many writers at once, with readers beside them.

use anyhow::{Result, ensure};
use piton_ledger::WorkflowId;

use super::PARTS;
use super::arena::{Arena, Engine};
use crate::evidence::Evidence;
use crate::ledger;
use crate::plan::Plan;
use crate::process::{self, Second};

/// What the kinds are called in each engine.
struct Names {
    one: &'static str,
    many: &'static str,
    readers: &'static str,
}

const SQLITE: Names = Names {
    one: "append by one of many processes to one workflow (SQLite)",
    many: "append by one of many processes to one of many workflows (SQLite)",
    readers: "whole verified read beside writers (SQLite)",
};

const POSTGRES: Names = Names {
    one: "append by one of many processes to one workflow (Postgres)",
    many: "append by one of many processes to one of many workflows (Postgres)",
    readers: "whole verified read beside writers (Postgres)",
};

/// How many appends each process makes in a round.
const EACH: u32 = 12;
const READERS: usize = 2;
/// What keeps the event numbers of two processes apart.
const STRIDE: u32 = 1000;

pub(super) fn run(plan: &Plan, evidence: &mut Evidence, engine: Engine, part: u32) -> Result<()> {
    let names = match engine {
        Engine::Sqlite => SQLITE,
        Engine::Postgres => POSTGRES,
    };
    evidence.announce(&[names.one, names.many, names.readers]);
    let runtime = ledger::runtime()?;
    let end = plan.end_of(part, PARTS);
    let rounds = plan.pick(40, 1);
    let writers = plan.pick(16, 6);
    for round in 0..rounds {
        if round > 0 && std::time::Instant::now() >= end {
            break;
        }
        for (kind, workflows) in [(names.one, 1), (names.many, 4)] {
            let arena = runtime.block_on(Arena::make(engine, &format!("crowd_{round}")))?;
            let workflows: Vec<WorkflowId> = (0..workflows)
                .map(|number| ledger::workflow(&format!("contended-{number}")))
                .collect::<Result<_>>()?;
            let contest = Contest::hold(&arena, &workflows, writers)?;
            for (workflow, lines) in workflows.iter().zip(&contest.written) {
                let rows = runtime.block_on(arena.check(workflow, lines))?;
                let acknowledged = process::acknowledged(lines);
                ensure!(
                    rows == acknowledged,
                    "{rows} rows, and {acknowledged} acknowledged"
                );
                evidence.count(kind, "acknowledged, and in its place", u64::try_from(rows)?);
            }
            evidence.count(names.readers, "an intact prefix", contest.reads);
            runtime.block_on(arena.remove())?;
        }
    }
    Ok(())
}

/// What came of a round.
struct Contest {
    /// What the writers of each workflow said.
    written: Vec<Vec<String>>,
    reads: u64,
}

impl Contest {
    fn hold(arena: &Arena, workflows: &[WorkflowId], writers: usize) -> Result<Self> {
        let place = arena.place();
        let mut seconds = Vec::new();
        for number in 0..writers {
            let workflow = &workflows[number % workflows.len()];
            let first = u32::try_from(number)? * STRIDE + 1;
            let rest = [first.to_string(), EACH.to_string()];
            seconds.push(Second::start("append", &place, workflow, &rest)?);
        }
        let mut readers = Vec::new();
        for number in 0..READERS {
            let workflow = &workflows[number % workflows.len()];
            readers.push(Second::start("watch", &place, workflow, &[])?);
        }
        for second in seconds.iter_mut().chain(&mut readers) {
            second.await_line("ready")?;
        }
        for second in readers.iter_mut().chain(&mut seconds) {
            second.give_the_word()?;
        }
        let mut written = vec![Vec::new(); workflows.len()];
        for (number, second) in seconds.into_iter().enumerate() {
            let lines = second.finish()?;
            ensure!(
                process::acknowledged(&lines) == usize::try_from(EACH)?,
                "a writer was refused: {lines:?}"
            );
            written[number % workflows.len()].extend(lines);
        }
        let mut reads = 0;
        for reader in readers {
            reads += u64::try_from(reader.finish()?.len())?;
        }
        Ok(Self { written, reads })
    }
}
