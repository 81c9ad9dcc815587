//! Cuts each file at every offset.

use anyhow::{Result, ensure};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{PARTS, Specimens};
use crate::evidence::Evidence;
use crate::ledger::{self, DATABASE, Known, LOCK, LOG, SHARED};
use crate::plan::Plan;
use crate::scratch::{self, Image};
use crate::sweep;

/// How many offsets of each file the short form takes.
const SAMPLE: usize = 80;

const CUT_DATABASE: &str = "checkpointed database cut";
const CUT_DATABASE_LIVE: &str = "database cut beside a live log";
const CUT_LOG: &str = "live write-ahead log cut";
const CUT_SHARED: &str = "shared memory cut";
const CUT_LOCK: &str = "lock file cut";

pub(super) fn run(plan: &Plan, evidence: &mut Evidence, specimens: &Specimens) -> Result<()> {
    let targets = [
        (CUT_LOCK, LOCK, &specimens.live),
        (CUT_DATABASE, DATABASE, &specimens.merged),
        (CUT_DATABASE_LIVE, DATABASE, &specimens.live),
        (CUT_LOG, LOG, &specimens.live),
        (CUT_SHARED, SHARED, &specimens.live),
    ];
    evidence.announce(&targets.map(|(kind, _, _)| kind));
    let mut offsets = 0;
    for (part, (kind, file, image)) in (1..).zip(targets) {
        offsets += cut_all(plan, evidence, specimens, part, kind, file, image)?;
    }
    evidence.figure(
        "offsets at which a file can be cut",
        u64::try_from(offsets)?,
    );
    Ok(())
}

fn cut_all(
    plan: &Plan,
    evidence: &mut Evidence,
    specimens: &Specimens,
    part: u32,
    kind: &'static str,
    file: &'static str,
    image: &Image,
) -> Result<usize> {
    let offsets = image.file(file)?.len();
    let most = plan.pick(offsets, SAMPLE.min(offsets));
    let mut random = plan.random(kind);
    let swept = sweep::sweep(
        &sweep::order(offsets, most, &mut random, |_| 0),
        plan.end_of(part, PARTS),
        |_| -> Result<(Runtime, TempDir)> { Ok((ledger::runtime()?, scratch::in_memory()?)) },
        |(runtime, place), length| {
            let root = scratch::Root::beneath(place.path(), length);
            let home = scratch::home(root.path(), &specimens.workflow);
            image.write(&home)?;
            let path = home.join(file);
            std::fs::File::options()
                .write(true)
                .open(&path)?
                .set_len(u64::try_from(length)?)?;
            ensure!(
                path.metadata()?.len() == u64::try_from(length)?,
                "the file was not cut"
            );
            let known = Known::exactly(&specimens.events);
            let judged = ledger::judge(root.path(), &specimens.workflow, known, None);
            Ok(runtime.block_on(judged)?.label())
        },
    )?;
    evidence.swept(kind, swept);
    Ok(offsets)
}
