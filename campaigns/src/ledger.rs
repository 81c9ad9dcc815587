//! Owns the ledgers that campaigns damage, and the one question that all of them ask: is what a
//! verifier lets through exactly what was acknowledged?

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use piton_ledger::{TransitionEvent, VulnState, WorkflowId};
use piton_sqlite::{SqliteOptions, SqliteStore};
use piton_store::{CheckpointStore, ExpectedHead, SealedEvent, StoreError, Tail};
use piton_verify::{Expectations, ReplayVerdict, ReplayVerifier};
use tokio::runtime::Runtime;

use crate::scratch::{self, Image};

/// The database of a workflow.
pub(crate) const DATABASE: &str = "checkpoints.sqlite";
/// Its write-ahead log.
pub(crate) const LOG: &str = "checkpoints.sqlite-wal";
/// Its shared memory.
pub(crate) const SHARED: &str = "checkpoints.sqlite-shm";
/// The lock file, which holds the pin.
pub(crate) const LOCK: &str = "checkpoints.lock";

/// What a verifier made of a damaged ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Intact, with exactly the events that were acknowledged.
    Same,
    /// Refused, by this verdict.
    Refused(String),
    /// It could not be read, which is never taken for intact.
    Unreadable(String),
    /// Called intact, and older than what was acknowledged. Only where nothing is left that knows
    /// better may a campaign expect this.
    Older,
}

impl Finding {
    /// How the finding is counted.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Same => "verified, exactly as acknowledged".to_owned(),
            Self::Refused(verdict) => format!("refused: {verdict}"),
            Self::Unreadable(error) => format!("could not check: {error}"),
            Self::Older => "not caught: an older history was called intact".to_owned(),
        }
    }
}

/// What is known to have been recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'a> {
    /// Every event whose append was begun, in order.
    pub(crate) attempted: &'a [SealedEvent],
    /// How many of them were acknowledged.
    pub(crate) acknowledged: usize,
}

impl<'a> Known<'a> {
    /// All of them were acknowledged.
    pub(crate) fn exactly(events: &'a [SealedEvent]) -> Self {
        Self {
            attempted: events,
            acknowledged: events.len(),
        }
    }
}

/// A workflow's name in campaigns.
pub(crate) fn workflow(name: &str) -> Result<WorkflowId> {
    name.parse()
        .context("a campaign names well-formed workflows")
}

/// A runtime for one worker.
pub(crate) fn runtime() -> Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting a runtime")
}

/// A store that gives up soon: in a campaign nobody holds a lock that is worth a wait.
pub(crate) fn open(root: &Path) -> Result<SqliteStore, StoreError> {
    let options = SqliteOptions {
        busy_timeout: Duration::from_secs(10),
        ..SqliteOptions::default()
    };
    SqliteStore::with_options(root, options)
}

/// Appends events to a ledger and closes it, so that its log is merged.
pub(crate) async fn record(root: &Path, events: &[SealedEvent]) -> Result<()> {
    let store = open(root)?;
    for event in events {
        store.append(event, ExpectedHead::Any).await?;
    }
    store.close().await?;
    Ok(())
}

/// Appends events to a new ledger and gives its files as a crash at that moment leaves them: the
/// log is not merged, and the shared memory is there.
pub(crate) async fn record_live(
    root: &Path,
    workflow: &WorkflowId,
    events: &[SealedEvent],
) -> Result<Image> {
    let store = open(root)?;
    for event in events {
        store.append(event, ExpectedHead::Any).await?;
    }
    let image = Image::read(&scratch::home(root, workflow))?;
    store.close().await?;
    image.file(LOG)?;
    image.file(SHARED)?;
    Ok(image)
}

/// Verifies a ledger and compares what comes through with what was acknowledged.
///
/// # Errors
///
/// The claim is broken: a history that differs from the acknowledged one was called intact.
pub(crate) async fn judge(
    root: &Path,
    workflow: &WorkflowId,
    known: Known<'_>,
    expected: Option<Tail>,
) -> Result<Finding> {
    refuse_older(examine(root, workflow, known, expected).await?, known)
}

