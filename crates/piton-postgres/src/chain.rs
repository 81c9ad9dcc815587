//! Owns one read of one chain from one snapshot. It judges nothing.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::{TryStreamExt, future};
use piton_ledger::WorkflowId;
use piton_store::{PersistedChain, PersistedRow, StoreError, Stored};
use tokio_postgres::RowStream;
use tokio_postgres::types::Type;

use crate::connection::{Connection, Parameter};
use crate::error::{Call, Fault};
use crate::row;
use crate::sql::{BEGIN_SNAPSHOT, IS_REPLICA};
use crate::store::Inner;

const ACTION: &str = "reading the chain";
/// How many rows one step of a read gives.
const BATCH_ROWS: usize = 128;

/// One read of one chain from one snapshot.
///
/// It has a connection of its own, which is closed when the read is dropped before its end.
pub struct PostgresChain {
    inner: Arc<Inner>,
    workflow: WorkflowId,
    reading: Option<Reading>,
}

/// The open transaction of a read.
struct Reading {
    connection: Connection,
    /// The rows that are still to come; none after the last one.
    rows: Option<Pin<Box<RowStream>>>,
}

impl PostgresChain {
    pub(crate) async fn start(
        inner: &Arc<Inner>,
        workflow: &WorkflowId,
    ) -> Result<Self, StoreError> {
        let call = Call {
            action: ACTION,
            workflow: Some(workflow),
        };
        let reading = inner
            .again_when_lost(|| Reading::start(inner, workflow))
            .await
            .map_err(|fault| call.fault(fault))?;
        Ok(Self {
            inner: Arc::clone(inner),
            workflow: workflow.clone(),
            reading: Some(reading),
        })
    }

    fn call(&self) -> Call<'_> {
        Call {
            action: ACTION,
            workflow: Some(&self.workflow),
        }
    }
}

impl Reading {
    async fn start(inner: &Inner, workflow: &WorkflowId) -> Result<Self, Fault> {
        let connection = inner.pool.own().await?;
        connection
            .run(BEGIN_SNAPSHOT)
            .await
            .map_err(Fault::Statement)?;
        // Behind a pooler another server may answer than the one that was checked at first.
        let parameters = [(workflow.as_str(), Type::TEXT)];
        let (is_replica, rows) = future::join(
            connection.one(IS_REPLICA, &[]),
            connection
                .client
                .query_typed_raw(&inner.opener.sql.chain, parameters),
        )
        .await;
        let is_replica = is_replica.and_then(|row| row.try_get(0));
        inner
            .opener
            .judge_replica(is_replica.map_err(Fault::Statement)?)?;
        let rows = rows.map_err(Fault::Statement)?;
        Ok(Self {
            connection,
            rows: Some(Box::pin(rows)),
        })
    }

    async fn next_rows(&mut self) -> Result<Vec<PersistedRow>, tokio_postgres::Error> {
        let mut batch = Vec::new();
        while let Some(rows) = &mut self.rows {
            match rows.try_next().await? {
                Some(row) => batch.push(row::decode(&row)?),
                None => self.rows = None,
            }
            if batch.len() == BATCH_ROWS {
                break;
            }
        }
        Ok(batch)
    }

    async fn count(
        &mut self,
        sql: &str,
        workflow: &WorkflowId,
        head: &[u8],
    ) -> Result<i64, tokio_postgres::Error> {
        // Rows that nobody takes would hold up the answer.
        while let Some(rows) = &mut self.rows {
            if rows.try_next().await?.is_none() {
                self.rows = None;
            }
        }
        let workflow = workflow.as_str();
        let parameters: [Parameter<'_>; 2] = [(&workflow, Type::TEXT), (&head, Type::BYTEA)];
        let row = self.connection.one(sql, &parameters).await?;
        row.try_get(0)
    }
}

impl fmt::Debug for PostgresChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresChain({})", self.workflow)
    }
}

impl PersistedChain for PostgresChain {
    async fn next_rows(&mut self) -> Result<Vec<PersistedRow>, StoreError> {
        // Taken out, so that a call that was cut short ends the read and its connection.
        let Some(mut reading) = self.reading.take() else {
            return Err(self.call().fault(Fault::Unexpected(OVER)));
        };
        let batch = reading
            .next_rows()
            .await
            .map_err(|error| self.call().fault(Fault::Statement(error)))?;
        self.reading = Some(reading);
        Ok(batch)
    }

    async fn count_next_head(&mut self, next_head: &Stored) -> Result<u64, StoreError> {
        let head = match next_head {
            Stored::Bytes(bytes) => bytes.to_vec(),
            Stored::Text(_) => match next_head.to_head() {
                Some(head) => head.as_bytes().to_vec(),
                None => return Ok(0),
            },
            Stored::Null => return Ok(0),
        };
        let Some(mut reading) = self.reading.take() else {
            return Err(self.call().fault(Fault::Unexpected(OVER)));
        };
        let count = reading
            .count(&self.inner.opener.sql.count, &self.workflow, &head)
            .await
            .map_err(|error| self.call().fault(Fault::Statement(error)))?;
        self.reading = Some(reading);
        // A count is never negative.
        Ok(u64::try_from(count).unwrap_or(0))
    }
}

/// Why a read can't go on.
const OVER: &str = "the read ended with an earlier failure; begin another";

impl Drop for PostgresChain {
    /// Keeps the connection of a read that came to its end; any other is closed.
    fn drop(&mut self) {
        let Some(Reading {
            connection,
            rows: None,
        }) = self.reading.take()
        else {
            return;
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let inner = Arc::clone(&self.inner);
        runtime.spawn(async move {
            if connection.run("COMMIT").await.is_ok() {
                inner.pool.keep(connection);
            }
        });
    }
}
