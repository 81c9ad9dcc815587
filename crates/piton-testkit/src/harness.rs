//! Owns how a user of the kit opens stores, and the runtime that a case runs on. It judges
//! nothing.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use piton_ledger::WorkflowId;
use piton_memory::MemoryStore;
use piton_store::{
    AnyStore, AppendBatch, CheckpointStore, PersistedRow, Repin, Tail, WorkflowCatalog,
};

use crate::tamper::TamperedStore;

/// Gives the time that is written beside a row.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How a store is to be opened.
#[derive(Clone)]
pub struct Settings {
    /// The clock that the store writes from.
    pub clock: Clock,
    /// How long a waiter waits for an append lock.
    pub busy_timeout: Duration,
}

impl Default for Settings {
    /// Gives the system clock, and a time-out that no healthy store reaches.
    fn default() -> Self {
        Self {
            clock: Arc::new(Timestamp::now),
            busy_timeout: Duration::from_secs(30),
        }
    }
}

impl Settings {
    /// Gives the settings of a waiter that gives up soon.
    pub fn impatient() -> Self {
        Self {
            busy_timeout: Duration::from_millis(80),
            ..Self::default()
        }
    }

    /// Gives the settings of a store whose clock stands still.
    pub fn at(time: Timestamp) -> Self {
        Self {
            clock: Arc::new(move || time),
            ..Self::default()
        }
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("busy_timeout", &self.busy_timeout)
            .finish_non_exhaustive()
    }
}

/// What a store makes of two workflow ids that differ in case alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdCase {
    /// They are two ledgers.
    TwoLedgers,
    /// The second is refused, because the file system can't tell them apart.
    SecondRefused,
}

/// Backing data of one engine, empty at the start and removed when the harness is dropped.
///
/// A store in memory is opened on the same map; a file store by opening the same temporary directory
/// again; a database store by connecting to the same schema again.
pub trait Harness: Sized + Send + Sync + 'static {
    /// The store under test.
    type Store: WorkflowCatalog<Lock: Repin + AppendBatch>;

    /// Makes empty backing data that nobody else uses.
    fn start() -> impl Future<Output = Self> + Send;

    /// Opens a further handle on the same data, as independent as another process would be.
    fn open(&self, settings: Settings) -> impl Future<Output = Self::Store> + Send;

    /// Says what this place makes of two ids that differ in case alone.
    fn id_case(&self) -> IdCase {
        IdCase::TwoLedgers
    }
}

/// A harness that can put damaged rows beneath a store.
pub trait TamperHarness: Harness {
    /// A store that serves what was put beneath it.
    type Tampered: CheckpointStore;

    /// Replaces everything that is stored of one workflow, past every constraint of the engine,
    /// and opens a store on it.
    ///
    /// The rows come in the order in which they must be read: ascending by sequence, and in the
    /// given order where two are equal. A SQL engine replaces the table by one without keys,
    /// constraints and indexes, keeps each column's kind (text, bytes or NULL), and rewrites its
    /// note of the tail. A pin of none stands for a ledger that has no note, as one in the
    /// original's layout.
    fn tampered(
        &self,
        workflow: &WorkflowId,
        rows: Vec<PersistedRow>,
        pin: Option<Tail>,
    ) -> impl Future<Output = Self::Tampered> + Send;
}

/// The model: a store in memory.
#[derive(Debug)]
pub struct MemoryHarness(MemoryStore);

impl Harness for MemoryHarness {
    type Store = MemoryStore;

    async fn start() -> Self {
        Self(MemoryStore::new())
    }

    async fn open(&self, settings: Settings) -> MemoryStore {
        self.0
            .reopen()
            .with_clock(settings.clock)
            .with_busy_timeout(settings.busy_timeout)
    }
}

impl TamperHarness for MemoryHarness {
    type Tampered = TamperedStore<MemoryStore>;

    async fn tampered(
        &self,
        workflow: &WorkflowId,
        rows: Vec<PersistedRow>,
        pin: Option<Tail>,
    ) -> Self::Tampered {
        TamperedStore::new(self.0.reopen(), workflow.clone(), rows, pin)
    }
}

/// Another harness whose stores are erased, so that [`AnyStore`] keeps the same contract.
#[derive(Debug)]
pub struct Erased<H>(H);

impl<H: Harness> Harness for Erased<H> {
    type Store = AnyStore;

    async fn start() -> Self {
        Self(H::start().await)
    }

    async fn open(&self, settings: Settings) -> AnyStore {
        AnyStore::new(self.0.open(settings).await)
    }

    fn id_case(&self) -> IdCase {
        self.0.id_case()
    }
}

/// Runs one case to its end on a runtime with real threads, so that races are real.
pub fn run<F: Future<Output = ()>>(case: F) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts")
        .block_on(case);
}
