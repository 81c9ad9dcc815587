//! Owns the promises about making the tables: at once, again, beside other things, and never over
//! what is not ours.

mod support;

use std::time::Duration;

use piton_postgres::{LAYOUT_VERSION, PostgresOptions, PostgresStore, SchemaName, schema};
use piton_store::{
    CheckpointStore, CheckpointStoreExt, ExpectedHead, Retry, StoreError, WorkflowCatalog,
};
use piton_testkit::history::{first, nth, workflow};
use piton_testkit::observe::{append_all, assert_chain};
use piton_testkit::run;
use tokio::time::timeout;

use support::{Place, raw, server_url, unique_name, unique_schema, with_database};

fn store_in(url: &str, schema: &SchemaName) -> PostgresStore {
    let options = PostgresOptions {
        schema: schema.clone(),
        ..PostgresOptions::default()
    };
    PostgresStore::with_options(url, options).expect("a well-formed URL")
}

/// An empty database of its own.
async fn empty_database() -> String {
    let name = unique_name();
    let server = server_url();
    raw(&server)
        .await
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .await
        .expect("a superuser makes databases");
    with_database(&server, &name)
}

fn assert_unfit<T: std::fmt::Debug>(answer: Result<T, StoreError>, advice: &str) {
    match answer {
        Err(error @ StoreError::Unfit { .. }) => {
            assert_eq!(error.retry(), Retry::IsUseless);
            let text = error.to_string();
            assert!(text.contains(advice), "{text}");
        }
        other => panic!("an unfit place says so, not {other:?}"),
    }
}

#[test]
fn sixteen_migrations_of_an_empty_database_all_succeed() {
    run(async {
        let url = empty_database().await;
        let name = SchemaName::default();
        let migrations: Vec<_> = (0..16)
            .map(|_| {
                let store = store_in(&url, &name);
                tokio::spawn(async move { store.migrate().await })
            })
            .collect();
        for migration in migrations {
            let outcome = migration.await.expect("a migration does not panic");
            outcome.expect("a migration succeeds beside others");
        }
        let store = store_in(&url, &name);
        let workflow = workflow("after-migration");
        append_all(&store, &first(&workflow, 3)).await;
        store.migrate().await.expect("nothing is left to do");
        assert_chain(&store, &workflow, &first(&workflow, 3)).await;
    });
}

#[test]
fn migration_that_dies_anywhere_can_be_done_again() {
    run(async {
        let url = empty_database().await;
        for step in 0..40 {
            let name = unique_schema();
            let dying = store_in(&url, &name);
            // Dropped half way: the connection ends, as it does with its process.
            let cut = Duration::from_micros(step * 1500);
            timeout(cut, dying.migrate()).await.ok();
            let store = store_in(&url, &name);
            store.migrate().await.expect("a migration can be repeated");
            let workflow = workflow("again");
            append_all(&store, &first(&workflow, 1)).await;
        }
    });
}

#[test]
fn migration_leaves_other_things_alone() {
    run(async {
        let url = empty_database().await;
        let client = raw(&url).await;
        client
            .batch_execute(
                "CREATE TABLE checkpoint_chain (mine int); INSERT INTO checkpoint_chain VALUES (7); \
                 CREATE SCHEMA piton; CREATE TABLE piton.elsewhere (mine int)",
            )
            .await
            .expect("tables can be made");
        let store = store_in(&url, &SchemaName::default());
        store.migrate().await.expect("the schema has room");
        let workflow = workflow("beside");
        append_all(&store, &first(&workflow, 2)).await;
        let rows = client
            .query("SELECT mine FROM public.checkpoint_chain", &[])
            .await
            .expect("the table is there");
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].get::<_, i32>(0), 7);
        client
            .query("SELECT mine FROM piton.elsewhere", &[])
            .await
            .expect("the table is there");
    });
}

