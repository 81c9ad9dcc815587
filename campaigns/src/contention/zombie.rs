//! Holders of the lock that die, stand still, or wake after they have lost it.

use anyhow::{Context as _, Result, ensure};
use piton_ledger::WorkflowId;

use super::PARTS;
use super::arena::{Arena, Engine};
use crate::evidence::Evidence;
use crate::ledger::{self, LOCK};
use crate::plan::Plan;
use crate::process::{self, Second};
use crate::scratch;

/// What the kinds are called in each engine.
struct Names {
    dies: &'static str,
    stands: &'static str,
    wakes: &'static str,
}

const SQLITE: Names = Names {
    dies: "holder of the lock killed before a waiter (SQLite)",
    stands: "writer stopped at a random instant before an impatient one (SQLite)",
    wakes: "zombie that wakes after its lock was lost (SQLite)",
};

const POSTGRES: Names = Names {
    dies: "holder of the lock killed before a waiter (Postgres)",
    stands: "writer stopped at a random instant before an impatient one (Postgres)",
    wakes: "zombie that wakes after its lock was lost (Postgres)",
};

pub(super) fn run(plan: &Plan, evidence: &mut Evidence, engine: Engine, part: u32) -> Result<()> {
    let names = match engine {
        Engine::Sqlite => SQLITE,
        Engine::Postgres => POSTGRES,
    };
    evidence.announce(&[names.dies, names.stands, names.wakes]);
    let runtime = ledger::runtime()?;
    let end = plan.end_of(part, PARTS);
    let mut random = plan.random(names.stands);
    for round in 0..plan.pick(200, 3) {
        if round > 0 && std::time::Instant::now() >= end {
            break;
        }
        let arena = runtime.block_on(Arena::make(engine, &format!("zombie_{round}")))?;
        let workflow = ledger::workflow("woken")?;
        let mut ring = Ring {
            arena: &arena,
            workflow: &workflow,
            lines: Vec::new(),
        };
        evidence.count(names.dies, ring.holder_dies()?, 1);
        evidence.count(names.stands, ring.writer_stands_still(&mut random)?, 1);
        evidence.count(names.wakes, ring.zombie_wakes(&runtime)?, 1);
        let rows = runtime.block_on(arena.check(&workflow, &ring.lines))?;
        ensure!(
            rows == process::acknowledged(&ring.lines),
            "{rows} rows, and {} acknowledged",
            process::acknowledged(&ring.lines)
        );
        runtime.block_on(arena.remove())?;
    }
    Ok(())
}

/// One workflow and all that was said about it.
struct Ring<'a> {
    arena: &'a Arena,
    workflow: &'a WorkflowId,
    lines: Vec<String>,
}

impl Ring<'_> {
    fn start(&self, role: &str, rest: &[u32]) -> Result<Second> {
        let rest: Vec<String> = rest.iter().map(u32::to_string).collect();
        Second::start(role, &self.arena.place(), self.workflow, &rest)
    }

    /// Appends events by a process of that patience, and tells how many were refused as busy.
    fn append(&mut self, role: &str, first: u32, count: u32) -> Result<usize> {
        let mut second = self.start(role, &[first, count])?;
        second.await_line("ready")?;
        second.give_the_word()?;
        let lines = second.finish()?;
        let busy = lines.iter().filter(|line| *line == "busy").count();
        ensure!(
            busy + process::acknowledged(&lines) == usize::try_from(count)?,
            "a writer was neither heard nor told to wait: {lines:?}"
        );
        self.lines.extend(lines);
        Ok(busy)
    }

    fn holder_dies(&mut self) -> Result<&'static str> {
        let mut holder = self.start("hold", &[])?;
        holder.await_line("locked")?;
        ensure!(
            self.append("impatient", 1, 1)? == 1,
            "a held lock was taken"
        );
        let mut waiter = self.start("append", &[2, 1])?;
        waiter.await_line("ready")?;
        waiter.give_the_word()?;
        holder.kill()?;
        let lines = waiter.finish()?;
        ensure!(
            process::acknowledged(&lines) == 1,
            "the waiter did not take over: {lines:?}"
        );
        self.lines.extend(lines);
        Ok("an impatient one is told busy, and the waiter takes over")
    }

    fn writer_stands_still(&mut self, random: &mut fastrand::Rng) -> Result<&'static str> {
        let mut writer = self.start("append-until-told", &[1_000_001])?;
        writer.await_line("ready")?;
        writer.give_the_word()?;
        for _ in 0..random.usize(1..40) {
            self.lines.extend(writer.hear()?);
        }
        writer.stop()?;
        let busy = self.append("impatient", 2001, 3)?;
        writer.wake()?;
        self.lines.extend(writer.finish()?);
        Ok(if busy == 0 {
            "it held no lock: the others append, and so does it when it wakes"
        } else {
            "it held the lock: the others are told busy, and it goes on when it wakes"
        })
    }

    fn zombie_wakes(&mut self, runtime: &tokio::runtime::Runtime) -> Result<String> {
        let mut zombie = self.start("zombie", &[3001])?;
        zombie.await_line("ready")?;
        zombie.stop()?;
        ensure!(
            self.append("impatient", 4001, 1)? == 1,
            "the lock of one that is only stopped was taken"
        );
        self.lose_the_lock(&zombie, runtime)?;
        ensure!(
            self.append("append", 5001, 2)? == 0,
            "the lost lock is still held"
        );
        zombie.wake()?;
        zombie.give_the_word()?;
        let said = zombie.finish()?;
        let fenced = "by the head: stale head";
        ensure!(
            said.iter().all(|line| !line.ends_with("appended")),
            "a zombie has appended: {said:?}"
        );
        ensure!(
            said.iter().any(|line| line == fenced),
            "a zombie was not fenced by its head: {said:?}"
        );
        Ok(said.join("; "))
    }

    /// Takes the lock from a process that knows nothing of it.
    fn lose_the_lock(&self, zombie: &Second, runtime: &tokio::runtime::Runtime) -> Result<()> {
        match self.arena {
            Arena::Sqlite(root) => {
                // As a restored or synchronised file comes: the same bytes, another file.
                let lock = scratch::home(root.path(), self.workflow).join(LOCK);
                let copy = lock.with_extension("copy");
                std::fs::copy(&lock, &copy)?;
                Ok(std::fs::rename(copy, lock)?)
            }
            Arena::Postgres(schema) => runtime.block_on(async {
                let ended = schema
                    .client()
                    .await?
                    .query_one(
                        "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity \
                         WHERE application_name = $1",
                        &[&crate::server::name_of(zombie.id())],
                    )
                    .await
                    .context("ending a zombie's sessions")?;
                let ended: i64 = ended.try_get(0)?;
                ensure!(ended > 0, "the zombie had no session to lose");
                Ok(())
            }),
        }
    }
}
