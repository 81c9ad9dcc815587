//! The identifiers in a user's own queries: through sqlx on SQLite and Postgres, and through
//! tokio-postgres.

use piton_ledger::{BlobDigest, ChainHead, ErrorId, Sequence, TransitionId, WorkflowId};
use sqlx::{Connection as _, Row as _};

/// One value of each type that a column can hold.
#[derive(Debug, PartialEq)]
struct Values {
    workflow: WorkflowId,
    transition: TransitionId,
    error: ErrorId,
    head: ChainHead,
    digest: BlobDigest,
    sequence: Sequence,
}

fn values() -> Values {
    Values {
        workflow: "wf-1".parse().expect("a workflow id"),
        transition: "01HZZZZZZZZZZZZZSCN001A001".parse().expect("a ULID"),
        error: "area.name".parse().expect("an error id"),
        head: ChainHead::from_bytes([0xab; 32]),
        digest: BlobDigest::from_bytes([0xcd; 32]),
        sequence: Sequence::try_from(i64::MAX).expect("the largest"),
    }
}

fn server() -> String {
    let variable = "PITON_TEST_POSTGRES_URL";
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} names no server; run `cargo xtask test`, which starts one")
    })
}

const CREATE: &str = "CREATE TEMPORARY TABLE own \
     (workflow text, transition text, error text, head HEAD, digest HEAD, sequence bigint)";

macro_rules! sqlx_round_trip {
    ($connection:expr, $create:expr, $insert:expr) => {{
        let mut connection = $connection;
        let expected = values();
        sqlx::query($create)
            .execute(&mut connection)
            .await
            .expect("a table");
        sqlx::query($insert)
            .bind(&expected.workflow)
            .bind(expected.transition)
            .bind(&expected.error)
            .bind(expected.head)
            .bind(expected.digest)
            .bind(expected.sequence)
            .execute(&mut connection)
            .await
            .expect("a row");
        let row = sqlx::query("SELECT * FROM own")
            .fetch_one(&mut connection)
            .await
            .expect("the row");
        let found = Values {
            workflow: row.try_get("workflow").expect("a workflow id"),
            transition: row.try_get("transition").expect("a transition id"),
            error: row.try_get("error").expect("an error id"),
            head: row.try_get("head").expect("a head"),
            digest: row.try_get("digest").expect("a digest"),
            sequence: row.try_get("sequence").expect("a sequence"),
        };
        assert_eq!(found, expected);
        // What is not an identifier is an error of the column and not a panic.
        sqlx::query("UPDATE own SET workflow = '..', transition = 'x', sequence = 0")
            .execute(&mut connection)
            .await
            .expect("an update");
        let row = sqlx::query("SELECT * FROM own")
            .fetch_one(&mut connection)
            .await
            .expect("the row");
        assert!(row.try_get::<WorkflowId, _>("workflow").is_err());
        assert!(row.try_get::<TransitionId, _>("transition").is_err());
        assert!(row.try_get::<Sequence, _>("sequence").is_err());
        assert!(row.try_get::<ChainHead, _>("sequence").is_err());
        connection
    }};
}

#[tokio::test]
async fn sqlx_on_sqlite_holds_heads_as_text() {
    let connection = sqlx::SqliteConnection::connect("sqlite::memory:")
        .await
        .expect("a database");
    let mut connection = sqlx_round_trip!(
        connection,
        "CREATE TEMPORARY TABLE own (workflow text, transition text, error text, head text, digest text, sequence integer)",
        "INSERT INTO own VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
    );
    let head: String = sqlx::query_scalar("SELECT head FROM own")
        .fetch_one(&mut connection)
        .await
        .expect("the head");
    assert_eq!(head, values().head.to_string());
}

#[tokio::test]
async fn sqlx_on_postgres_holds_heads_as_bytes() {
    let connection = sqlx::PgConnection::connect(&server())
        .await
        .expect("the server");
    let mut connection = sqlx_round_trip!(
        connection,
        "CREATE TEMPORARY TABLE own (workflow text, transition text, error text, head bytea, digest bytea, sequence bigint)",
        "INSERT INTO own VALUES ($1, $2, $3, $4, $5, $6)"
    );
    let head: Vec<u8> = sqlx::query_scalar("SELECT head FROM own")
        .fetch_one(&mut connection)
        .await
        .expect("the head");
    assert_eq!(head, values().head.as_bytes());
}

async fn tokio_postgres_round_trip(head_type: &str) {
    let (client, driver) = tokio_postgres::connect(&server(), tokio_postgres::NoTls)
        .await
        .expect("the server");
    let driver = tokio::spawn(driver);
    client
        .execute(&CREATE.replace("HEAD", head_type), &[])
        .await
        .expect("a table");
    let expected = values();
    client
        .execute(
            "INSERT INTO own VALUES ($1, $2, $3, $4, $5, $6)",
            &[
                &expected.workflow,
                &expected.transition,
                &expected.error,
                &expected.head,
                &expected.digest,
                &expected.sequence,
            ],
        )
        .await
        .expect("a row");
    let row = client
        .query_one("SELECT * FROM own", &[])
        .await
        .expect("the row");
    let found = Values {
        workflow: row.get("workflow"),
        transition: row.get("transition"),
        error: row.get("error"),
        head: row.get("head"),
        digest: row.get("digest"),
        sequence: row.get("sequence"),
    };
    assert_eq!(found, expected);
    client
        .execute("UPDATE own SET workflow = '..', sequence = 0", &[])
        .await
        .expect("an update");
    let row = client
        .query_one("SELECT * FROM own", &[])
        .await
        .expect("the row");
    assert!(row.try_get::<_, WorkflowId>("workflow").is_err());
    assert!(row.try_get::<_, Sequence>("sequence").is_err());
    assert!(row.try_get::<_, ChainHead>("sequence").is_err());
    drop(client);
    driver.await.expect("the driver ends").expect("a clean end");
}

#[tokio::test]
async fn tokio_postgres_holds_heads_as_bytes() {
    tokio_postgres_round_trip("bytea").await;
}

#[tokio::test]
async fn tokio_postgres_holds_heads_as_text_too() {
    tokio_postgres_round_trip("text").await;
}
