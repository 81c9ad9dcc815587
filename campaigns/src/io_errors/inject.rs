//! Owns the ordered failures of calls, one after the other. It fills no disk.

use anyhow::{Context as _, Result, ensure};
use piton_faultfs::{
    Call, Disk, Failure, Filler, Honesty, Image, Keep, Loss, Method, Outcome, Watch,
};
use piton_ledger::WorkflowId;
use piton_sqlite::{SqliteOptions, SqliteStore};
use piton_store::{
    CheckpointStore, CheckpointStoreExt, ExpectedHead, Retry, SealedEvent, StoreError,
};
use piton_testkit::history;

use super::PATIENCE;
use crate::evidence::Evidence;
use crate::ledger::{self, Finding, Known};
use crate::plan::Plan;
use crate::scratch;

/// `EIO`
const INPUT_OUTPUT: Outcome = Outcome::Errno(5);
/// `ENOSPC`
const NO_SPACE: Outcome = Outcome::Errno(28);

/// What is being done while a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Create,
    Reopen,
    Append,
    Checkpoint,
    Close,
}

impl Phase {
    const ALL: [Self; 5] = [
        Self::Create,
        Self::Reopen,
        Self::Append,
        Self::Checkpoint,
        Self::Close,
    ];

    fn kind(self) -> &'static str {
        match self {
            Self::Create => "a call fails while a workflow is being made",
            Self::Reopen => "a call fails at the first append of a process",
            Self::Append => "a call fails at a later append",
            Self::Checkpoint => "a call fails while the log is moved into the database",
            Self::Close => "a call fails while the store is closed",
        }
    }
}

/// A ledger as it stands before a failure.
struct Before {
    image: Image,
    disk: Disk,
    acknowledged: usize,
}

/// One failing call.
#[derive(Debug, Clone)]
struct Trial {
    phase: Phase,
    failure: Failure,
    /// A short write is followed by a full disk.
    is_short: bool,
}

struct Campaign {
    workflow: WorkflowId,
    small: Vec<SealedEvent>,
    large: Vec<SealedEvent>,
    empty: Before,
    recorded: Before,
    brimming: Before,
}

pub(super) fn run(plan: &Plan, evidence: &mut Evidence) -> Result<()> {
    if let Err(code) = piton_faultfs::install() {
        anyhow::bail!("SQLite declines the failing file layer with code {code}");
    }
    for phase in Phase::ALL {
        evidence.announce(&[phase.kind()]);
    }
    evidence.announce(&["a note of the pin fails"]);
    let campaign = Campaign::prepare()?;
    let step = plan.pick(1, 23);
    let mut kinds = 0;
    for phase in Phase::ALL {
        for call in calls() {
            for (failure, is_short) in failures(call) {
                kinds += 1;
                campaign.each_call(phase, &failure, is_short, step, evidence)?;
            }
        }
    }
    for lasting in [false, true] {
        for outcome in [INPUT_OUTPUT, NO_SPACE] {
            let failure = Failure::once(Call::Write, 1, outcome).only(ledger::LOCK);
            let failure = if lasting { failure.lasting() } else { failure };
            for phase in [Phase::Create, Phase::Reopen, Phase::Append] {
                campaign.each_call(phase, &failure, false, 1, evidence)?;
            }
        }
    }
    evidence.figure("kinds of failure, with the phase and the call", kinds);
    Ok(())
}

fn calls() -> Vec<Call> {
    let methods = Method::ALL.into_iter().map(Call::Sqlite);
    Call::SYSTEM.into_iter().chain(methods).collect()
}

/// The ways in which one kind of call fails, each with its first call.
fn failures(call: Call) -> Vec<(Failure, bool)> {
    let outcomes: Vec<Outcome> = match call {
        Call::Sqlite(method) => codes(method)
            .iter()
            .map(|code| Outcome::Code(*code))
            .collect(),
        Call::Read | Call::Sync | Call::SyncDirectory | Call::Unlink => vec![INPUT_OUTPUT],
        Call::Open | Call::Write | Call::Truncate | Call::Rename | Call::MakeDirectory => {
            vec![INPUT_OUTPUT, NO_SPACE]
        }
    };
    let mut failures = Vec::new();
    for outcome in outcomes {
        let once = Failure::once(call, 1, outcome);
        failures.push((once.clone(), false));
        failures.push((once.lasting(), false));
    }
    if call == Call::Write {
        failures.push((Failure::once(call, 1, Outcome::Short), true));
    }
    failures
}

/// Result codes of SQLite's file layer, from its documentation.
fn codes(method: Method) -> &'static [i32] {
    match method {
        Method::Open => &[14],
        Method::Delete => &[2570],
        Method::Access => &[3338],
        Method::Read => &[266, 522],
        Method::Write => &[778, 13],
        Method::Truncate => &[1546],
        Method::Sync => &[1034],
        Method::FileSize => &[1802],
        Method::Lock => &[3850],
        Method::ShmMap => &[5386],
        Method::ShmLock => &[5130],
    }
}

