//! Flips bits of whole files, as they lie on disk.

use std::os::unix::fs::FileExt as _;
use std::path::Path;

use anyhow::Result;
use piton_ledger::WorkflowId;
use piton_store::SealedEvent;
use piton_testkit::history;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::PARTS;
use crate::evidence::Evidence;
use crate::ledger::{self, DATABASE, Known, LOCK, LOG, SHARED};
use crate::plan::Plan;
use crate::scratch::{self, Image};
use crate::sweep;

/// How many of each file's bits the short form flips.
const SAMPLE: usize = 150;

const IN_DATABASE: &str = "bit of a checkpointed database file";
const IN_LOG: &str = "bit of a live write-ahead log";
const IN_SHARED: &str = "bit of the shared memory that a crash leaves";
const IN_USE: &str = "bit of the shared memory while a connection uses it";
const IN_LOCK: &str = "bit of the lock file";

/// Whether somebody has the database open while a bit of it is flipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Company {
    Nobody,
    Connection,
}

/// One file to be flipped, every bit of it.
struct Target<'a> {
    kind: &'static str,
    size: &'static str,
    file: &'static str,
    image: &'a Image,
    events: &'a [SealedEvent],
    company: Company,
    part: u32,
}

pub(super) fn run(plan: &Plan, evidence: &mut Evidence) -> Result<()> {
    evidence.announce(&[IN_DATABASE, IN_LOG, IN_SHARED, IN_USE, IN_LOCK]);
    let workflow = ledger::workflow("flipped")?;
    // A log grows by whole pages for each row, so a long one would only repeat itself.
    let events = history::first(&workflow, 12);
    let (few, many) = (&events[..3], &events[..]);
    let runtime = ledger::runtime()?;
    let place = scratch::in_memory()?;
    let root = place.path().join("live");
    let live = runtime.block_on(ledger::record_live(&root, &workflow, few))?;
    let root = place.path().join("merged");
    runtime.block_on(ledger::record(&root, many))?;
    let merged = Image::read(&scratch::home(&root, &workflow))?;
    let targets = [
        Target {
            kind: IN_LOCK,
            size: "bits of the lock file",
            file: LOCK,
            image: &live,
            events: few,
            company: Company::Nobody,
            part: 1,
        },
        Target {
            kind: IN_DATABASE,
            size: "bits of the checkpointed database file",
            file: DATABASE,
            image: &merged,
            events: many,
            company: Company::Nobody,
            part: 2,
        },
        Target {
            kind: IN_LOG,
            size: "bits of the live write-ahead log",
            file: LOG,
            image: &live,
            events: few,
            company: Company::Nobody,
            part: 3,
        },
        Target {
            kind: IN_SHARED,
            size: "bits of the shared memory",
            file: SHARED,
            image: &live,
            events: few,
            company: Company::Nobody,
            part: 4,
        },
        Target {
            kind: IN_USE,
            size: "bits of the shared memory",
            file: SHARED,
            image: &live,
            events: few,
            company: Company::Connection,
            part: 5,
        },
    ];
    for target in targets {
        flip_all(plan, evidence, &workflow, &target)?;
    }
    Ok(())
}

/// What one thread works with.
struct Worker {
    runtime: Runtime,
    place: TempDir,
}

fn flip_all(
    plan: &Plan,
    evidence: &mut Evidence,
    workflow: &WorkflowId,
    target: &Target<'_>,
) -> Result<()> {
    let bytes = target.image.file(target.file)?;
    let bits = bytes.len().saturating_mul(8);
    let most = plan.pick(bits, SAMPLE.min(bits));
    let mut random = plan.random(target.kind);
    let swept = sweep::sweep(
        &sweep::order(bits, most, &mut random, |_| 0),
        plan.end_of(target.part, PARTS),
        |_| {
            Ok(Worker {
                runtime: ledger::runtime()?,
                place: scratch::in_memory()?,
            })
        },
        |worker, bit| {
            let root = scratch::Root::beneath(worker.place.path(), bit);
            let home = scratch::home(root.path(), workflow);
            target.image.write(&home)?;
            let company = match target.company {
                Company::Nobody => None,
                Company::Connection => Some(accompany(&home)?),
            };
            flip(&home.join(target.file), bit)?;
            let known = Known::exactly(target.events);
            let judged = ledger::judge(root.path(), workflow, known, None);
            let finding = worker.runtime.block_on(judged)?;
            drop(company);
            Ok(finding.label())
        },
    )?;
    evidence.figure(target.size, u64::try_from(bits)?);
    evidence.swept(target.kind, swept);
    Ok(())
}

/// Opens the database as a second program would, so that what it shares is in use and not made
/// anew by whoever opens next.
fn accompany(home: &Path) -> Result<rusqlite::Connection> {
    let connection = rusqlite::Connection::open(home.join(DATABASE))?;
    connection.query_row("SELECT count(*) FROM checkpoint_chain", [], |_| Ok(()))?;
    Ok(connection)
}

/// Flips one bit of a file in place, and proves that it has changed.
fn flip(path: &Path, bit: usize) -> Result<()> {
    let file = std::fs::File::options().read(true).write(true).open(path)?;
    let offset = u64::try_from(bit / 8)?;
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset)?;
    let flipped = [byte[0] ^ (1 << (bit % 8))];
    file.write_all_at(&flipped, offset)?;
    file.read_exact_at(&mut byte, offset)?;
    anyhow::ensure!(byte == flipped, "the flipped bit is not on the file");
    Ok(())
}
