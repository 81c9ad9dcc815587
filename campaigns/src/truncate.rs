//! Cuts, deletes and exchanges the files of ledgers, swaps rows, and restores old backups.

mod cut;
mod exchange;
mod rows;

use anyhow::Result;
use piton_ledger::{ChainHead, WorkflowId};
use piton_store::{SealedEvent, Tail};
use piton_testkit::history;

use crate::evidence::Evidence;
use crate::ledger;
use crate::plan::Plan;
use crate::scratch::{self, Image};

/// What must never happen.
pub(crate) const CLAIM: &str = "No cut, lost or exchanged file and no swapped row yields a history \
     other than the acknowledged one, as long as the current lock file or an expected head from \
     outside is there; an old backup that is restored whole, pin and all, is caught by the expected \
     head alone.";

/// How many targets share the time.
const PARTS: u32 = 6;

/// How many rows the current ledger has.
const ROWS: u32 = 6;
/// How many of them its old backup has.
const OLD_ROWS: usize = 3;

/// Ledgers to be damaged.
struct Specimens {
    workflow: WorkflowId,
    events: Vec<SealedEvent>,
    /// As a crash leaves the current ledger, log and all.
    live: Image,
    /// The current ledger, closed.
    merged: Image,
    /// As a crash left it when it was shorter.
    old: Image,
    /// The short one, closed: what a backup holds.
    backup: Image,
    /// As a crash leaves another workflow's ledger.
    other: Image,
    other_workflow: WorkflowId,
}

impl Specimens {
    fn make() -> Result<Self> {
        let workflow = ledger::workflow("exchanged")?;
        let other_workflow = ledger::workflow("exchanged-too")?;
        let events = history::first(&workflow, ROWS);
        // Rows can only change places where no transition id is there twice.
        let others: Vec<SealedEvent> = (101..=100 + ROWS)
            .map(|n| history::nth(&other_workflow, n))
            .collect();
        let place = scratch::in_memory()?;
        let runtime = ledger::runtime()?;
        let live = |name: &str, workflow: &WorkflowId, events: &[SealedEvent]| {
            let root = place.path().join(name);
            runtime.block_on(ledger::record_live(&root, workflow, events))
        };
        let merged = |name: &str| Image::read(&scratch::home(&place.path().join(name), &workflow));
        Ok(Self {
            old: live("old", &workflow, &events[..OLD_ROWS])?,
            live: live("live", &workflow, &events)?,
            other: live("other", &other_workflow, &others)?,
            // To close the store has merged the log.
            merged: merged("live")?,
            backup: merged("old")?,
            workflow,
            events,
            other_workflow,
        })
    }

    /// What an operator who notes heads elsewhere knows.
    fn expected(&self) -> Tail {
        let head = self
            .events
            .iter()
            .fold(ChainHead::GENESIS, |prior, event| event.link(&prior));
        let mut tail = Tail::Empty;
        for _ in &self.events {
            if let Some(sequence) = tail.next_sequence() {
                tail = Tail::At { sequence, head };
            }
        }
        tail
    }
}

pub(crate) fn run(plan: &Plan, evidence: &mut Evidence) -> Result<()> {
    evidence.not_covered(&[
        "An old backup that is restored with its own lock file, and no expected head from outside: \
         nothing on the machine is left that knows better. It is asserted that this is not caught.",
        "A workflow that is deleted with its lock file, and no expected head from outside: likewise.",
        "A forger who recomputes heads, checksums and pin.",
    ]);
    let specimens = Specimens::make()?;
    cut::run(plan, evidence, &specimens)?;
    exchange::run(plan, evidence, &specimens)?;
    rows::run(evidence, &specimens)
}
