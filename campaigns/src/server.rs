//! Owns access to the Postgres that campaigns damage: a schema for each use, and a plain
//! connection past the store. It starts no server.

use std::time::Duration;

use anyhow::{Context as _, Result};
use piton_postgres::{PostgresOptions, PostgresStore, SchemaName};
use tokio_postgres::{Client, NoTls};

const SERVER: &str = "PITON_TEST_POSTGRES_URL";

/// Longer than any healthy writer takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the server knows a process of this program by.
pub(crate) fn name_of(process: u32) -> String {
    format!("piton-campaign-{process}")
}

/// A schema with the tables of a ledger.
pub(crate) struct Schema {
    url: String,
    pub(crate) name: SchemaName,
}

impl Schema {
    /// Makes the tables in a schema that bears this process's number and a name.
    ///
    /// # Errors
    ///
    /// There is no server, or it refuses.
    pub(crate) async fn make(name: &str) -> Result<Self> {
        let schema = Self::named(&format!("campaign_{}_{name}", std::process::id()))?;
        schema.remove().await?;
        schema.store()?.migrate().await?;
        Ok(schema)
    }

    /// Names a schema that is there already.
    ///
    /// # Errors
    ///
    /// There is no server, or the name is malformed.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let url = std::env::var(SERVER).with_context(|| {
            format!("{SERVER} names no server; run campaigns by `cargo xtask campaign`, which starts one")
        })?;
        let mark = if url.contains('?') { '&' } else { '?' };
        let program = name_of(std::process::id());
        Ok(Self {
            url: format!("{url}{mark}application_name={program}"),
            name: name.parse().context("naming a schema")?,
        })
    }

    /// Opens a store on the schema.
    ///
    /// # Errors
    ///
    /// The URL is malformed.
    pub(crate) fn store(&self) -> Result<PostgresStore> {
        self.store_with(PATIENCE)
    }

    /// Opens a store that waits this long for another writer.
    ///
    /// # Errors
    ///
    /// The URL is malformed.
    pub(crate) fn store_with(&self, busy_timeout: Duration) -> Result<PostgresStore> {
        let options = PostgresOptions {
            schema: self.name.clone(),
            busy_timeout,
            ..PostgresOptions::default()
        };
        Ok(PostgresStore::with_options(&self.url, options)?)
    }

    /// Connects past the store.
    ///
    /// # Errors
    ///
    /// The server can't be reached.
    pub(crate) async fn client(&self) -> Result<Client> {
        let (client, driver) = tokio_postgres::connect(&self.url, NoTls)
            .await
            .context("connecting to the server")?;
        tokio::spawn(async move {
            driver.await.ok();
        });
        Ok(client)
    }

    /// Removes the schema with all that is in it.
    ///
    /// # Errors
    ///
    /// The server refuses.
    pub(crate) async fn remove(&self) -> Result<()> {
        let sql = format!("DROP SCHEMA IF EXISTS \"{}\" CASCADE", self.name);
        Ok(self.client().await?.batch_execute(&sql).await?)
    }
}
