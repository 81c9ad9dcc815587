//! What a subscriber hears of appends, lock waits, retries and walks, and that it is never the
//! text of an event.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use piton_ledger::{VulnState, WorkflowId};
use piton_postgres::{PostgresOptions, PostgresStore};
use piton_sqlite::SqliteStore;
use piton_store::{AppendBatch, AppendLock, Batch, CheckpointStore, ExpectedHead};
use piton_testkit::history;
use piton_verify::{Expectations, ReplayVerifier};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The name of a span or event of ours, and its fields as text.
type Heard = (String, BTreeMap<String, String>);

/// Notes every span and event of this workspace.
#[derive(Debug, Clone, Default)]
struct Listener {
    heard: Arc<Mutex<Vec<Heard>>>,
}

#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("piton_")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let mut heard = self.heard.lock().expect("no poison");
        heard.push((attributes.metadata().name().to_owned(), fields.0));
        Id::from_u64(u64::try_from(heard.len()).expect("few"))
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let name = fields.0.get("message").cloned().unwrap_or_default();
        let mut heard = self.heard.lock().expect("no poison");
        heard.push((name, fields.0));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Runs what is asked and gives what was heard of it.
fn listen<F: Future<Output = ()>>(work: F) -> Vec<Heard> {
    let listener = Listener::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    tracing::subscriber::with_default(listener.clone(), || runtime.block_on(work));
    let heard = listener.heard.lock().expect("no poison");
    heard.clone()
}

/// Appends under a lock, alone and as a batch, and walks.
async fn use_store<S>(store: &S, workflow: &WorkflowId)
where
    S: CheckpointStore<Lock: AppendBatch>,
{
    let event = |number| history::nth_with(workflow, number, r#""spoken of nowhere""#);
    let appended = store.append(&event(1), ExpectedHead::Any).await;
    appended.expect("the first");
    let mut lock = store.lock(workflow).await.expect("the lock is free");
    let appended = lock.append(&event(2), ExpectedHead::Any).await;
    appended.expect("the second");
    let batch = Batch::new(vec![event(3), event(4)]).expect("a batch");
    let appended = lock.append_batch(&batch, ExpectedHead::Any).await;
    appended.expect("the batch");
    lock.release().await.expect("released");
    let verifier = ReplayVerifier::new(store);
    let audit = verifier.audit::<VulnState>(workflow, Expectations::default(), |_| ());
    audit.await.expect("readable");
    // A refusal is told as well.
    let stale = ExpectedHead::Exactly(piton_ledger::ChainHead::GENESIS);
    let refused = store.append(&event(5), stale).await;
    refused.expect_err("the tail has moved");
}

#[track_caller]
fn check(heard: &[Heard], workflow: &WorkflowId) {
    let spans = |name: &str| -> Vec<&BTreeMap<String, String>> {
        let named = heard.iter().filter(|(other, _)| other == name);
        named.map(|(_, fields)| fields).collect()
    };
    let events: Vec<&str> = spans("append")
        .iter()
        .map(|fields| fields["events"].as_str())
        .collect();
    assert_eq!(events, ["1", "1", "2", "1"], "{heard:?}");
    assert!(!spans("lock").is_empty(), "{heard:?}");
    let [walk] = spans("walked")[..] else {
        panic!("one walk: {heard:?}")
    };
    assert_eq!(
        (walk["rows"].as_str(), walk["intact"].as_str()),
        ("4", "true")
    );
    for span in ["append", "lock", "verify"].into_iter().flat_map(spans) {
        assert_eq!(span["workflow"], workflow.to_string());
    }
    let told = format!("{heard:?}");
    assert!(told.contains("stale head"), "the refusal: {told}");
    assert!(!told.contains("spoken of nowhere"), "no text of an event");
}

#[test]
fn sqlite_tells_of_appends_locks_and_walks() {
    let root = tempfile::tempdir().expect("a directory");
    let store = SqliteStore::open(root.path()).expect("a store");
    let workflow = history::workflow("told");
    check(&listen(use_store(&store, &workflow)), &workflow);
}

fn postgres() -> (PostgresStore, WorkflowId) {
    let variable = "PITON_TEST_POSTGRES_URL";
    let url = std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} names no server; run `cargo xtask test`, which starts one")
    });
    let schema = format!("tracing_{}", std::process::id());
    let options = PostgresOptions {
        schema: schema.parse().expect("a schema name"),
        busy_timeout: std::time::Duration::from_millis(300),
        ..PostgresOptions::default()
    };
    let store = PostgresStore::with_options(&url, options).expect("a URL");
    (store, history::workflow("told"))
}

#[test]
fn postgres_tells_of_appends_locks_retries_and_walks() {
    let (store, workflow) = postgres();
    let heard = listen(async {
        store.migrate().await.expect("a schema");
        use_store(&store, &workflow).await;
    });
    check(&heard, &workflow);
    assert!(heard.iter().all(|(name, _)| name != "retry"), "{heard:?}");

    let (holder, _) = postgres();
    let heard = listen(async {
        let held = holder.lock(&workflow).await.expect("the lock is free");
        let event = history::nth(&workflow, 9);
        let refused = store.append(&event, ExpectedHead::Any).await;
        refused.expect_err("somebody holds the lock");
        held.release().await.expect("released");
    });
    assert!(heard.iter().any(|(name, _)| name == "retry"), "{heard:?}");
}