fn everything(disk: &Disk) -> Image {
    lose(disk, Keep::Everything)
}

fn lose(disk: &Disk, keep: Keep) -> Image {
    disk.lose_power(&Loss {
        files: keep,
        names: keep,
        filler: Filler::OldLength,
        seed: 0,
    })
}

fn open(watch: &Watch) -> Result<SqliteStore, StoreError> {
    let options = SqliteOptions {
        busy_timeout: PATIENCE,
        ..SqliteOptions::default()
    };
    SqliteStore::with_options(watch.root().join("ledgers"), options)
}

impl Campaign {
    fn prepare() -> Result<Self> {
        let workflow = ledger::workflow("failing")?;
        let outcome = format!(r#"{{"log":"{}"}}"#, "all is well. ".repeat(2_300));
        let small = history::first(&workflow, 8);
        let large: Vec<_> = (1..=140)
            .map(|n| history::nth_with(&workflow, n, &outcome))
            .collect();
        Ok(Self {
            empty: Before::record(&[])?,
            recorded: Before::record(&small[..2])?,
            brimming: Before::brimming(&large)?,
            workflow,
            small,
            large,
        })
    }

    fn before(&self, phase: Phase) -> (&Before, &[SealedEvent]) {
        match phase {
            Phase::Create => (&self.empty, &self.small),
            Phase::Reopen | Phase::Append | Phase::Close => (&self.recorded, &self.small),
            Phase::Checkpoint => (&self.brimming, &self.large),
        }
    }

    /// Lets the first call fail, then the second, until there is none left to fail.
    fn each_call(
        &self,
        phase: Phase,
        failure: &Failure,
        is_short: bool,
        step: u64,
        evidence: &mut Evidence,
    ) -> Result<()> {
        let mut nth = 1;
        loop {
            let trial = Trial {
                phase,
                failure: Failure {
                    nth,
                    ..failure.clone()
                },
                is_short,
            };
            let labels = ledger::runtime()?
                .block_on(self.attempt(&trial))
                .with_context(|| format!("{trial:?}"))?;
            let Some(labels) = labels else {
                return Ok(());
            };
            let kind = if failure.only.is_some() {
                "a note of the pin fails"
            } else {
                phase.kind()
            };
            for label in labels {
                evidence.count(kind, label, 1);
            }
            // The log is moved page by page, and one page is like the next.
            nth += match phase {
                Phase::Checkpoint if nth > 40 => step * 97,
                Phase::Checkpoint
                | Phase::Create
                | Phase::Reopen
                | Phase::Append
                | Phase::Close => step,
            };
        }
    }

    /// Makes one failing attempt; gives what came of it, or nothing if there was no such call.
    async fn attempt(&self, trial: &Trial) -> Result<Option<Vec<String>>> {
        let (before, events) = self.before(trial.phase);
        let place = scratch::in_memory()?;
        let watch = Watch::begin(place.path(), Honesty::Honest)?;
        before.image.write_to(watch.root())?;
        watch.take_record();
        let mut disk = before.disk.clone();
        let mut acknowledged = before.acknowledged;
        let mut store = open(&watch)?;
        if matches!(trial.phase, Phase::Append | Phase::Close) {
            store
                .append(&events[acknowledged], ExpectedHead::Any)
                .await?;
            acknowledged += 1;
        }
        watch.take_counts();
        watch.fail(trial.failure.clone());
        if trial.is_short {
            let full = Failure::once(Call::Write, trial.failure.nth + 1, NO_SPACE);
            watch.fail(full.lasting());
        }
        let outcome = if trial.phase == Phase::Close {
            store.close().await
        } else {
            let event = &events[acknowledged];
            store.append(event, ExpectedHead::Any).await.map(drop)
        };
        let hits = watch.heal();
        for op in watch.take_record() {
            disk.apply(&op);
        }
        if hits == 0 {
            store.close().await?;
            return Ok(None);
        }
        let mut labels = Vec::new();
        if trial.phase == Phase::Close {
            store = open(&watch)?;
            labels.push(match &outcome {
                Ok(()) => "closed all the same".to_owned(),
                Err(error) => format!("closing refused, {}", advice(error)),
            });
        } else {
            match &outcome {
                Ok(()) => {
                    acknowledged += 1;
                    labels.push("acknowledged all the same, and durable".to_owned());
                }
                Err(error) => labels.push(self.refused(error, &watch, events, acknowledged).await?),
            }
        }
        // What is acknowledged outlasts a power loss now.
        self.check_disk(&disk, events, acknowledged).await?;
        // Once the disk works again, so does the store, with a connection of its own.
        watch.take_counts();
        let event = &events[acknowledged];
        store
            .append(event, ExpectedHead::Any)
            .await
            .context("the disk works again")?;
        let is_written = matches!(
            trial.failure.call,
            Call::Sync | Call::Write | Call::Sqlite(Method::Sync | Method::Write)
        );
        if outcome.is_err() && is_written && trial.phase != Phase::Close {
            let opened = watch
                .take_counts()
                .contains_key(&Call::Sqlite(Method::Open));
            ensure!(opened, "a connection was used again after a failure");
        }
        for op in watch.take_record() {
            disk.apply(&op);
        }
        self.check_disk(&disk, events, acknowledged + 1).await?;
        store.close().await?;
        Ok(Some(labels))
    }

    /// Looks at what a refused append has left, and says it.
    async fn refused(
        &self,
        error: &StoreError,
        watch: &Watch,
        events: &[SealedEvent],
        acknowledged: usize,
    ) -> Result<String> {
        let text = error.to_string();
        ensure!(
            text.contains(&format!("workflow {}", self.workflow)),
            "the error names no workflow: {text}"
        );
        let known = Known {
            attempted: &events[..=acknowledged],
            acknowledged,
        };
        let root = watch.root().join("ledgers");
        let found = ledger::judge(&root, &self.workflow, known, None).await?;
        ensure!(found == Finding::Same, "after `{text}`: {}", found.label());
        let reader = open(watch)?;
        let rows = reader.collect_rows(&self.workflow).await?.len();
        let pin = reader.pinned_tail(&self.workflow).await?;
        let pinned = pin
            .and_then(|pin| pin.sequence())
            .map_or(0, piton_ledger::Sequence::to_u64);
        reader.close().await?;
        ensure!(
            usize::try_from(pinned)? <= rows,
            "the pin leads: {pinned} of {rows}"
        );
        let left = if rows == acknowledged {
            "rows and pin as they were"
        } else {
            "the row is there, and its retry finds it"
        };
        Ok(format!("refused, {left}, {}", advice(error)))
    }

    async fn check_disk(
        &self,
        disk: &Disk,
        events: &[SealedEvent],
        acknowledged: usize,
    ) -> Result<()> {
        let place = scratch::in_memory()?;
        lose(disk, Keep::Nothing).write_to(place.path())?;
        let most = events.len().min(acknowledged + 1);
        let known = Known {
            attempted: &events[..most],
            acknowledged,
        };
        let root = place.path().join("ledgers");
        let found = ledger::judge(&root, &self.workflow, known, None)
            .await
            .context("after a power loss")?;
        let is_fresh = acknowledged == 0;
        ensure!(
            found == Finding::Same || is_fresh,
            "after a power loss: {}",
            found.label()
        );
        Ok(())
    }
}

fn advice(error: &StoreError) -> &'static str {
    match error.retry() {
        Retry::Helps => "a retry can help",
        Retry::IsUseless => "something must change first",
    }
}

