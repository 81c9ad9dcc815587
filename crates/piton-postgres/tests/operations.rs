//! Runs the SQL of `docs/operations.md`: a reader of that page pastes it at night.

mod support;

use std::path::Path;

use piton_store::{CheckpointStore, WorkflowCatalog};
use piton_testkit::history::{first, nth, workflow};
use piton_testkit::observe::{append_all, assert_verified};
use piton_testkit::run;
use support::{Place, raw, unique_name, with_user};

/// The SQL blocks of the page, for another schema.
fn blocks(schema: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
    let page = std::fs::read_to_string(page).expect("the page");
    page.split("```sql\n")
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next())
        .map(|block| {
            block
                .replace("piton.", &format!("\"{schema}\"."))
                .replace("SCHEMA piton ", &format!("SCHEMA \"{schema}\" "))
        })
        .collect()
}

#[test]
fn the_roles_block_makes_a_role_that_appends() {
    run(async {
        let place = Place::direct().await;
        let role = unique_name();
        let block = blocks(place.schema())[0].replace("piton_worker", &role);
        let client = raw(&place.url).await;
        client.batch_execute(&block).await.expect("the block runs");
        client
            .batch_execute(&format!("ALTER ROLE {role} PASSWORD 'quiet'"))
            .await
            .expect("a password");
        let worker = Place {
            url: with_user(&place.url, &role, "quiet"),
            options: place.options.clone(),
        };
        let workflow = workflow("worker");
        append_all(&worker.store(), &first(&workflow, 3)).await;
        assert_eq!(assert_verified(&worker.store(), &workflow).await, 3);
        worker
            .store()
            .delete(&workflow)
            .await
            .expect_err("a worker deletes nothing");
    });
}

#[test]
fn the_partitioning_block_keeps_every_promise() {
    run(async {
        let place = Place::direct().await;
        let [one, two] = ["one", "two"].map(workflow);
        let store = place.store();
        for workflow in [&one, &two] {
            append_all(&store, &first(workflow, 3)).await;
        }
        raw(&place.url)
            .await
            .batch_execute(&blocks(place.schema())[1])
            .await
            .expect("the block runs");
        for workflow in [&one, &two] {
            // Through the store that was open before, and through a new one.
            append_all(&store, &[nth(workflow, 4)]).await;
            append_all(&place.store(), &[nth(workflow, 5), nth(workflow, 2)]).await;
            assert_eq!(assert_verified(&place.store(), workflow).await, 5);
        }
        assert_eq!(place.store().list().await.expect("readable"), [one, two]);
        store.close().await.expect("the store closes");
    });
}
