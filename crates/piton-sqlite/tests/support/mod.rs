//! Owns what the tests of this crate share: sealed events, stores in temporary places, and looks
//! at the files through another driver. It asserts nothing about the store.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::collections::BTreeMap;
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use piton_ledger::{
    BlobDigest, CanonicalJson, ChainHead, Transition, TransitionEvent, TransitionId, VulnState,
    WorkflowId,
};
use piton_sqlite::{SqliteOptions, SqliteStore};
use piton_store::{
    Appended, CheckpointStore, CheckpointStoreExt, ExpectedHead, PersistedRow, SealedEvent,
};
use tempfile::TempDir;

pub(crate) const DATABASE: &str = "checkpoints.sqlite";
pub(crate) const LOCK: &str = "checkpoints.lock";

pub(crate) fn workflow(text: &str) -> WorkflowId {
    text.parse().expect("the test's workflow id is valid")
}

/// The event of one number: the same number gives the same id and bytes.
pub(crate) fn event(workflow: &WorkflowId, number: u128) -> SealedEvent {
    event_with(workflow, number, &format!(r#"{{"number": {number}}}"#))
}

pub(crate) fn event_with(workflow: &WorkflowId, number: u128, outcome: &str) -> SealedEvent {
    let event = TransitionEvent::try_from(Transition {
        transition_id: TransitionId::from_bits(number),
        prior_state_id: VulnState::NeedsPlan,
        next_state_id: VulnState::PlanReady,
        triggering_outcome: CanonicalJson::parse(outcome.as_bytes()).expect("valid JSON"),
        evidence_digest: BlobDigest::from_bytes([7; 32]),
        chain_head: ChainHead::GENESIS,
        workflow_id: workflow.clone(),
    })
    .expect("the edge is legal");
    piton_store::seal(&event).expect("the event can be sealed")
}

pub(crate) struct Place {
    pub(crate) directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("ledgers")
    }

    pub(crate) fn store(&self) -> SqliteStore {
        SqliteStore::open(self.root()).expect("the store opens")
    }

    pub(crate) fn impatient_store(&self) -> SqliteStore {
        SqliteStore::with_options(
            self.root(),
            SqliteOptions {
                busy_timeout: Duration::from_millis(50),
                ..SqliteOptions::default()
            },
        )
        .expect("the store opens")
    }

    pub(crate) fn home(&self, workflow: &WorkflowId) -> PathBuf {
        self.root().join(workflow.as_str())
    }

    pub(crate) fn database(&self, workflow: &WorkflowId) -> PathBuf {
        self.home(workflow).join(DATABASE)
    }

    pub(crate) fn lock_file(&self, workflow: &WorkflowId) -> PathBuf {
        self.home(workflow).join(LOCK)
    }

    pub(crate) fn wal(&self, workflow: &WorkflowId) -> PathBuf {
        self.home(workflow).join("checkpoints.sqlite-wal")
    }
}

/// Runs a test's future on a runtime of its own.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
        .block_on(future)
}

pub(crate) async fn append(store: &SqliteStore, workflow: &WorkflowId, number: u128) -> Appended {
    store
        .append(&event(workflow, number), ExpectedHead::Any)
        .await
        .expect("the append succeeds")
}

/// Appends the events 1 to `count` and closes the store, so that the log is merged and gone.
pub(crate) async fn cold_ledger(place: &Place, workflow: &WorkflowId, count: u128) -> ChainHead {
    let store = place.store();
    let mut head = ChainHead::GENESIS;
    for number in 1..=count {
        head = append(&store, workflow, number).await.head;
    }
    store.close().await.expect("the store closes");
    head
}

pub(crate) async fn rows(store: &SqliteStore, workflow: &WorkflowId) -> Vec<PersistedRow> {
    store
        .collect_rows(workflow)
        .await
        .expect("the chain can be read")
}

/// Checks C1 and C2 by hand, row by row.
pub(crate) fn assert_linked(workflow: &WorkflowId, rows: &[PersistedRow]) {
    let mut prior = ChainHead::GENESIS;
    for (index, row) in rows.iter().enumerate() {
        let bytes = row.event_bytes.as_deref().expect("an event");
        let event = TransitionEvent::<VulnState>::parse(bytes).expect("a readable event");
        let sealed = piton_store::seal(&event).expect("a sealable event");
        assert_eq!(Ok(row.sequence), i64::try_from(index + 1), "dense");
        assert_eq!(event.workflow_id(), workflow);
        assert_eq!(sealed.bytes(), bytes, "canonical bytes");
        assert_eq!(
            row.prior_head.to_head(),
            Some(prior),
            "prior head of row {}",
            row.sequence
        );
        prior = sealed.link(&prior);
        assert_eq!(
            row.next_head.to_head(),
            Some(prior),
            "next head of row {}",
            row.sequence
        );
    }
}

/// Opens a database through another driver.
pub(crate) fn raw(path: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(path).expect("the database opens")
}

/// Every file beneath a directory, with its length and a fingerprint of its bytes.
pub(crate) fn files(directory: &Path) -> BTreeMap<PathBuf, (usize, u64)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).expect("a readable directory") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            found.insert(path.clone(), (0, 0));
            found.extend(files(&path));
        } else {
            let bytes = std::fs::read(&path).expect("a readable file");
            let mut hasher = DefaultHasher::new();
            bytes.hash(&mut hasher);
            found.insert(path, (bytes.len(), hasher.finish()));
        }
    }
    found
}

/// Copies the named files of one directory to another.
pub(crate) fn copy_files(from: &Path, to: &Path, names: &[&str]) {
    std::fs::create_dir_all(to).expect("a writable place");
    for name in names {
        std::fs::copy(from.join(name), to.join(name)).expect("a readable file");
    }
}
