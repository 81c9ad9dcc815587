//! Puts the four files of a ledger together from everything that lies about: its current files,
//! those that a crash left earlier, a backup's, another workflow's, and none.

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{PARTS, Specimens};
use crate::evidence::Evidence;
use crate::ledger::{self, DATABASE, Finding, Known, LOCK, LOG, SHARED};
use crate::plan::Plan;
use crate::scratch::{self, Image};
use crate::sweep;

const DELETED: &str = "files deleted, every combination";
const EXCHANGED: &str = "files exchanged, current lock file in place";
const WITHOUT_LOCK: &str = "files exchanged, the lock file too";
const WITH_HEAD: &str = "files exchanged, the lock file too, held against an expected head";
const OTHER_WORKFLOW: &str = "whole ledger of another workflow moved in";
const RESTORED: &str = "old backup restored whole";
const RESTORED_WITH_HEAD: &str = "old backup restored whole, held against an expected head";
const RESTORED_ROWS: &str = "old database restored under the current lock file";
const FORGOTTEN: &str = "ledger removed whole";
const FORGOTTEN_WITH_HEAD: &str = "ledger removed whole, held against an expected head";

const FILES: [&str; 4] = [DATABASE, LOG, SHARED, LOCK];
const PART: u32 = 6;
const SAMPLE: usize = 400;

/// Where one of the four files comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Live,
    Merged,
    Old,
    Backup,
    Other,
    None,
}

const SOURCES: [Source; 6] = [
    Source::Live,
    Source::Merged,
    Source::Old,
    Source::Backup,
    Source::Other,
    Source::None,
];

/// What the files come from, in the order of [`FILES`].
type Mixture = [Source; 4];

impl Source {
    fn file<'a>(self, specimens: &'a Specimens, name: &str) -> Option<&'a Vec<u8>> {
        let image = match self {
            Self::Live => &specimens.live,
            Self::Merged => &specimens.merged,
            Self::Old => &specimens.old,
            Self::Backup => &specimens.backup,
            Self::Other => &specimens.other,
            Self::None => return None,
        };
        image.0.get(name)
    }

    /// Whether a lock file from here knows of every acknowledged row.
    fn is_current(self) -> bool {
        matches!(self, Self::Live | Self::Merged)
    }
}

fn mixture(index: usize) -> Mixture {
    let mut rest = index;
    FILES.map(|_| {
        let source = SOURCES[rest % SOURCES.len()];
        rest /= SOURCES.len();
        source
    })
}

fn image(specimens: &Specimens, mixture: Mixture) -> Image {
    let files = FILES.iter().zip(mixture).filter_map(|(name, source)| {
        let bytes = source.file(specimens, name)?;
        Some(((*name).to_owned(), bytes.clone()))
    });
    Image(files.collect())
}

pub(super) fn run(plan: &Plan, evidence: &mut Evidence, specimens: &Specimens) -> Result<()> {
    evidence.announce(&[DELETED, EXCHANGED, WITHOUT_LOCK, WITH_HEAD, OTHER_WORKFLOW]);
    evidence.announce(&[RESTORED, RESTORED_WITH_HEAD, RESTORED_ROWS]);
    evidence.announce(&[FORGOTTEN, FORGOTTEN_WITH_HEAD]);
    named(evidence, specimens)?;
    let total = SOURCES.len().pow(4);
    let lock = |index| usize::from(mixture(index)[3].is_current());
    let order = sweep::order(
        total,
        plan.pick(total, SAMPLE),
        &mut plan.random("exchange"),
        lock,
    );
    let swept = sweep::sweep(
        &order,
        plan.end_of(PART, PARTS),
        |_| Worker::prepare(),
        |worker, index| worker.visit(specimens, index),
    )?;
    for (label, count) in swept {
        // Each visit holds the same files once against nothing and once against the head.
        let (kind, outcomes) = label.split_once('|').context("a label names its kind")?;
        let (alone, held) = outcomes
            .split_once('|')
            .context("a visit has two outcomes")?;
        let kind = if kind == EXCHANGED {
            EXCHANGED
        } else {
            WITHOUT_LOCK
        };
        evidence.count(kind, alone, count);
        evidence.count(WITH_HEAD, held, count);
    }
    evidence.figure("mixtures of files", u64::try_from(total)?);
    Ok(())
}

