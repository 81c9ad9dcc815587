//! Owns the listing, counting and deleting of workflows. It reads no payload but the last.

use std::time::Duration;

use piton_ledger::WorkflowId;
use piton_store::{AppendLock, StoreError, WorkflowCatalog, WorkflowStats};
use tokio_postgres::types::Type;

use crate::error::{Call, Fault};
use crate::lock::PostgresLock;
use crate::row;
use crate::store::PostgresStore;

/// How long a deletion waits for the lock: a server needs a moment to notice that a holder is
/// gone.
const DELETE_PATIENCE: Duration = Duration::from_millis(250);

impl WorkflowCatalog for PostgresStore {
    async fn list(&self) -> Result<Vec<WorkflowId>, StoreError> {
        let call = Call {
            action: "listing the workflows",
            workflow: None,
        };
        let listed = self.inner.again_when_lost(|| async {
            let lease = self.inner.pool.lease().await?;
            let rows = lease
                .all(&self.inner.opener.sql.list, &[])
                .await
                .map_err(Fault::Statement)?;
            lease.finish();
            Ok(rows)
        });
        let mut workflows = Vec::new();
        for row in listed.await.map_err(|fault| call.fault(fault))? {
            let id: Option<&str> = row
                .try_get(0)
                .map_err(|error| call.fault(Fault::Statement(error)))?;
            // What can't be an id was put there by somebody else.
            workflows.extend(id.and_then(|id| id.parse::<WorkflowId>().ok()));
        }
        workflows.sort();
        Ok(workflows)
    }

    async fn stats(&self, workflow: &WorkflowId) -> Result<WorkflowStats, StoreError> {
        let call = Call {
            action: "counting",
            workflow: Some(workflow),
        };
        let counted = self.inner.again_when_lost(|| count(self, workflow)).await;
        counted.map_err(|fault| call.fault(fault))
    }

    async fn delete(&self, workflow: &WorkflowId) -> Result<(), StoreError> {
        let call = Call {
            action: "deletion",
            workflow: Some(workflow),
        };
        self.inner
            .refuse_when_closed()
            .map_err(|fault| call.fault(fault))?;
        let Some(turn) = self.inner.queue.turn_now(workflow) else {
            return Err(StoreError::Busy {
                workflow: workflow.clone(),
                waited: Duration::ZERO,
            });
        };
        let patience = DELETE_PATIENCE.min(self.inner.options().busy_timeout);
        let mut lock = PostgresLock::acquire(&self.inner, workflow, turn, patience).await?;
        let was_there = lock.delete().await.map_err(|fault| call.fault(fault))?;
        lock.release().await?;
        if was_there {
            Ok(())
        } else {
            Err(StoreError::UnknownWorkflow {
                workflow: workflow.clone(),
            })
        }
    }
}

async fn count(store: &PostgresStore, workflow: &WorkflowId) -> Result<WorkflowStats, Fault> {
    let inner = &store.inner;
    let lease = inner.pool.lease().await?;
    let row = lease
        .one(&inner.opener.sql.stats, &[(&workflow.as_str(), Type::TEXT)])
        .await
        .map_err(Fault::Statement)?;
    lease.finish();
    let decode = || -> Result<_, tokio_postgres::Error> {
        let is_replica: bool = row.try_get(6)?;
        let rows: i64 = row.try_get(7)?;
        let first_written_at: Option<&str> = row.try_get(8)?;
        let has_last = row.try_get::<_, Option<i64>>(0)?.is_some();
        let last_row = has_last.then(|| row::decode(&row)).transpose()?;
        Ok((is_replica, rows, first_written_at, last_row))
    };
    let (is_replica, rows, first_written_at, last_row) = decode().map_err(Fault::Statement)?;
    inner.opener.judge_replica(is_replica)?;
    Ok(WorkflowStats {
        workflow_id: workflow.clone(),
        // A count is never negative.
        rows: u64::try_from(rows).unwrap_or(0),
        first_written_at: first_written_at.map(Box::from),
        last_row,
    })
}
