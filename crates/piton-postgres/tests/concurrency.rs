//! Owns the promises between tasks, processes and machines: one linear chain, no lost event, and
//! no workflow that waits for another.

mod support;

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use piton_postgres::{Mode, PostgresOptions, PostgresStore};
use piton_store::{
    AppendLock, AppendStatus, CheckpointStore, CheckpointStoreExt, ExpectedHead, StoreError,
};
use piton_testkit::history::{first, nth, workflow};
use piton_testkit::observe::{append, append_all, assert_chain, assert_verified};
use piton_testkit::run;
use support::{Place, pooler_url, raw};
use tokio_postgres::types::Type;

const ROLE: &str = "PITON_TEST_WRITER";
const URL: &str = "PITON_TEST_WRITER_URL";
const SCHEMA: &str = "PITON_TEST_WRITER_SCHEMA";
const PROCESSES: u32 = 8;
const EACH: u32 = 20;

/// Patience for writers that all want the same row.
fn patient(options: &PostgresOptions) -> PostgresOptions {
    PostgresOptions {
        busy_timeout: Duration::from_secs(60),
        ..options.clone()
    }
}

async fn write_share(store: &PostgresStore, share: u32) {
    let workflow = workflow("contended");
    for n in 0..EACH {
        let answer = append(store, &nth(&workflow, share * EACH + n)).await;
        assert_eq!(answer.status, AppendStatus::Appended);
    }
}

async fn assert_linear(place: &Place, writers: u32) {
    let store = place.store();
    let rows = assert_verified(&store, &workflow("contended")).await;
    let expected = usize::try_from(writers * EACH).expect("few rows");
    assert_eq!(rows, expected, "every event once, in one chain");
}

#[test]
fn sixteen_tasks_with_stores_of_their_own_make_one_chain() {
    run(async {
        let place = Place::direct().await;
        let writers: Vec<_> = (0..16)
            .map(|share| {
                let store = place.store_with(patient(&place.options));
                tokio::spawn(async move { write_share(&store, share).await })
            })
            .collect();
        for writer in writers {
            writer.await.expect("a writer does not fail");
        }
        assert_linear(&place, 16).await;
    });
}

#[test]
fn eight_processes_make_one_chain() {
    if let Ok(share) = std::env::var(ROLE) {
        let share = share.parse().expect("a number");
        let options = PostgresOptions {
            schema: std::env::var(SCHEMA)
                .expect("the parent names a schema")
                .parse()
                .expect("a schema name"),
            mode: if share % 2 == 0 {
                Mode::Direct
            } else {
                Mode::TransactionPooler
            },
            ..PostgresOptions::default()
        };
        let url = std::env::var(URL).expect("the parent names a server");
        let store =
            PostgresStore::with_options(&url, patient(&options)).expect("a well-formed URL");
        run(async move { write_share(&store, share).await });
        return;
    }
    run(async {
        let place = Place::direct().await;
        let children: Vec<_> = (0..PROCESSES)
            .map(|share| {
                let url = if share % 2 == 0 {
                    place.url.clone()
                } else {
                    pooler_url()
                };
                Command::new(std::env::current_exe().expect("this binary"))
                    .args(["--exact", "eight_processes_make_one_chain", "--quiet"])
                    .env(ROLE, share.to_string())
                    .env(URL, url)
                    .env(SCHEMA, place.schema())
                    .stdout(Stdio::null())
                    .spawn()
                    .expect("the process starts")
            })
            .collect();
        for mut child in children {
            assert!(child.wait().expect("the process is ours").success());
        }
        assert_linear(&place, PROCESSES).await;
    });
}

