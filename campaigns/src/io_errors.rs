//! Lets every call to the disk fail in turn, and fills real file systems to the last byte.

mod full;
mod inject;

use std::time::Duration;

use anyhow::Result;

use crate::evidence::Evidence;
use crate::plan::Plan;

/// What must never happen.
pub(crate) const CLAIM: &str = "No append is acknowledged that the disk has not got: whichever call \
     fails, each acknowledged event outlasts a power loss at that very moment, a refused one leaves \
     rows and pin as they were or is found by its retry, no connection is used again after a \
     failure, the error names the workflow, and once the disk works again the workflow goes on.";

/// What the campaign leaves out.
const LIMITS: &[&str] = &[
    "failures of memory-mapped pages, which reach a process as a signal",
    "failures while several processes write",
];

pub(crate) fn run(plan: &Plan, evidence: &mut Evidence) -> Result<()> {
    evidence.not_covered(LIMITS);
    inject::run(plan, evidence)?;
    full::run(plan.pick(4096, 32 * 1024), evidence)
}

/// Nobody else holds a lock here, and a wait would be a fault.
const PATIENCE: Duration = Duration::from_secs(2);
