//! Owns the promise of least privilege: who may only append can't alter or delete.

mod support;

use piton_postgres::Mode;
use piton_store::{
    AppendLock, CheckpointStore, ExpectedHead, Repin, StoreError, Tail, WorkflowCatalog,
};
use piton_testkit::history::{first, nth, workflow};
use piton_testkit::observe::{append_all, assert_chain, look};
use piton_testkit::run;
use support::{Place, pooler_url, raw, unique_name, with_user};

/// A role that may read and call the functions, and nothing else.
async fn append_only(place: &Place) -> Place {
    let role = unique_name();
    let schema = place.schema();
    raw(&place.url)
        .await
        .batch_execute(&format!(
            "CREATE ROLE {role} LOGIN PASSWORD 'quiet'; \
             GRANT USAGE ON SCHEMA \"{schema}\" TO {role}; \
             GRANT SELECT ON ALL TABLES IN SCHEMA \"{schema}\" TO {role}; \
             GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA \"{schema}\" TO {role}"
        ))
        .await
        .expect("a superuser makes roles");
    Place {
        url: with_user(&place.url, &role, "quiet"),
        options: place.options.clone(),
    }
}

fn assert_denied<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    match answer {
        Err(error @ StoreError::Unfit { .. }) => {
            let text = error.to_string();
            assert!(text.contains("42501") && text.contains("grant"), "{text}");
        }
        other => panic!("the role may not do this: {other:?}"),
    }
}

#[test]
fn append_only_role_appends_and_can_not_alter_or_delete() {
    run(async {
        let place = Place::direct().await;
        let writer = append_only(&place).await;
        let store = writer.store();
        let workflow = workflow("append-only");
        append_all(&store, &first(&workflow, 3)).await;
        let mut lock = store.lock(&workflow).await.expect("the lock is free");
        lock.append(&nth(&workflow, 4), ExpectedHead::Any)
            .await
            .expect("the role may append under a lock");
        assert_denied(lock.repin(Tail::Empty).await);
        drop(lock);
        // A store that learns under a lock that it must call the function.
        let mut lock = writer
            .store()
            .lock(&workflow)
            .await
            .expect("the lock is free");
        lock.append(&nth(&workflow, 4), ExpectedHead::Any)
            .await
            .expect("a retry under a lock");
        lock.append(&nth(&workflow, 5), ExpectedHead::Any)
            .await
            .expect("the role may append under a lock");
        drop(lock);
        append_all(&store, &first(&workflow, 5)).await;
        let before = look(&place.store(), &workflow).await;
        assert_denied(store.delete(&workflow).await);
        let client = raw(&writer.url).await;
        let schema = writer.schema();
        for statement in [
            format!("UPDATE \"{schema}\".checkpoint_chain SET written_at = ''"),
            format!("DELETE FROM \"{schema}\".checkpoint_chain"),
            format!("TRUNCATE \"{schema}\".checkpoint_chain"),
            format!("UPDATE \"{schema}\".pin SET sequence = 0"),
            format!("DELETE FROM \"{schema}\".pin"),
            format!("INSERT INTO \"{schema}\".pin VALUES ('x', 0, '')"),
            format!("UPDATE \"{schema}\".layout SET version = 2"),
            format!("DROP TABLE \"{schema}\".pin"),
        ] {
            let error = client.batch_execute(&statement).await;
            assert!(error.is_err(), "{statement}");
        }
        assert_eq!(look(&place.store(), &workflow).await, before);
        assert_chain(&place.store(), &workflow, &first(&workflow, 5)).await;
    });
}

#[test]
fn function_is_not_for_everybody() {
    run(async {
        let place = Place::direct().await;
        let role = unique_name();
        let schema = place.schema();
        raw(&place.url)
            .await
            .batch_execute(&format!(
                "CREATE ROLE {role} LOGIN PASSWORD 'quiet'; \
                 GRANT USAGE ON SCHEMA \"{schema}\" TO {role}; \
                 GRANT SELECT ON ALL TABLES IN SCHEMA \"{schema}\" TO {role}"
            ))
            .await
            .expect("a superuser makes roles");
        let reader = Place {
            url: with_user(&place.url, &role, "quiet"),
            options: place.options.clone(),
        };
        let workflow = workflow("read-only-role");
        append_all(&place.store(), &first(&workflow, 2)).await;
        assert_chain(&reader.store(), &workflow, &first(&workflow, 2)).await;
        let refused = reader.store();
        assert_denied(refused.append(&nth(&workflow, 3), ExpectedHead::Any).await);
        assert_chain(&place.store(), &workflow, &first(&workflow, 2)).await;
    });
}

#[test]
fn function_and_statement_write_the_same_rows() {
    run(async {
        let place = Place::direct().await;
        let mut pooled = Place {
            url: pooler_url(),
            options: place.options.clone(),
        };
        pooled.options.mode = Mode::TransactionPooler;
        let workflow = workflow("both-ways");
        let (direct, pooled) = (place.store(), pooled.store());
        for (n, event) in (0..8).zip(first(&workflow, 8)) {
            let store = if n % 2 == 0 { &direct } else { &pooled };
            append_all(store, &[event]).await;
        }
        assert_chain(&pooled, &workflow, &first(&workflow, 8)).await;
    });
}

/// Server-side durability is not left to what an administrator set for the role.
#[test]
fn lax_durability_of_a_role_is_overruled() {
    run(async {
        let place = Place::direct().await;
        let lax = append_only(&place).await;
        let admin = raw(&place.url).await;
        let role = lax
            .url
            .split("://")
            .nth(1)
            .and_then(|rest| rest.split(':').next());
        let role = role.expect("the URL names the role").to_owned();
        admin
            .batch_execute(&format!("ALTER ROLE {role} SET synchronous_commit = off"))
            .await
            .expect("a role can be altered");
        let client = raw(&lax.url).await;
        let schema = lax.schema();
        client
            .batch_execute(&format!(
                "BEGIN; SELECT \"{schema}\".piton_append('w', '01', decode(repeat('00', 32), 'hex'), \
                 decode(repeat('01', 32), 'hex'), '', '')"
            ))
            .await
            .expect("the role may append");
        let durability: String = client
            .query_one("SHOW synchronous_commit", &[])
            .await
            .expect("a setting")
            .get(0);
        assert_eq!(durability, "on", "for the transaction that appended");
    });
}
