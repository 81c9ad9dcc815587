//! Owns what happens when the server, the network or the caller goes away, and what errors say:
//! what to do, and nothing that is secret.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use piton_ledger::VulnState;
use piton_postgres::{PostgresOptions, PostgresStore};
use piton_store::{
    AppendLock, CheckpointStore, CheckpointStoreExt, ExpectedHead, Retry, StoreError,
    WorkflowCatalog,
};
use piton_testkit::history::{first, nth, nth_with, workflow};
use piton_testkit::observe::{append, append_all, assert_chain, assert_verified};
use piton_testkit::run;
use support::{
    Place, raw, replace_pin, server_url, unique_name, with_database, with_parameter, with_user,
};
use tokio::time::timeout;
use tokio_postgres::types::Type;

/// Every message of an error, from the outermost to the cause, in both forms.
fn everything(error: &StoreError) -> String {
    let mut text = format!("{error} {error:?}");
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text.push_str(&format!(" {error} {error:?}"));
        source = error.source();
    }
    text
}

fn refused<T>(answer: Result<T, StoreError>) -> StoreError {
    answer.err().expect("the call fails")
}

fn store(url: &str) -> PostgresStore {
    PostgresStore::connect(url).expect("a well-formed URL")
}

/// Ends every other session that speaks of a schema, again and again until told to stop.
async fn terminate_until(place: &Place, stop: &AtomicBool) -> i64 {
    let client = raw(&place.url).await;
    let pattern = format!("%{}%", place.schema());
    let mut ended = 0;
    while !stop.load(Ordering::Relaxed) {
        let row = client
            .query_typed_one(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                 WHERE query LIKE $1 AND pid <> pg_backend_pid()",
                &[(&pattern, Type::TEXT)],
            )
            .await
            .expect("a superuser ends sessions");
        ended += row.get::<_, i64>(0);
        tokio::time::sleep(Duration::from_millis(7)).await;
    }
    ended
}

#[test]
fn ended_sessions_lose_and_double_nothing() {
    run(async {
        const EVENTS: u32 = 150;
        let place = Arc::new(Place::direct().await);
        let workflow = workflow("terminated");
        let stop = Arc::new(AtomicBool::new(false));
        let killer = {
            let (place, stop) = (Arc::clone(&place), Arc::clone(&stop));
            tokio::spawn(async move { terminate_until(&place, &stop).await })
        };
        let patient = place.store_with(PostgresOptions {
            busy_timeout: Duration::from_secs(60),
            ..place.options.clone()
        });
        append(&patient, &nth(&workflow, 1)).await;
        append_all(&patient, &first(&workflow, EVENTS)[1..]).await;
        stop.store(true, Ordering::Relaxed);
        let ended = killer.await.expect("the killer does not panic");
        assert!(ended > 5, "{ended} sessions were ended");
        assert_chain(&place.store(), &workflow, &first(&workflow, EVENTS)).await;
    });
}

#[test]
fn ended_session_takes_its_lock_along() {
    run(async {
        let place = Place::direct().await;
        let store = place.store();
        let workflow = workflow("lock-lost");
        let mut holder = store.lock(&workflow).await.expect("the lock is free");
        holder
            .append(&nth(&workflow, 1), ExpectedHead::Any)
            .await
            .expect("the holder may append");
        let client = raw(&place.url).await;
        client
            .query_typed_one(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                 WHERE state = 'idle in transaction' AND pid IN ( \
                     SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted \
                     AND ((classid::bigint << 32) | objid::bigint) \
                         = hashtextextended('piton.' || $1 || '.' || $2, 0))",
                &[
                    (&place.schema(), Type::TEXT),
                    (&workflow.as_str(), Type::TEXT),
                ],
            )
            .await
            .expect("a superuser ends sessions");
        let other = place.store();
        let successor = other.lock(&workflow).await.expect("the lock is free again");
        let error = refused(holder.append(&nth(&workflow, 2), ExpectedHead::Any).await);
        assert_eq!(error.retry(), Retry::Helps, "{error}");
        let error = refused(holder.append(&nth(&workflow, 2), ExpectedHead::Any).await);
        assert_eq!(
            error.retry(),
            Retry::Helps,
            "a lost lock stays lost: {error}"
        );
        drop(successor);
        drop(holder);
        assert_chain(&other, &workflow, &first(&workflow, 1)).await;
    });
}

