//! Owns the making of the tables: one transaction for each step, under a lock that ends with it.
//! It relies on nothing that a session remembers.

use tokio_postgres::types::Type;

use crate::connection::{Connection, Opener};
use crate::error::{Fault, Kind};
use crate::options::SchemaName;
use crate::schema::{LAYOUT_VERSION, STEPS, Step};

/// How long a migration waits for another one, and for tables that are in use.
const LOCK_TIMEOUT: &str = "60s";

/// Brings the schema to the newest layout.
pub(crate) async fn migrate(opener: &Opener) -> Result<(), Fault> {
    let connection = opener.open_unchecked().await?;
    for step in &STEPS {
        take(&connection, step, &opener.options().schema).await?;
    }
    Ok(())
}

/// Takes one step, unless it was taken before. Any failure undoes the whole of it.
async fn take(connection: &Connection, step: &Step, schema: &SchemaName) -> Result<(), Fault> {
    let run = async |sql: &str| connection.run(sql).await.map_err(Fault::Statement);
    // A statement after the lock must see what the holder before has committed.
    run("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
    connection
        .one(
            "SELECT pg_catalog.set_config('lock_timeout', $2::text, true), \
             pg_catalog.pg_advisory_xact_lock( \
                 pg_catalog.hashtextextended('piton migration of ' || $1::text, 0))",
            &[(&schema.as_str(), Type::TEXT), (&LOCK_TIMEOUT, Type::TEXT)],
        )
        .await
        .map_err(Fault::Statement)?;
    match version(connection, schema).await? {
        Some(found) if found > LAYOUT_VERSION => return Err(Fault::NewerLayout(found)),
        Some(found) if found >= step.version => return run("ROLLBACK").await,
        Some(_) | None => {}
    }
    // Asked first, because `IF NOT EXISTS` needs a right even when there is nothing to do.
    if !exists(
        connection,
        "SELECT pg_catalog.to_regnamespace($1) IS NOT NULL",
        &format!("\"{schema}\""),
    )
    .await?
    {
        run(&format!("CREATE SCHEMA \"{schema}\"")).await?;
    }
    run(&step.sql(schema)).await?;
    run("COMMIT").await
}

/// Reads the layout version; none when the schema holds no ledger.
async fn version(connection: &Connection, schema: &SchemaName) -> Result<Option<i64>, Fault> {
    if !exists(
        connection,
        "SELECT pg_catalog.to_regclass($1) IS NOT NULL",
        &format!("\"{schema}\".layout"),
    )
    .await?
    {
        return Ok(None);
    }
    let row = connection
        .optional(&format!("SELECT version FROM \"{schema}\".layout"), &[])
        .await
        .map_err(Fault::Statement)?;
    row.map(|row| row.try_get(0))
        .transpose()
        .map_err(Fault::Statement)
}

async fn exists(connection: &Connection, sql: &str, name: &str) -> Result<bool, Fault> {
    let row = connection
        .one(sql, &[(&name, Type::TEXT)])
        .await
        .map_err(Fault::Statement)?;
    row.try_get(0).map_err(Fault::Statement)
}

/// Whether a migration may be tried again: another one was in its way, or the connection was lost.
pub(crate) fn may_pass(fault: &Fault) -> bool {
    fault.is_transient() || fault.kind() == Kind::LockTimeout
}
