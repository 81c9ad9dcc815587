//! Owns the runs whose disk is watched. It cuts no power.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use piton_faultfs::{Call, Disk, Failure, Filler, Honesty, Keep, Loss, Op, Outcome, Remark, Watch};
use piton_ledger::WorkflowId;
use piton_sqlite::SqliteStore;
use piton_store::{CheckpointStore, ExpectedHead, SealedEvent};
use piton_testkit::history;

use crate::{ledger, scratch};

/// `EIO`
const INPUT_OUTPUT_ERROR: i32 = 5;

/// The most events that a scene appends, and one more to go on with.
const EVENTS: u32 = 160;
/// The bytes of an outcome that make SQLite move its log into the database before long.
const LARGE: usize = 30_000;

/// One watched run.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) name: String,
    /// The disk before the first operation.
    start: Disk,
    ops: Vec<Op>,
    /// How many events had been begun by then.
    begun: u32,
    /// How many had been acknowledged.
    acknowledged: u32,
}

/// The disk at one moment, and what the program knows then.
pub(super) struct Moment {
    pub(super) disk: Disk,
    pub(super) begun: u32,
    pub(super) acknowledged: u32,
}

/// All runs.
#[derive(Debug)]
pub(super) struct Scenes {
    pub(super) workflow: WorkflowId,
    small: Vec<SealedEvent>,
    large: Vec<SealedEvent>,
    pub(super) scenes: Vec<Scene>,
}

impl Moment {
    /// Nothing has happened.
    fn first() -> Self {
        Self {
            disk: Disk::new(),
            begun: 0,
            acknowledged: 0,
        }
    }
}

impl Scene {
    /// The number of moments at which the power can go.
    pub(super) fn moments(&self) -> usize {
        self.ops.len() + 1
    }

    /// Gives the state after the first operations.
    pub(super) fn at(&self, operations: usize) -> Moment {
        let mut moment = Moment {
            disk: self.start.clone(),
            begun: self.begun,
            acknowledged: self.acknowledged,
        };
        for op in self.ops.iter().take(operations) {
            match op {
                Op::Remark(Remark::Begun(n)) => moment.begun = moment.begun.max(*n),
                Op::Remark(Remark::Acknowledged(n)) => {
                    moment.acknowledged = moment.acknowledged.max(*n);
                }
                Op::Create(_)
                | Op::MakeDirectory(_)
                | Op::Write { .. }
                | Op::Truncate { .. }
                | Op::Sync(_)
                | Op::SyncDirectory(_)
                | Op::FailedSync(_)
                | Op::Rename { .. }
                | Op::Remove(_) => {}
            }
            moment.disk.apply(op);
        }
        moment
    }
}

/// The root of the ledgers in a watched place.
pub(super) fn root(place: &Path) -> std::path::PathBuf {
    place.join("ledgers")
}

impl Scenes {
    /// Plays every scene; of killed processes and failed syncs at most so many each.
    pub(super) fn play(kills: usize, failures: usize) -> Result<Self> {
        let mut scenes = Self::of_one_run(Honesty::Honest)?;
        scenes.play_reopened()?;
        scenes.play_large()?;
        scenes.play_failed(failures)?;
        scenes.play_killed(kills)?;
        Ok(scenes)
    }

