//! TLS towards a live server: used when asked for, checked whenever used.

mod cluster;

use cluster::Server;
use piton_postgres::PostgresStore;
use piton_store::{CheckpointStore, ExpectedHead, StoreError};
use piton_testkit::history::{nth, workflow};
use piton_testkit::observe::assert_verified;
use piton_testkit::run;

fn certificate() -> rcgen::CertifiedKey<rcgen::KeyPair> {
    rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate")
}

fn store(server: &Server, host: &str, parameters: &str) -> PostgresStore {
    let url = format!(
        "postgres://piton_test@{host}:{}/postgres?{parameters}",
        server.port()
    );
    PostgresStore::connect(&url).expect("a URL")
}

async fn assert_refused(store: &PostgresStore) {
    match store.migrate().await {
        Err(StoreError::Unfit { .. } | StoreError::Engine { .. }) => {}
        other => panic!("the connection must be refused: {other:?}"),
    }
}

#[test]
fn a_connection_is_encrypted_and_its_certificate_checked() {
    run(async {
        let own = certificate();
        let directory = tempfile::tempdir().expect("a directory");
        let authorities = directory.path().join("authorities.pem");
        std::fs::write(&authorities, own.cert.pem()).expect("writable");
        let other = directory.path().join("other.pem");
        std::fs::write(&other, certificate().cert.pem()).expect("writable");
        let server = Server::start_with_tls(&own.cert.pem(), &own.signing_key.serialize_pem());
        let trusting = format!("sslrootcert={}", authorities.display());

        let encrypted = store(&server, "localhost", &format!("sslmode=require&{trusting}"));
        encrypted.migrate().await.expect("a schema over TLS");
        let workflow = workflow("w");
        encrypted
            .append(&nth(&workflow, 1), ExpectedHead::Any)
            .await
            .expect("an append over TLS");
        assert_eq!(assert_verified(&encrypted, &workflow).await, 1);
        let sessions = "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'piton'";
        assert_eq!(server.sql(sessions).trim(), "t");

        // Another authority, the system's authorities, and another name than the certificate's.
        assert_refused(&store(
            &server,
            "localhost",
            &format!("sslmode=require&sslrootcert={}", other.display()),
        ))
        .await;
        assert_refused(&store(&server, "localhost", "sslmode=require")).await;
        assert_refused(&store(
            &server,
            "127.0.0.1",
            &format!("sslmode=require&{trusting}"),
        ))
        .await;
        // A certificate is checked even where TLS is only preferred.
        assert_refused(&store(
            &server,
            "localhost",
            &format!("sslmode=prefer&sslrootcert={}", other.display()),
        ))
        .await;
    });
}

#[test]
fn a_server_without_tls_is_refused_where_tls_is_required() {
    run(async {
        let server = Server::start();
        assert_refused(&store(&server, "localhost", "sslmode=require")).await;
        store(&server, "localhost", "sslmode=prefer")
            .migrate()
            .await
            .expect("preferred is not required");
    });
}
