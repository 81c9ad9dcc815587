//! Flips single bits: of a checkpointed database, of a live log and its shared memory, and of the
//! lock file, as whole files; of every column of every row of SQLite and of Postgres, through SQL.

mod columns;
mod files;
mod postgres;

use anyhow::Result;

use crate::evidence::Evidence;
use crate::plan::Plan;

/// What must never happen.
pub(crate) const CLAIM: &str = "No flipped bit ever yields a history that differs from what was \
     acknowledged: the verdict is not `verified`, or it is with exactly the acknowledged events.";

/// How many targets share the time.
const PARTS: u32 = 7;

pub(crate) fn run(plan: &Plan, evidence: &mut Evidence) -> Result<()> {
    evidence.not_covered(&[
        "More than one flipped bit at a time.",
        "A forger who recomputes every head, the checksums and the pin: see the threat model.",
        "The column `written_at`, which is for people and is never hashed: its flips are benign.",
    ]);
    files::run(plan, evidence)?;
    columns::run(plan, evidence)?;
    postgres::run(plan, evidence)
}
