//! Owns the ledgers that the scripts find: written at known times, and then tampered with.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use piton_ledger::{ChainHead, TransitionEvent, VulnState};
use piton_sqlite::{SqliteOptions, SqliteStore};
use piton_store::{CheckpointStore, ExpectedHead, seal};
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

/// 2025-07-01T00:00:00Z.
const FIRST_SECOND: i64 = 1_751_328_000;

/// Makes the ledgers `intact`, `changed`, `cut` and `newer`, of three events each.
pub(super) async fn prepare(root: &Path) {
    let seconds = AtomicI64::new(FIRST_SECOND);
    let options = SqliteOptions {
        clock: Arc::new(move || {
            let second = seconds.fetch_add(61, Ordering::Relaxed);
            jiff::Timestamp::from_second(second).expect("a time in range")
        }),
        ..SqliteOptions::default()
    };
    let store = SqliteStore::with_options(root, options).expect("a store");
    for workflow in ["intact", "changed", "cut", "newer"] {
        for line in [
            line(
                workflow,
                1,
                "needs_plan",
                "plan_ready",
                r#"{"plan":"raise it"}"#,
            ),
            line(
                workflow,
                2,
                "plan_ready",
                "patch_applied",
                r#"{"api_token":"hunter2"}"#,
            ),
            line(
                workflow,
                3,
                "patch_applied",
                "awaiting_human_review",
                r#"{"exit_code":1}"#,
            ),
        ] {
            let event = TransitionEvent::<VulnState>::parse(after_genesis(&line).as_bytes());
            let sealed = seal(&event.expect("an event")).expect("sealable");
            store
                .append(&sealed, ExpectedHead::Any)
                .await
                .expect("an append");
        }
    }
    store.close().await.expect("the store closes");
    let change = "UPDATE checkpoint_chain SET event_bytes = CAST(replace(CAST(event_bytes AS \
                  TEXT), '\"exit_code\":1', '\"exit_code\":0') AS BLOB)";
    tamper(root, "changed", change).await;
    tamper(
        root,
        "cut",
        "DELETE FROM checkpoint_chain WHERE sequence = 3",
    )
    .await;
    tamper(root, "newer", "PRAGMA user_version = 99").await;
}

/// Changes a database behind the store's back.
async fn tamper(root: &Path, workflow: &str, statement: &'static str) {
    let path = root.join(workflow).join("checkpoints.sqlite");
    let options = SqliteConnectOptions::new().filename(path);
    let mut connection = SqliteConnection::connect_with(&options)
        .await
        .expect("the database opens");
    sqlx::query(statement)
        .execute(&mut connection)
        .await
        .expect("the statement runs");
    connection.close().await.expect("the database closes");
}

/// One event as a line of input, without a chain head.
pub(super) fn line(workflow: &str, number: u8, prior: &str, next: &str, outcome: &str) -> String {
    let evidence = "a".repeat(64);
    format!(
        r#"{{"workflow_id":"{workflow}","transition_id":"01JZ8Q5T9V6W3X2Y1Z0ABCD{number:03}","prior_state_id":"{prior}","next_state_id":"{next}","triggering_outcome":{outcome},"evidence_digest":"blake3:{evidence}"}}"#
    )
}

/// The same line from a writer that has seen an empty chain.
pub(super) fn after_genesis(line: &str) -> String {
    let head = ChainHead::GENESIS;
    line.replacen('{', &format!(r#"{{"chain_head":"{head}","#), 1)
}