#[test]
fn cancelled_appends_never_spoil_a_pool() {
    run(async {
        for place in [Place::direct().await, Place::pooled().await] {
            let mut options = place.options.clone();
            options.pool_size = std::num::NonZeroUsize::MIN;
            let store = place.store_with(options);
            let workflow = workflow("cancelled");
            let mut n = 0;
            for round in 0..120 {
                n += 1;
                let event = nth(&workflow, n);
                let cut = Duration::from_millis(1 + round % 50);
                let answer = timeout(cut, store.append(&event, ExpectedHead::Any)).await;
                if let Ok(answer) = answer {
                    answer.expect("an append that was not cut succeeds");
                }
                // With a pool of one, the next call meets the connection of the last.
                append(&store, &event).await;
            }
            assert_chain(&store, &workflow, &first(&workflow, n)).await;
        }
    });
}

#[test]
fn cancelled_reads_and_locks_never_spoil_a_store() {
    run(async {
        for place in [Place::direct().await, Place::pooled().await] {
            let store = place.store();
            let workflow = workflow("cut-reads");
            let events = first(&workflow, 200);
            append_all(&store, &events).await;
            for round in 0..60 {
                let cut = Duration::from_micros(200 * round);
                timeout(cut, store.collect_rows(&workflow)).await.ok();
                timeout(cut, store.lock(&workflow)).await.ok();
                timeout(cut, store.stats(&workflow)).await.ok();
            }
            assert_chain(&store, &workflow, &events).await;
            let lock = store.lock(&workflow).await.expect("nobody holds it");
            lock.release().await.expect("a lock can be released");
        }
    });
}

#[test]
fn half_read_chain_leaves_the_store_usable() {
    run(async {
        let place = Place::direct().await;
        let store = place.store();
        let workflow = workflow("half-read");
        let events = first(&workflow, 300);
        append_all(&store, &events).await;
        for _ in 0..20 {
            let mut chain = store.iter_persisted_chain(&workflow).await.expect("rows");
            let rows = piton_store::PersistedChain::next_rows(&mut chain)
                .await
                .expect("rows");
            assert!(!rows.is_empty() && rows.len() < events.len());
        }
        assert_chain(&store, &workflow, &events).await;
    });
}

#[test]
fn wrong_password_says_what_to_do_and_keeps_the_secret() {
    run(async {
        let role = unique_name();
        raw(&server_url())
            .await
            .batch_execute(&format!("CREATE ROLE {role} LOGIN PASSWORD 'right'"))
            .await
            .expect("a superuser makes roles");
        let url = with_user(&server_url(), &role, "hunter2wrong");
        let store = store(&url);
        let error = refused(store.collect_rows(&workflow("any")).await);
        assert!(matches!(error, StoreError::Unfit { .. }), "{error:?}");
        let text = everything(&error);
        assert!(text.contains("password"), "{text}");
        assert!(!format!("{text} {store:?}").contains("hunter2wrong"));
    });
}

#[test]
fn malformed_urls_are_refused_without_being_shown() {
    for url in [
        "http://u:hunter2@h/d",
        "postgres://u:hunter2@h:port/d",
        "postgres://u:pa?ss-hunter2@h/d?piton_schema=A",
        "postgres://u:hunter2@/d",
        "postgres://u:hunter2@h/d?piton_schema=A",
        "postgres://u:hunter2@h/d?piton_pooler=session",
        "postgres://u:hunter2@h/d?piton_replica=yes",
        "postgres://u:hunter2@h/d?piton_pool_size=0",
        "postgres://u:hunter2@h/d?piton_busy_timeout_ms=soon",
        "postgres://u:hunter2@h/d?piton_unknown=1",
        "postgres://u:hunter2@h/d?sslmode=maybe",
        "postgres://u:hunter2@h/d?sslrootcert=%zz",
        "postgres://u:hunter2@h/d?sslrootcert=/nowhere/hunter2.pem",
        "postgres://u:hunter2@h/d?unknown=hunter2",
    ] {
        let Err(error) = PostgresStore::connect(url) else {
            panic!("{url} was accepted");
        };
        assert!(matches!(error, StoreError::Unfit { .. }), "{error:?}");
        assert!(!everything(&error).contains("hunter2"), "{error:?}");
    }
}

