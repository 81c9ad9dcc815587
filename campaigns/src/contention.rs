//! Sets processes against each other: writers on one workflow and on many, readers beside them,
//! holders of a lock that die or stand still, and zombies that wake after they have lost it.

mod arena;
mod crowd;
mod zombie;

use anyhow::Result;

use crate::evidence::Evidence;
use crate::plan::Plan;

/// What must never happen.
pub(crate) const CLAIM: &str = "However many processes write, read, hold the lock, die or wake \
     late, a workflow has one linear chain with every acknowledged event at the place that was \
     acknowledged; a waiter that gives up is told so, and a writer that lost its lock is fenced by \
     its expected head.";

/// How many targets share the time.
const PARTS: u32 = 4;

pub(crate) fn run(plan: &Plan, evidence: &mut Evidence) -> Result<()> {
    evidence.not_covered(&[
        "File systems whose locks do not hold between machines; SQLite ledgers are for one machine.",
        "A Postgres that fails over to another server.",
        "The order in which the system lets processes run, which no seed decides.",
    ]);
    for (part, engine) in [(1, arena::Engine::Sqlite), (3, arena::Engine::Postgres)] {
        crowd::run(plan, evidence, engine, part)?;
        zombie::run(plan, evidence, engine, part + 1)?;
    }
    Ok(())
}
