//! Owns the images of one moment and what becomes of each. It plays no scene.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, ensure};
use piton_faultfs::{Effect, Filler, Keep, Loss};
use piton_store::{CheckpointStore, ExpectedHead, SealedEvent, Tail, WorkflowCatalog};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::ledger::{self, Finding, Known};
use crate::plan::Plan;
use crate::scratch::{self, Root};
use crate::sweep;

use super::scene::{self, Scene, Scenes};

/// How many failures are told in full.
const TOLD: usize = 5;

/// When the power went: each image is of one kind.
pub(super) const KINDS: &[&str] = &[
    "cut while the first event was being recorded",
    "cut while a later event was being recorded",
    "cut between events",
];

/// What is seen to have happened to images, several of these to one.
pub(super) const EFFECTS: &[&str] = &[
    "images, log: unsynced data dropped",
    "images, log: unsynced data kept",
    "images, log: unsynced data kept without earlier data",
    "images, log: a write torn",
    "images, log: longer than its data",
    "images, database: unsynced data dropped",
    "images, database: unsynced data kept",
    "images, database: unsynced data kept without earlier data",
    "images, database: a write torn",
    "images, database: longer than its data",
    "images, pin: a note dropped",
    "images, pin: an unsynced note kept",
    "images, pin: a note kept without an earlier one",
    "images, pin: a note torn",
    "images: a name not there",
];

/// What became of the images.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) counted: BTreeMap<(&'static str, &'static str), u64>,
    pub(super) effects: BTreeMap<&'static str, u64>,
    pub(super) distinct: u64,
    pub(super) repeated: u64,
    pub(super) differing: u64,
    pub(super) broken: u64,
    pub(super) failures: Vec<String>,
    seen: BTreeSet<(u32, u32, u64)>,
}

/// One thread's place.
struct Worker {
    place: TempDir,
    runtime: Runtime,
}

/// Recovers at most so many images, of every scene and moment and way to lose power.
pub(super) fn recover(scenes: &Scenes, most: usize, plan: &Plan) -> Result<Report> {
    let ways = Keep::ALL.len() * Filler::ALL.len();
    let mut tries = Vec::new();
    for (scene, played) in scenes.scenes.iter().enumerate() {
        for moment in 0..played.moments() {
            for way in 0..ways {
                tries.push((scene, moment, way));
            }
        }
    }
    let mut random = plan.random("powerloss");
    let order = sweep::order(tries.len(), most, &mut random, |index| {
        tries
            .get(index)
            .map_or(0, |(scene, _, way)| scene * ways + way)
    });
    let report = Mutex::new(Report::default());
    let prepare = |_| {
        Ok(Worker {
            place: scratch::in_memory()?,
            runtime: ledger::runtime()?,
        })
    };
    sweep::sweep(&order, plan.end_of(1, 1), prepare, |worker, index| {
        let (scene, moment, way) = tries.get(index).context("an index of a try")?;
        let scene = scenes.scenes.get(*scene).context("an index of a scene")?;
        let files = Keep::ALL[way % Keep::ALL.len()];
        let mut choice = plan.random("powerloss, names");
        let seed = choice.u64(..) ^ u64::try_from(index)?;
        let loss = Loss {
            files,
            names: Keep::ALL[usize::try_from(seed % 4)?],
            filler: Filler::ALL[way / Keep::ALL.len()],
            seed,
        };
        worker.visit(scenes, scene, *moment, &loss, index, &report)?;
        Ok(String::new())
    })?;
    Ok(report.into_inner().unwrap_or_else(PoisonError::into_inner))
}

impl Worker {
    fn visit(
        &self,
        scenes: &Scenes,
        scene: &Scene,
        operations: usize,
        loss: &Loss,
        index: usize,
        report: &Mutex<Report>,
    ) -> Result<()> {
        let moment = scene.at(operations);
        let image = moment.disk.lose_power(loss);
        let key = (moment.begun, moment.acknowledged, image.fingerprint());
        if !lock(report).seen.insert(key) {
            lock(report).repeated += 1;
            return Ok(());
        }
        let whole = moment.disk.lose_power(&Loss {
            files: Keep::Everything,
            names: Keep::Everything,
            ..*loss
        });
        let place = Root::beneath(self.place.path(), index);
        std::fs::create_dir(place.path())?;
        image.write_to(place.path())?;
        let known = Said {
            events: scenes.events(scene),
            begun: moment.begun,
            acknowledged: moment.acknowledged,
        };
        let outcome = self
            .runtime
            .block_on(go_on(&scene::root(place.path()), scenes, known));
        let mut report = lock(report);
        report.distinct += 1;
        report.differing += u64::from(!image.is_same_content(&whole));
        let label = match &outcome {
            Ok(label) => label,
            Err(error) => {
                report.broken += 1;
                if report.failures.len() < TOLD {
                    let failure = format!(
                        "{}, after {operations} operations, {loss:?}, {} begun, {} acknowledged: \
                         {error:#}",
                        scene.name, moment.begun, moment.acknowledged
                    );
                    report.failures.push(failure);
                }
                "broken"
            }
        };
        let kind = kind_of_cut(known);
        *report.counted.entry((kind, label)).or_default() += 1;
        let effects: BTreeSet<&str> = image
            .effects()
            .filter_map(|(name, effect)| in_words(name, effect))
            .collect();
        for effect in effects {
            *report.effects.entry(effect).or_default() += 1;
        }
        Ok(())
    }
}