/// As [`judge`], where an older history that is called intact is no failure yet.
///
/// # Errors
///
/// A history that was never appended was called intact.
pub(crate) async fn examine(
    root: &Path,
    workflow: &WorkflowId,
    known: Known<'_>,
    expected: Option<Tail>,
) -> Result<Finding> {
    let store = match open(root) {
        Err(error) => return Ok(Finding::Unreadable(kind(&error))),
        Ok(store) => store,
    };
    let finding = examine_store(&store, workflow, known, expected).await;
    store.close().await?;
    finding
}

fn refuse_older(finding: Finding, known: Known<'_>) -> Result<Finding> {
    ensure!(
        finding != Finding::Older,
        "an older history was called intact, and {} events had been acknowledged",
        known.acknowledged
    );
    Ok(finding)
}

/// As [`judge`], with any store.
///
/// # Errors
///
/// As [`judge`].
pub(crate) async fn judge_store<S: CheckpointStore>(
    store: &S,
    workflow: &WorkflowId,
    known: Known<'_>,
    expected: Option<Tail>,
) -> Result<Finding> {
    let finding = examine_store(store, workflow, known, expected).await?;
    refuse_older(finding, known)
}

/// As [`examine`], with any store.
///
/// # Errors
///
/// As [`examine`].
pub(crate) async fn examine_store<S: CheckpointStore>(
    store: &S,
    workflow: &WorkflowId,
    known: Known<'_>,
    expected: Option<Tail>,
) -> Result<Finding> {
    let expectations = Expectations {
        expected,
        ..Expectations::default()
    };
    let verdict = ReplayVerifier::new(store)
        .verify_against::<VulnState>(workflow, expectations)
        .await
        .map(|checked| checked.verdict);
    classify(verdict, known)
}

fn classify(
    verdict: Result<ReplayVerdict<VulnState>, StoreError>,
    known: Known<'_>,
) -> Result<Finding> {
    let events = match verdict {
        Err(error) => return Ok(Finding::Unreadable(kind(&error))),
        Ok(ReplayVerdict::ChainMismatch(mismatch)) => {
            let cause = mismatch.cause.slug();
            return Ok(Finding::Refused(format!("chain_mismatch, {cause}")));
        }
        Ok(ReplayVerdict::TornWrite(torn)) => {
            let reason = torn.reason.slug();
            return Ok(Finding::Refused(format!("torn_write, {reason}")));
        }
        Ok(ReplayVerdict::EmptyWorkflow { .. }) => Vec::new(),
        Ok(ReplayVerdict::Verified { events, .. }) => events,
    };
    ensure!(
        is_prefix(&events, known.attempted),
        "{} events were called intact, and differ from what was appended",
        events.len()
    );
    Ok(if events.len() < known.acknowledged {
        Finding::Older
    } else {
        Finding::Same
    })
}

fn is_prefix(events: &[TransitionEvent<VulnState>], attempted: &[SealedEvent]) -> bool {
    events.len() <= attempted.len()
        && events
            .iter()
            .zip(attempted)
            .all(|(event, sealed)| event.to_canonical_json().as_bytes() == sealed.bytes())
}

/// What an error is counted as: its kind, without paths and numbers.
pub(crate) fn kind(error: &StoreError) -> String {
    let kind = match error {
        StoreError::Busy { .. } => "busy",
        StoreError::StaleHead { .. } => "stale head",
        StoreError::TransitionConflict { .. } => "the transition conflicts",
        StoreError::PinDamaged { .. } => "the pin is damaged",
        StoreError::PinContradicted { .. } => "the pin contradicts the rows",
        StoreError::UnreadableColumn { .. } => "a column can't be read",
        StoreError::UnreadableEvent { .. } => "an event can't be read",
        StoreError::WrongWorkflow { .. } => "the event is another workflow's",
        StoreError::ChainFull { .. } => "the chain is full",
        StoreError::NewerLayout { .. } => "the layout is newer",
        StoreError::UnknownWorkflow { .. } => "nothing is recorded",
        StoreError::Unfit { .. } => "the files are unfit",
        StoreError::Engine { .. } => "the engine refuses",
        StoreError::Closed => "the store is closed",
        _ => "an error that this campaign does not know",
    };
    kind.to_owned()
}