    /// Plays one run: a workflow is made, grows and is closed.
    pub(super) fn of_one_run(honesty: Honesty) -> Result<Self> {
        let workflow = ledger::workflow("cut-off")?;
        let outcome = format!(r#"{{"log":"{}"}}"#, "all is well. ".repeat(LARGE / 13));
        let mut scenes = Self {
            small: history::first(&workflow, EVENTS),
            large: (1..=EVENTS)
                .map(|n| history::nth_with(&workflow, n, &outcome))
                .collect(),
            workflow,
            scenes: Vec::new(),
        };
        let stage = Stage::new(honesty)?;
        stage.session(&scenes.small, 1, 8)?;
        scenes.add("made and grown", stage, Moment::first());
        Ok(scenes)
    }

    pub(super) fn count(&self) -> u64 {
        u64::try_from(self.scenes.len()).unwrap_or(u64::MAX)
    }

    pub(super) fn moments(&self) -> u64 {
        let moments = self.scenes.iter().map(Scene::moments).sum::<usize>();
        u64::try_from(moments).unwrap_or(u64::MAX)
    }

    /// The events that a scene appends, in order.
    pub(super) fn events(&self, scene: &Scene) -> &[SealedEvent] {
        if scene.name == LARGE_SCENE {
            &self.large
        } else {
            &self.small
        }
    }

    fn add(&mut self, name: impl Into<String>, stage: Stage, start: Moment) {
        self.scenes.push(Scene {
            name: name.into(),
            ops: stage.watch.take_record(),
            start: start.disk,
            begun: start.begun,
            acknowledged: start.acknowledged,
        });
    }

    /// Each close moves the log into the database and removes it.
    fn play_reopened(&mut self) -> Result<()> {
        let stage = Stage::new(Honesty::Honest)?;
        for session in 0..3 {
            stage.session(&self.small, session * 4 + 1, session * 4 + 4)?;
        }
        self.add("closed and opened again", stage, Moment::first());
        Ok(())
    }

    /// The log grows until SQLite moves it into the database and begins it anew.
    fn play_large(&mut self) -> Result<()> {
        let stage = Stage::new(Honesty::Honest)?;
        stage.session(&self.large, 1, EVENTS - 10)?;
        self.add(LARGE_SCENE, stage, Moment::first());
        Ok(())
    }

    /// The n-th sync fails, and the work goes on with the same handle and then a new one.
    fn play_failed(&mut self, most: usize) -> Result<()> {
        for call in [Call::Sync, Call::SyncDirectory] {
            for nth in 1..=most {
                let stage = Stage::new(Honesty::Honest)?;
                let nth = u64::try_from(nth)?;
                stage
                    .watch
                    .fail(Failure::once(call, nth, Outcome::Errno(INPUT_OUTPUT_ERROR)));
                let reached = stage.persist(&self.small, 6)?;
                if stage.watch.heal() == 0 {
                    break;
                }
                if reached < 6 {
                    bail!("after a failed sync the workflow could not go on");
                }
                self.add(format!("{call:?} {nth} fails"), stage, Moment::first());
            }
        }
        Ok(())
    }

    /// The process is killed, which leaves everything that it has written to the kernel; another
    /// one tries again what was not acknowledged, and goes on.
    fn play_killed(&mut self, most: usize) -> Result<()> {
        let mut killed = Vec::new();
        for scene in &self.scenes {
            if scene.name == LARGE_SCENE {
                continue;
            }
            let step = scene.moments().div_ceil(most.max(1)).max(1);
            for operations in (0..scene.moments()).step_by(step) {
                let moment = scene.at(operations);
                if moment.disk.is_settled() {
                    continue;
                }
                let everything = moment.disk.lose_power(&Loss {
                    files: Keep::Everything,
                    names: Keep::Everything,
                    filler: Filler::OldLength,
                    seed: 0,
                });
                let stage = Stage::new(Honesty::Honest)?;
                stage.furnish(&everything)?;
                let next = moment.begun.max(1);
                let context = || format!("{}, killed after {operations} operations", scene.name);
                stage
                    .session(&self.small, next, next + 1)
                    .with_context(context)?;
                killed.push((context(), stage, moment));
            }
        }
        for (name, stage, moment) in killed {
            self.add(name, stage, moment);
        }
        Ok(())
    }
}

const LARGE_SCENE: &str = "the log is begun anew";

/// A watched place for one run.
struct Stage {
    watch: Watch,
    _place: tempfile::TempDir,
}

impl Stage {
    fn new(honesty: Honesty) -> Result<Self> {
        let place = scratch::in_memory()?;
        Ok(Self {
            watch: Watch::begin(place.path(), honesty)?,
            _place: place,
        })
    }

    /// Puts files there of which the record shall say nothing.
    fn furnish(&self, image: &piton_faultfs::Image) -> Result<()> {
        image.write_to(self.watch.root())?;
        self.watch.take_record();
        Ok(())
    }

    /// Opens the store, appends the events of these numbers, and closes it.
    fn session(&self, events: &[SealedEvent], first: u32, last: u32) -> Result<()> {
        ledger::runtime()?.block_on(async {
            let store = ledger::open(&root(self.watch.root()))?;
            for n in first..=last {
                self.append(&store, events, n).await?;
            }
            store.close().await?;
            Ok(())
        })
    }

    /// Appends the first events, each again with the same handle and then with a new one when it
    /// is refused; gives how many were acknowledged.
    fn persist(&self, events: &[SealedEvent], count: u32) -> Result<u32> {
        ledger::runtime()?.block_on(async {
            let mut store = ledger::open(&root(self.watch.root()))?;
            let mut reached = 0;
            for n in 1..=count {
                for _ in 0..2 {
                    if self.append(&store, events, n).await.is_ok() {
                        reached = n;
                        break;
                    }
                    if self.append(&store, events, n).await.is_ok() {
                        reached = n;
                        break;
                    }
                    store.close().await.ok();
                    store = ledger::open(&root(self.watch.root()))?;
                }
                if reached < n {
                    break;
                }
            }
            store.close().await.ok();
            Ok(reached)
        })
    }

    async fn append(&self, store: &SqliteStore, events: &[SealedEvent], n: u32) -> Result<()> {
        let index = usize::try_from(n)?.saturating_sub(1);
        let event = events.get(index).context("a scene has enough events")?;
        self.watch.remark(Remark::Begun(n));
        store.append(event, ExpectedHead::Any).await?;
        self.watch.remark(Remark::Acknowledged(n));
        Ok(())
    }
}