impl Before {
    /// Records events and closes.
    fn record(events: &[SealedEvent]) -> Result<Self> {
        let place = scratch::in_memory()?;
        let watch = Watch::begin(place.path(), Honesty::Honest)?;
        if !events.is_empty() {
            let root = watch.root().join("ledgers");
            ledger::runtime()?.block_on(ledger::record(&root, events))?;
        }
        Ok(Self::of(&watch, events.len()))
    }

    /// Records events until SQLite moves its log, and gives the ledger as it stood just before.
    fn brimming(events: &[SealedEvent]) -> Result<Self> {
        let place = scratch::in_memory()?;
        let watch = Watch::begin(place.path(), Honesty::Honest)?;
        let database = watch.root().join("ledgers/failing").join(ledger::DATABASE);
        ledger::runtime()?.block_on(async {
            let store = open(&watch)?;
            let mut disk = Disk::new();
            let mut length = None;
            for (count, event) in events.iter().enumerate() {
                let before = (everything(&disk), disk.clone());
                store.append(event, ExpectedHead::Any).await?;
                for op in watch.take_record() {
                    disk.apply(&op);
                }
                let now = std::fs::metadata(&database)?.len();
                if length.is_some_and(|length| length != now) {
                    store.close().await?;
                    return Ok(Self {
                        image: before.0,
                        disk: before.1,
                        acknowledged: count,
                    });
                }
                length = Some(now);
            }
            anyhow::bail!("SQLite never moved its log")
        })
    }

    fn of(watch: &Watch, acknowledged: usize) -> Self {
        let mut disk = Disk::new();
        for op in watch.take_record() {
            disk.apply(&op);
        }
        Self {
            image: everything(&disk),
            disk,
            acknowledged,
        }
    }
}