/// What the threat model says of a damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Foretold {
    Caught,
    Missed,
}

/// What has a name among operators.
fn named(evidence: &mut Evidence, specimens: &Specimens) -> Result<()> {
    let mut worker = Worker::prepare()?;
    let expected = Some(specimens.expected());
    for (whole, present) in [(&specimens.live, 16), (&specimens.merged, 4)] {
        for combination in 1..present {
            let mut image = whole.clone();
            for (index, name) in whole.0.keys().enumerate() {
                if combination >> index & 1 == 1 {
                    image = image.without(name);
                }
            }
            let finding = worker.examine(specimens, &image, None)?;
            // Shared memory alone tells nothing.
            let is_gone = [DATABASE, LOG, LOCK]
                .iter()
                .all(|name| !image.0.contains_key(*name));
            ensure!(
                is_gone == (finding == Finding::Older),
                "deletion {combination}: {}",
                finding.label()
            );
            evidence.count(DELETED, finding.label(), 1);
        }
    }
    let mut one = |kind, image: &Image, expected, foretold: Foretold| -> Result<()> {
        let finding = worker.examine(specimens, image, expected)?;
        let is_as_foretold = match &finding {
            Finding::Same => false,
            Finding::Older => foretold == Foretold::Missed,
            Finding::Refused(_) | Finding::Unreadable(_) => foretold == Foretold::Caught,
        };
        ensure!(is_as_foretold, "{kind}: {}", finding.label());
        evidence.count(kind, finding.label(), 1);
        Ok(())
    };
    for old in [&specimens.backup, &specimens.old] {
        one(RESTORED, old, None, Foretold::Missed)?;
        one(RESTORED_WITH_HEAD, old, expected, Foretold::Caught)?;
        let lock = specimens.live.file(LOCK)?.clone();
        one(RESTORED_ROWS, &old.with(LOCK, lock), None, Foretold::Caught)?;
    }
    one(OTHER_WORKFLOW, &specimens.other, None, Foretold::Caught)?;
    one(FORGOTTEN, &Image::default(), None, Foretold::Missed)?;
    one(
        FORGOTTEN_WITH_HEAD,
        &Image::default(),
        expected,
        Foretold::Caught,
    )
}

/// What one thread works with.
struct Worker {
    runtime: Runtime,
    place: TempDir,
    visits: usize,
}

impl Worker {
    fn prepare() -> Result<Self> {
        Ok(Self {
            runtime: ledger::runtime()?,
            place: scratch::in_memory()?,
            visits: 0,
        })
    }

    fn examine(
        &mut self,
        specimens: &Specimens,
        image: &Image,
        expected: Option<piton_store::Tail>,
    ) -> Result<Finding> {
        self.visits = self.visits.saturating_add(1);
        let root = scratch::Root::beneath(self.place.path(), self.visits);
        let home = scratch::home(root.path(), &specimens.workflow);
        image.write(&home)?;
        ensure!(Image::read(&home)? == *image, "the files are not in place");
        let known = Known::exactly(&specimens.events);
        let examined = ledger::examine(root.path(), &specimens.workflow, known, expected);
        self.runtime.block_on(examined)
    }

    fn visit(&mut self, specimens: &Specimens, index: usize) -> Result<String> {
        let mixture = mixture(index);
        let image = image(specimens, mixture);
        let alone = self.examine(specimens, &image, None)?;
        let held = self.examine(specimens, &image, Some(specimens.expected()))?;
        let kind = if mixture[3].is_current() {
            EXCHANGED
        } else {
            WITHOUT_LOCK
        };
        ensure!(
            kind == WITHOUT_LOCK || alone != Finding::Older,
            "{mixture:?}: {}",
            alone.label()
        );
        ensure!(
            held != Finding::Older,
            "{mixture:?} held against the head: {}",
            held.label()
        );
        Ok(format!("{kind}|{}|{}", alone.label(), held.label()))
    }
}