fn lock(report: &Mutex<Report>) -> MutexGuard<'_, Report> {
    report.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the program knew when the power went.
#[derive(Clone, Copy)]
struct Said<'a> {
    events: &'a [SealedEvent],
    begun: u32,
    acknowledged: u32,
}

/// Verifies what was found, tries again what was not acknowledged, and verifies again.
async fn go_on(root: &Path, scenes: &Scenes, said: Said<'_>) -> Result<&'static str> {
    let workflow = &scenes.workflow;
    let known = Known {
        attempted: first(said.events, said.begun)?,
        acknowledged: usize::try_from(said.acknowledged)?,
    };
    let found = ledger::judge(root, workflow, known, None).await?;
    if said.acknowledged == 0 && found == damaged_pin() {
        return begin_again(root, scenes, said).await;
    }
    ensure!(found == Finding::Same, "found {}", found.label());
    let next = if said.begun > said.acknowledged {
        said.begun
    } else {
        said.begun + 1
    };
    let event = first(said.events, next)?.last().context("an event")?;
    let store = ledger::open(root)?;
    let rows = store.pinned_tail(workflow).await?.map_or(0, sequence);
    ensure!(rows <= u64::from(said.begun), "the pin leads: {rows}");
    let appended = store
        .append(event, ExpectedHead::Any)
        .await
        .context("going on")?;
    ensure!(
        appended.sequence.to_u64() == u64::from(next),
        "event {next} was acknowledged as row {}",
        appended.sequence
    );
    let pinned = store.pinned_tail(workflow).await?.map_or(0, sequence);
    ensure!(pinned == u64::from(next), "event {next} is not pinned");
    store.close().await?;
    let known = Known::exactly(first(said.events, next)?);
    let found = ledger::judge(root, workflow, known, None).await?;
    ensure!(found == Finding::Same, "having gone on: {}", found.label());
    Ok("nothing acknowledged lost, and the workflow goes on")
}

fn damaged_pin() -> Finding {
    Finding::Unreadable("the pin is damaged".to_owned())
}

/// A pin that was torn while it was being made can't be told from one that was damaged later. Then
/// nothing has been acknowledged, and the workflow can be deleted and begun again.
async fn begin_again(root: &Path, scenes: &Scenes, said: Said<'_>) -> Result<&'static str> {
    let store = ledger::open(root)?;
    store.delete(&scenes.workflow).await.context("deleting")?;
    let event = first(said.events, 1)?.first().context("an event")?;
    store
        .append(event, ExpectedHead::Any)
        .await
        .context("beginning again")?;
    store.close().await?;
    Ok("nothing acknowledged yet, and the half-made pin refused as damaged")
}

fn first(events: &[SealedEvent], count: u32) -> Result<&[SealedEvent]> {
    events
        .get(..usize::try_from(count)?)
        .context("a scene has enough events")
}

fn sequence(tail: Tail) -> u64 {
    tail.sequence().map_or(0, piton_ledger::Sequence::to_u64)
}

fn kind_of_cut(said: Said<'_>) -> &'static str {
    match (said.begun > said.acknowledged, said.begun) {
        (true, 0 | 1) => "cut while the first event was being recorded",
        (true, _) => "cut while a later event was being recorded",
        (false, _) => "cut between events",
    }
}

/// What happened to an image, in the words of the evidence.
fn in_words(name: &Path, effect: Effect) -> Option<&'static str> {
    let name = name.file_name().map(|name| name.to_string_lossy());
    Some(match (name.as_deref(), effect) {
        (_, Effect::NameLost) => "images: a name not there",
        (Some(ledger::SHARED | "checkpoints.new-shm") | None, _) => return None,
        (Some(ledger::LOCK), Effect::Dropped) => "images, pin: a note dropped",
        (Some(ledger::LOCK), Effect::KeptUnsynced) => "images, pin: an unsynced note kept",
        (Some(ledger::LOCK), Effect::Reordered) => {
            "images, pin: a note kept without an earlier one"
        }
        (Some(ledger::LOCK), Effect::Torn) => "images, pin: a note torn",
        (Some(ledger::LOCK), Effect::GrownWithoutData) => return None,
        (Some(ledger::LOG | "checkpoints.new-wal"), effect) => match effect {
            Effect::Dropped => "images, log: unsynced data dropped",
            Effect::KeptUnsynced => "images, log: unsynced data kept",
            Effect::Reordered => "images, log: unsynced data kept without earlier data",
            Effect::Torn => "images, log: a write torn",
            Effect::GrownWithoutData => "images, log: longer than its data",
            Effect::NameLost => return None,
        },
        (Some(_), Effect::Dropped) => "images, database: unsynced data dropped",
        (Some(_), Effect::KeptUnsynced) => "images, database: unsynced data kept",
        (Some(_), Effect::Reordered) => "images, database: unsynced data kept without earlier data",
        (Some(_), Effect::Torn) => "images, database: a write torn",
        (Some(_), Effect::GrownWithoutData) => "images, database: longer than its data",
    })
}
