//! Owns the ledgers and the bare-driver floors that measurements run on.

use std::path::Path;

use piton_chain::link;
use piton_ledger::{
    CanonicalJson, ChainHead, StateMachine, Transition, TransitionEvent, TransitionId, VulnState,
    WorkflowId,
};
use piton_sqlite::SqliteStore;
use piton_store::{CheckpointStore, ExpectedHead, Tail, seal};
use rusqlite::{Connection, params};

/// An outcome that makes an event of 533 canonical bytes.
pub const OUTCOME: &str = r#"{"advisory":"GHSA-xvch-5gv4-984h","attempt":1,"duration_ms":4821345,"gate":"unit-tests","package":"minimist","passed":true,"range":"<1.2.6","tests":{"failed":0,"passed":412,"skipped":3}}"#;

/// The workflow of every measurement.
pub fn workflow() -> WorkflowId {
    "remediate-CVE-2021-44906".parse().expect("a workflow id")
}

/// Makes the n-th event of an endless legal history.
pub fn event(number: u64, outcome: &CanonicalJson) -> TransitionEvent<VulnState> {
    event_of(&workflow(), number, outcome)
}

/// Makes the n-th event of an endless legal history of another workflow.
pub fn event_of(
    workflow: &WorkflowId,
    number: u64,
    outcome: &CanonicalJson,
) -> TransitionEvent<VulnState> {
    let edges: Vec<_> = VulnState::KINDS
        .iter()
        .flat_map(|prior| prior.successors().iter().map(move |next| (*prior, *next)))
        .filter(|(_, next)| next.is_boundary())
        .collect();
    let place = usize::try_from(number).expect("small") % edges.len();
    let (prior_state_id, next_state_id) = edges[place];
    let transition = Transition {
        transition_id: TransitionId::from_bits((1 << 120) + u128::from(number)),
        prior_state_id,
        next_state_id,
        triggering_outcome: outcome.clone(),
        evidence_digest: format!("blake3:{}", "a".repeat(64))
            .parse()
            .expect("a digest"),
        chain_head: ChainHead::GENESIS,
        workflow_id: workflow.clone(),
    };
    transition.try_into().expect("a legal edge")
}

/// Makes the runtime that measurements run on.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Opens a database through the bare driver, under the pragmas that Piton demands of its own.
pub fn open_bare(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("a database");
    connection
        .execute_batch(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA busy_timeout=5000;",
        )
        .expect("pragmas");
    connection
        .execute_batch(piton_sqlite::SCHEMA)
        .expect("the schema");
    connection
}

/// Writes a ledger of many rows in one transaction through the bare driver, in the layout of the
/// original, and gives its tail.
pub fn bulk_ledger(root: &Path, rows: u64) -> Tail {
    let directory = root.join(workflow().as_str());
    std::fs::create_dir_all(&directory).expect("a directory");
    let mut connection = open_bare(&directory.join("checkpoints.sqlite"));
    let transaction = connection.transaction().expect("a transaction");
    let outcome = CanonicalJson::parse(OUTCOME.as_bytes()).expect("JSON");
    let mut tail = Tail::Empty;
    {
        let mut insert = transaction
            .prepare("INSERT INTO checkpoint_chain VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
            .expect("a statement");
        for number in 0..rows {
            let sealed = seal(&event(number, &outcome)).expect("sealable");
            let sequence = tail.next_sequence().expect("not full");
            let prior = tail.head();
            let head = sealed.link(&prior);
            insert
                .execute(params![
                    sequence.to_i64(),
                    sealed.transition_id().to_string(),
                    prior.to_string(),
                    head.to_string(),
                    sealed.bytes(),
                    "2026-01-01T00:00:00Z"
                ])
                .expect("a row");
            tail = Tail::At { sequence, head };
        }
    }
    transaction.commit().expect("a commit");
    tail
}

/// Makes many ledgers at rest, each a copy of one that the store has written, and names them.
pub fn bulk_ledgers(root: &Path, count: u32, rows: u64) -> Vec<WorkflowId> {
    let ids: Vec<WorkflowId> = (0..count)
        .map(|number| {
            format!("remediate-{number:05}")
                .parse()
                .expect("a workflow id")
        })
        .collect();
    let (first, others) = ids.split_first().expect("at least one");
    let outcome = CanonicalJson::parse(OUTCOME.as_bytes()).expect("JSON");
    runtime().block_on(async {
        let store = SqliteStore::open(root).expect("a store");
        for number in 0..rows {
            let sealed = seal(&event_of(first, number, &outcome)).expect("sealable");
            let append = store.append(&sealed, ExpectedHead::Any).await;
            append.expect("an append");
        }
        store.close().await.expect("the store closes");
    });
    let from = root.join(first.as_str());
    for id in others {
        let to = root.join(id.as_str());
        std::fs::create_dir(&to).expect("a directory");
        for name in ["checkpoints.sqlite", "checkpoints.lock"] {
            std::fs::copy(from.join(name), to.join(name)).expect("a copy");
        }
    }
    ids
}

/// The floor of hydration: one thread scans, hashes and parses into the same types.
pub fn scan_hash_parse(path: &Path) -> Vec<TransitionEvent<VulnState>> {
    let connection = Connection::open(path).expect("a database");
    let mut scan = connection
        .prepare("SELECT next_head, event_bytes FROM checkpoint_chain ORDER BY sequence")
        .expect("a statement");
    let mut rows = scan.query([]).expect("rows");
    let mut events = Vec::new();
    let mut head = ChainHead::GENESIS;
    while let Some(row) = rows.next().expect("a row") {
        let stored: ChainHead = row
            .get_ref(0)
            .expect("a head")
            .as_str()
            .expect("text")
            .parse()
            .expect("a head");
        let bytes = row.get_ref(1).expect("bytes").as_blob().expect("a blob");
        head = link(&head, bytes);
        assert_eq!(head, stored);
        events.push(TransitionEvent::parse(bytes).expect("an event"));
    }
    events
}