#[test]
fn no_workflow_waits_for_another() {
    run(async {
        let place = Place::direct().await;
        let store = Arc::new(place.store());
        let held = workflow("held");
        let holder = store.lock(&held).await.expect("the lock is free");
        let writers: Vec<_> = (0..64)
            .map(|number| {
                let store = Arc::clone(&store);
                tokio::spawn(async move {
                    let workflow = workflow(&format!("free-{number}"));
                    append_all(&*store, &first(&workflow, 5)).await;
                    workflow
                })
            })
            .collect();
        for writer in writers {
            let workflow = writer.await.expect("a writer does not fail");
            assert_chain(&*store, &workflow, &first(&workflow, 5)).await;
        }
        holder.release().await.expect("a lock can be released");
    });
}

/// Waits until the server shows somebody who waits for an advisory lock of this schema.
async fn await_waiter(place: &Place) {
    let client = raw(&place.url).await;
    let pattern = format!("%pg_advisory_lock(%{}.%", place.schema());
    loop {
        let row = client
            .query_typed_one(
                "SELECT count(*) FROM pg_stat_activity \
                 WHERE wait_event = 'advisory' AND query LIKE $1",
                &[(&pattern, Type::TEXT)],
            )
            .await
            .expect("the server shows its sessions");
        if row.get::<_, i64>(0) > 0 {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn holder_appends_while_somebody_waits() {
    run(async {
        let place = Place::direct().await;
        let (store, other) = (place.store(), place.store());
        let workflow = workflow("awaited");
        let mut holder = store.lock(&workflow).await.expect("the lock is free");
        let waiting = {
            let workflow = workflow.clone();
            tokio::spawn(async move { other.lock(&workflow).await.map(|lock| (lock, other)) })
        };
        await_waiter(&place).await;
        let events = first(&workflow, 3);
        for event in &events {
            holder
                .append(event, ExpectedHead::Any)
                .await
                .expect("a holder need not wait for waiters");
        }
        holder.release().await.expect("a lock can be released");
        let (mut successor, _other) = waiting
            .await
            .expect("a waiter does not panic")
            .expect("the waiter takes over");
        assert_eq!(
            successor.tail().await.expect("a tail"),
            piton_testkit::observe::tail_of(&events)
        );
    });
}

/// A lock is only a courtesy: the comparison of the pin keeps the chain linear without it.
#[test]
fn writer_that_ignores_the_lock_can_not_fork_the_chain() {
    run(async {
        let place = Place::direct().await;
        let store = place.store();
        let workflow = workflow("ignored");
        let mut holder = store.lock(&workflow).await.expect("the lock is free");
        holder
            .append(&nth(&workflow, 1), ExpectedHead::Any)
            .await
            .expect("the holder may append");
        let intruder = nth(&workflow, 2);
        let prior = intruder_tail(&mut holder).await;
        let client = raw(&place.url).await;
        let schema = place.schema();
        let head = intruder.link(&prior);
        client
            .batch_execute(&format!(
                "BEGIN; UPDATE \"{schema}\".pin SET sequence = 2, head = '\\x{head}'; \
                 INSERT INTO \"{schema}\".checkpoint_chain VALUES \
                 ('{workflow}', 2, '{id}', '\\x{prior}', '\\x{head}', '\\x{bytes}', ''); COMMIT",
                head = hex(head.as_bytes()),
                prior = hex(prior.as_bytes()),
                id = intruder.transition_id(),
                bytes = hex(intruder.bytes()),
            ))
            .await
            .expect("an intruder may write");
        let stale = holder
            .append(&nth(&workflow, 3), ExpectedHead::Exactly(prior))
            .await;
        assert!(
            matches!(stale, Err(StoreError::StaleHead { .. })),
            "{stale:?}"
        );
        holder
            .append(&nth(&workflow, 3), ExpectedHead::Any)
            .await
            .expect("the holder follows the intruder");
        drop(holder);
        let rows = store.collect_rows(&workflow).await.expect("rows");
        assert_eq!(rows.len(), 3);
        assert_verified(&store, &workflow).await;
    });
}

async fn intruder_tail(holder: &mut impl AppendLock) -> piton_ledger::ChainHead {
    holder.tail().await.expect("a tail").head()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