#[test]
fn url_parameters_overrule_options() {
    let url = "postgres://u:p@db.example/d?piton_schema=other&piton_pooler=transaction\
               &piton_replica=allow&piton_pool_size=3&piton_busy_timeout_ms=250&connect_timeout=4";
    let text = format!("{:?}", store(url));
    let odd = store("postgres://u:p?piton_schema=no&x@db.example/d?piton_schema=yes");
    assert!(format!("{odd:?}").contains("SchemaName(yes)"), "{odd:?}");
    for part in [
        "SchemaName(other)",
        "TransactionPooler",
        "Allow",
        "pool_size: 3",
        "busy_timeout: 250ms",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn unreachable_host_says_so_at_once() {
    run(async {
        // A port that was free a moment ago and that nobody listens on.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let store = store(&format!("postgres://u:hunter2@127.0.0.1:{port}/d"));
        let workflow = workflow("unreachable");
        let begun = std::time::Instant::now();
        for error in [
            refused(store.append(&nth(&workflow, 1), ExpectedHead::Any).await),
            refused(store.tail_chain_head(&workflow).await),
            refused(store.lock(&workflow).await),
            refused(store.list().await),
            refused(store.migrate().await),
        ] {
            assert!(matches!(error, StoreError::Engine { .. }), "{error:?}");
            assert_eq!(error.retry(), Retry::Helps);
            let text = everything(&error);
            assert!(text.contains(&format!("127.0.0.1:{port}")), "{text}");
            assert!(text.contains("can't be reached"), "{text}");
            assert!(!text.contains("hunter2"));
        }
        assert!(begun.elapsed() < Duration::from_secs(4));
    });
}

#[test]
fn missing_database_says_so() {
    run(async {
        let store = store(&with_database(&server_url(), &unique_name()));
        let error = refused(store.list().await);
        assert!(matches!(error, StoreError::Unfit { .. }), "{error:?}");
        assert!(error.to_string().contains("create the database"), "{error}");
    });
}

#[test]
fn read_only_server_serves_reads_and_refuses_appends() {
    run(async {
        let place = Place::direct().await;
        let workflow = workflow("read-only");
        append_all(&place.store(), &first(&workflow, 2)).await;
        let url = with_parameter(
            &place.url,
            "options=-c%20default_transaction_read_only%3Don",
        );
        let store =
            PostgresStore::with_options(&url, place.options.clone()).expect("a well-formed URL");
        assert_chain(&store, &workflow, &first(&workflow, 2)).await;
        let error = refused(store.append(&nth(&workflow, 3), ExpectedHead::Any).await);
        assert!(matches!(error, StoreError::Unfit { .. }), "{error:?}");
        assert!(error.to_string().contains("read-only"), "{error}");
        let mut lock = store.lock(&workflow).await.expect("a lock writes nothing");
        let error = refused(lock.append(&nth(&workflow, 3), ExpectedHead::Any).await);
        assert!(matches!(error, StoreError::Unfit { .. }), "{error:?}");
        drop(lock);
        assert_chain(&store, &workflow, &first(&workflow, 2)).await;
    });
}

/// A server that follows another one, played by a server that says it does.
async fn replica() -> (String, String) {
    let server = server_url();
    let name = unique_name();
    raw(&server)
        .await
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .await
        .expect("a superuser makes databases");
    let url = with_database(&server, &name);
    let primary = store(&url);
    primary.migrate().await.expect("tables can be made");
    append_all(&primary, &first(&workflow("followed"), 3)).await;
    raw(&url)
        .await
        .batch_execute(
            "CREATE OR REPLACE FUNCTION pg_catalog.pg_is_in_recovery() RETURNS boolean \
             LANGUAGE sql AS 'SELECT true'",
        )
        .await
        .expect("a superuser replaces functions");
    let pooled = with_database(&support::pooler_url(), &name);
    (url, with_parameter(&pooled, "piton_pooler=transaction"))
}

#[test]
fn replica_is_no_authority_unless_asked_for() {
    run(async {
        let (direct, pooled) = replica().await;
        let workflow = workflow("followed");
        for url in [direct, pooled] {
            let store_of = store(&url);
            for error in [
                refused(store_of.iter_persisted_chain(&workflow).await),
                refused(store_of.tail_chain_head(&workflow).await),
                refused(store_of.pinned_tail(&workflow).await),
                refused(store_of.stats(&workflow).await),
                refused(piton_verify::hydrate_or_fail::<VulnState, _>(&store_of, &workflow).await),
            ] {
                assert!(matches!(error, StoreError::Unfit { .. }), "{error:?}");
                assert!(error.to_string().contains("piton_replica=allow"), "{error}");
            }
            let asked = store(&with_parameter(&url, "piton_replica=allow"));
            assert_chain(&asked, &workflow, &first(&workflow, 3)).await;
            assert_eq!(asked.stats(&workflow).await.expect("statistics").rows, 3);
        }
    });
}

/// Behind a pooler the server can change beneath a connection that was checked.
#[test]
fn replica_is_seen_by_a_connection_that_is_open_already() {
    run(async {
        let place = Place::pooled().await;
        let workflow = workflow("demoted");
        let server = server_url();
        let name = unique_name();
        raw(&server)
            .await
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .await
            .expect("a superuser makes databases");
        let url = with_database(&place.url, &name);
        let store = PostgresStore::with_options(&url, place.options.clone()).expect("a URL");
        store.migrate().await.expect("tables can be made");
        append_all(&store, &first(&workflow, 2)).await;
        assert_chain(&store, &workflow, &first(&workflow, 2)).await;
        raw(&with_database(&server, &name))
            .await
            .batch_execute(
                "CREATE OR REPLACE FUNCTION pg_catalog.pg_is_in_recovery() RETURNS boolean \
                 LANGUAGE sql AS 'SELECT true'",
            )
            .await
            .expect("a superuser replaces functions");
        for error in [
            refused(store.iter_persisted_chain(&workflow).await),
            refused(store.tail_chain_head(&workflow).await),
            refused(store.pinned_tail(&workflow).await),
            refused(store.stats(&workflow).await),
        ] {
            assert!(error.to_string().contains("replica"), "{error}");
        }
    });
}

#[test]
fn too_many_connections_says_so() {
    run(async {
        let place = Place::direct().await;
        let role = unique_name();
        let schema = place.schema();
        raw(&place.url)
            .await
            .batch_execute(&format!(
                "CREATE ROLE {role} LOGIN PASSWORD 'quiet' CONNECTION LIMIT 1; \
                 GRANT USAGE ON SCHEMA \"{schema}\" TO {role}; \
                 GRANT SELECT ON ALL TABLES IN SCHEMA \"{schema}\" TO {role}"
            ))
            .await
            .expect("a superuser makes roles");
        let url = with_user(&place.url, &role, "quiet");
        let _only = raw(&url).await;
        let store =
            PostgresStore::with_options(&url, place.options.clone()).expect("a well-formed URL");
        let error = refused(store.list().await);
        assert_eq!(error.retry(), Retry::Helps, "{error}");
        assert!(error.to_string().contains("53300"), "{error}");
        assert!(error.to_string().contains("max_connections"), "{error}");
    });
}

/// A full disk, played by a trigger that fails as one does.
#[test]
fn full_disk_says_so_and_changes_nothing() {
    run(async {
        let place = Place::direct().await;
        let store = place.store();
        let workflow = workflow("full");
        append(&store, &nth(&workflow, 1)).await;
        let schema = place.schema();
        let client = raw(&place.url).await;
        client
            .batch_execute(&format!(
                "CREATE FUNCTION \"{schema}\".full() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$; \
                 CREATE TRIGGER full_disk BEFORE INSERT ON \"{schema}\".checkpoint_chain \
                 FOR EACH ROW EXECUTE FUNCTION \"{schema}\".full()"
            ))
            .await
            .expect("a trigger can be made");
        let error = refused(store.append(&nth(&workflow, 2), ExpectedHead::Any).await);
        assert!(matches!(error, StoreError::Engine { .. }), "{error:?}");
        assert_eq!(error.retry(), Retry::IsUseless);
        assert!(error.to_string().contains("free disk space"), "{error}");
        assert_chain(&store, &workflow, &first(&workflow, 1)).await;
        client
            .batch_execute(&format!(
                "DROP TRIGGER full_disk ON \"{schema}\".checkpoint_chain"
            ))
            .await
            .expect("a trigger can be dropped");
        append(&store, &nth(&workflow, 2)).await;
        assert_chain(&store, &workflow, &first(&workflow, 2)).await;
    });
}

/// A server quotes whole rows in the details of a violation.
#[test]
fn errors_never_quote_an_event() {
    run(async {
        let place = Place::direct().await;
        let store = place.store();
        let workflow = workflow("quoted");
        append(&store, &nth(&workflow, 1)).await;
        raw(&place.url)
            .await
            .batch_execute(&format!(
                "ALTER TABLE \"{}\".checkpoint_chain ADD CHECK (sequence < 2)",
                place.schema()
            ))
            .await
            .expect("a constraint can be added");
        let event = nth_with(&workflow, 2, r#""cleartext-of-the-event""#);
        let error = refused(store.append(&event, ExpectedHead::Any).await);
        assert_eq!(error.retry(), Retry::IsUseless);
        let text = everything(&error);
        let hex: String = b"cleartext"
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert!(text.contains("23514"), "{text}");
        assert!(
            !text.contains("cleartext") && !text.contains(&hex),
            "{text}"
        );
        assert_chain(&store, &workflow, &first(&workflow, 1)).await;
    });
}

#[test]
fn rows_without_a_pin_are_damaged_and_never_new() {
    run(async {
        let place = Place::direct().await;
        let store = place.store();
        let workflow = workflow("pinless");
        append_all(&store, &first(&workflow, 2)).await;
        replace_pin(&raw(&place.url).await, place.schema(), &workflow, None).await;
        for reader in [&store, &place.store()] {
            let error = refused(reader.pinned_tail(&workflow).await);
            assert!(matches!(error, StoreError::PinDamaged { .. }), "{error:?}");
            let error = refused(reader.append(&nth(&workflow, 3), ExpectedHead::Any).await);
            assert!(matches!(error, StoreError::PinDamaged { .. }), "{error:?}");
            assert_eq!(reader.collect_rows(&workflow).await.expect("rows").len(), 2);
        }
        assert_eq!(store.list().await.expect("a list"), [workflow]);
    });
}

#[test]
fn serializable_databases_are_appended_to() {
    run(async {
        let place = Place::direct().await;
        let url = with_parameter(
            &place.url,
            "options=-c%20default_transaction_isolation%3Dserializable",
        );
        let workflow = workflow("contended-serializable");
        let writers: Vec<_> = (0..6)
            .map(|share| {
                let options = PostgresOptions {
                    busy_timeout: Duration::from_secs(60),
                    ..place.options.clone()
                };
                let store = PostgresStore::with_options(&url, options).expect("a URL");
                let workflow = workflow.clone();
                tokio::spawn(async move {
                    for n in 0..10 {
                        append(&store, &nth(&workflow, share * 10 + n)).await;
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.expect("a writer does not fail");
        }
        assert_eq!(assert_verified(&place.store(), &workflow).await, 60);
    });
}
