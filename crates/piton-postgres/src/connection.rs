//! Owns one session with the server: how it is made, what it must be fit for, and how it ends. It
//! writes no row by itself.

use std::future::Future;

use tokio::sync::OnceCell;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::Fault;
use crate::options::{Mode, PostgresOptions, ReplicaPolicy};
use crate::schema::LAYOUT_VERSION;
use crate::sql::{IS_REPLICA, Sql};
use crate::tls;
use crate::url::Target;

/// `server_version_num` of the oldest server that the statements were written for.
const OLDEST_SERVER: i64 = 150_000;

/// A typed parameter.
pub(crate) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// Makes connections to one database.
pub(crate) struct Opener {
    target: Target,
    tls: MakeRustlsConnect,
    pub(crate) sql: Sql,
}

/// Whether a connection is between two calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Nothing is under way: it may be used again.
    Settled,
    /// A call is under way or was cut short.
    InUse,
}

/// One session with the server.
///
/// A connection that is dropped in the midst of a call ends at once, so that the server undoes
/// what was not committed and frees what was locked.
pub(crate) struct Connection {
    pub(crate) client: Client,
    driver: AbortHandle,
    standing: Standing,
    pub(crate) prepared: Prepared,
}

/// The statements that a session of its own keeps.
#[derive(Default)]
pub(crate) struct Prepared {
    pub(crate) next: OnceCell<Statement>,
    pub(crate) first: OnceCell<Statement>,
    pub(crate) call: OnceCell<Statement>,
}

impl Opener {
    pub(crate) fn new(target: Target) -> Result<Self, piton_store::StoreError> {
        let tls = tls::connector(target.authorities.as_deref())?;
        let sql = Sql::new(&target.options.schema);
        Ok(Self { target, tls, sql })
    }

    pub(crate) fn options(&self) -> &PostgresOptions {
        &self.target.options
    }

    /// Opens a connection to a database that holds a ledger of this version.
    pub(crate) async fn open(&self) -> Result<Connection, Fault> {
        let connection = self.open_unchecked().await?;
        self.check(&connection).await?;
        Ok(connection)
    }

    /// Opens a connection to a database that may hold anything.
    pub(crate) async fn open_unchecked(&self) -> Result<Connection, Fault> {
        let waited = self.options().connect_timeout;
        let address = || self.target.address();
        let opened = timeout(waited, self.target.config.connect(self.tls.clone())).await;
        let (client, driver) = opened
            .map_err(|_| Fault::ConnectTimeout {
                address: address(),
                waited,
            })?
            .map_err(|error| Fault::Connect {
                address: address(),
                error,
            })?;
        // What ends the driver is told to whoever waits for an answer.
        let driver = tokio::spawn(async move {
            driver.await.ok();
        })
        .abort_handle();
        Ok(Connection {
            client,
            driver,
            standing: Standing::InUse,
            prepared: Prepared::default(),
        })
    }

    async fn check(&self, connection: &Connection) -> Result<(), Fault> {
        let row = match connection.one(&self.sql.check, &[]).await {
            Ok(row) => row,
            Err(error) => {
                let code = error.code().map(|code| code.code());
                if !matches!(code, Some("3F000" | "42P01")) {
                    return Err(Fault::Statement(error));
                }
                // A replica may only not have the tables yet.
                let asked = connection.one(IS_REPLICA, &[]).await;
                let is_replica = asked.and_then(|row| row.try_get(0));
                self.judge_replica(is_replica.map_err(Fault::Statement)?)?;
                return Err(Fault::NoSchema(self.options().schema.clone()));
            }
        };
        let version: i64 = row.try_get(1).map_err(Fault::Statement)?;
        if version < OLDEST_SERVER {
            return Err(Fault::Unfit(
                "the server is older than Postgres 15; upgrade it".to_owned(),
            ));
        }
        let is_replica = row.try_get(0).map_err(Fault::Statement)?;
        self.judge_replica(is_replica)?;
        let layout: Option<i64> = row.try_get(3).map_err(Fault::Statement)?;
        match layout {
            Some(found) if found > LAYOUT_VERSION => return Err(Fault::NewerLayout(found)),
            Some(LAYOUT_VERSION) => {}
            Some(_) | None => return Err(Fault::NoSchema(self.options().schema.clone())),
        }
        let durability: &str = row.try_get(2).map_err(Fault::Statement)?;
        if durability == "off" && self.options().mode == Mode::Direct {
            // An acknowledged row must outlive the server's death.
            connection
                .run("SET synchronous_commit = on")
                .await
                .map_err(Fault::Statement)?;
        }
        if self.options().mode == Mode::Direct {
            // Every statement finds its rows by unique keys, so planning it anew each time finds
            // the same plan and costs as much as the append itself.
            connection
                .run("SET plan_cache_mode = force_generic_plan")
                .await
                .map_err(Fault::Statement)?;
        }
        Ok(())
    }

    /// Refuses a server that only follows another one, unless it was asked for.
    pub(crate) fn judge_replica(&self, is_replica: bool) -> Result<(), Fault> {
        if is_replica && self.options().replica == ReplicaPolicy::Refuse {
            return Err(Fault::Unfit(
                "the server is a replica, which may lag behind what was acknowledged; connect to \
                 the primary, or add piton_replica=allow to the URL to read what it has"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

impl Connection {
    /// Says that a call begins.
    pub(crate) fn begin(&mut self) {
        self.standing = Standing::InUse;
    }

    /// Says that nothing is under way any more.
    pub(crate) fn settle(&mut self) {
        self.standing = Standing::Settled;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Runs statements without parameters.
    pub(crate) async fn run(&self, sql: &str) -> Result<(), tokio_postgres::Error> {
        self.client.batch_execute(sql).await
    }

    /// Runs one statement that gives one row, in one flight.
    pub(crate) async fn one(
        &self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Row, tokio_postgres::Error> {
        self.client.query_typed_one(sql, parameters).await
    }

    /// Runs one statement that gives at most one row, in one flight.
    pub(crate) fn optional<'a>(
        &'a self,
        sql: &'a str,
        parameters: &'a [Parameter<'a>],
    ) -> impl Future<Output = Result<Option<Row>, tokio_postgres::Error>> + Send + 'a {
        self.client.query_typed_opt(sql, parameters)
    }

    /// Runs one statement that gives any number of rows, in one flight.
    pub(crate) async fn all(
        &self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        self.client.query_typed(sql, parameters).await
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.standing == Standing::InUse {
            self.driver.abort();
        }
    }
}
