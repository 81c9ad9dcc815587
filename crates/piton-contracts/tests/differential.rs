//! The same random histories into every adapter: the same sequences, ids, heads and bytes.

use piton_ledger::{TransitionEvent, VulnState, WorkflowId};
use piton_memory::MemoryStore;
use piton_postgres::{PostgresOptions, PostgresStore};
use piton_sqlite::SqliteStore;
use piton_store::{CheckpointStore, CheckpointStoreExt, ExpectedHead, seal};
use piton_testkit::strategy::arbitrary_history;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// What two adapters must agree on, whatever types their columns have.
type Seen = Vec<(i64, String, [u8; 32], [u8; 32], Vec<u8>)>;

async fn record<S: CheckpointStore>(
    store: &S,
    workflow: &WorkflowId,
    history: &[TransitionEvent<VulnState>],
) -> Seen {
    for event in history {
        store
            .append(&seal(event).expect("sealable"), ExpectedHead::Any)
            .await
            .expect("an append");
    }
    let rows = store.collect_rows(workflow).await.expect("rows");
    rows.into_iter()
        .map(|row| {
            let head = |stored: &piton_store::Stored| *stored.to_head().expect("a head").as_bytes();
            (
                row.sequence,
                row.transition_id.as_text().expect("text").to_owned(),
                head(&row.prior_head),
                head(&row.next_head),
                row.event_bytes.expect("bytes"),
            )
        })
        .collect()
}

#[test]
fn the_adapters_hold_the_same_bytes_and_heads() {
    let variable = "PITON_TEST_POSTGRES_URL";
    let url = std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} names no server; run `cargo xtask test`, which starts one")
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let directory = tempfile::tempdir().expect("a directory");
    let schema = format!("differential_{}", std::process::id())
        .parse()
        .expect("a schema name");
    let postgres = PostgresStore::with_options(
        &url,
        PostgresOptions {
            schema,
            ..PostgresOptions::default()
        },
    );
    let postgres = postgres.expect("a URL");
    runtime.block_on(postgres.migrate()).expect("a schema");
    let sqlite = SqliteStore::open(directory.path()).expect("a store");
    let memory = MemoryStore::new();

    let history = any::<u32>().prop_flat_map(|salt| {
        let workflow: WorkflowId = format!("w{salt}").parse().expect("a workflow id");
        arbitrary_history(workflow, 8)
    });
    let mut runner = TestRunner::new(Config {
        cases: 32,
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(&history, |history| {
            let workflow = history[0].workflow_id().clone();
            let [one, two, three] = runtime.block_on(async {
                [
                    record(&memory, &workflow, &history).await,
                    record(&sqlite, &workflow, &history).await,
                    record(&postgres, &workflow, &history).await,
                ]
            });
            prop_assert_eq!(one.len(), history.len());
            prop_assert_eq!(&one, &two);
            prop_assert_eq!(&one, &three);
            Ok(())
        })
        .expect("the adapters agree");
}