#[test]
fn tables_of_others_with_our_names_are_refused_and_kept() {
    run(async {
        let url = empty_database().await;
        let client = raw(&url).await;
        client
            .batch_execute("CREATE SCHEMA piton; CREATE TABLE piton.pin (mine int)")
            .await
            .expect("a table can be made");
        let store = store_in(&url, &SchemaName::default());
        assert_unfit(store.migrate().await, "piton_schema");
        let left: i64 = client
            .query_one(
                "SELECT count(*) FROM pg_tables WHERE schemaname = 'piton'",
                &[],
            )
            .await
            .expect("a count")
            .get(0);
        assert_eq!(left, 1, "the refused migration leaves nothing behind");
    });
}

#[test]
fn newer_layout_is_refused_by_every_call() {
    run(async {
        let place = Place::direct().await;
        let workflow = workflow("newer");
        append_all(&place.store(), &first(&workflow, 1)).await;
        raw(&place.url)
            .await
            .batch_execute(&format!(
                "UPDATE \"{}\".layout SET version = {}",
                place.schema(),
                LAYOUT_VERSION + 1
            ))
            .await
            .expect("the version can be changed");
        let store = place.store();
        let answers = [
            store
                .append(&nth(&workflow, 2), ExpectedHead::Any)
                .await
                .err(),
            store.tail_chain_head(&workflow).await.err(),
            store.iter_persisted_chain(&workflow).await.err(),
            store.lock(&workflow).await.err(),
        ];
        for answer in answers {
            match answer {
                Some(StoreError::NewerLayout {
                    workflow: of,
                    found,
                    newest,
                }) => {
                    assert_eq!(of, workflow);
                    assert_eq!((found, newest), (LAYOUT_VERSION + 1, LAYOUT_VERSION));
                }
                other => panic!("a newer layout is refused, not {other:?}"),
            }
        }
        assert_unfit(store.list().await, "newer");
        assert_unfit(store.migrate().await, "newer");
    });
}

#[test]
fn missing_schema_says_to_migrate() {
    run(async {
        let store = store_in(&server_url(), &unique_schema());
        let workflow = workflow("homeless");
        assert_unfit(
            store.append(&nth(&workflow, 1), ExpectedHead::Any).await,
            "run piton migrate",
        );
        assert_unfit(store.collect_rows(&workflow).await, "run piton migrate");
        assert_unfit(store.list().await, "run piton migrate");
        store.migrate().await.expect("the advice is right");
        append_all(&store, &first(&workflow, 1)).await;
    });
}

#[test]
fn published_schema_is_what_a_migration_makes() {
    run(async {
        let url = empty_database().await;
        let by_hand = unique_schema();
        raw(&url)
            .await
            .batch_execute(&format!(
                "CREATE SCHEMA \"{by_hand}\"; {}",
                schema(&by_hand)
            ))
            .await
            .expect("the text is SQL");
        let store = store_in(&url, &by_hand);
        store.migrate().await.expect("nothing is left to do");
        append_all(&store, &first(&workflow("by-hand"), 2)).await;
    });
}

#[test]
fn hostile_schema_names_are_refused() {
    for name in [
        "",
        "Piton",
        "1st",
        "pg_temp",
        "a b",
        "a\"; DROP TABLE x; --",
        "a-b",
        "ä",
        "a\0",
        &"a".repeat(64),
    ] {
        assert!(name.parse::<SchemaName>().is_err(), "{name:?}");
    }
    for name in ["a", "_", "user", "select", &"a".repeat(63)] {
        assert!(name.parse::<SchemaName>().is_ok(), "{name:?}");
    }
}

#[test]
fn reserved_words_can_name_a_schema() {
    run(async {
        let url = empty_database().await;
        let store = store_in(&url, &"select".parse().expect("a name"));
        store.migrate().await.expect("names are quoted");
        let workflow = workflow("quoted");
        append_all(&store, &first(&workflow, 2)).await;
        store.delete(&workflow).await.expect("nobody holds it");
    });
}
