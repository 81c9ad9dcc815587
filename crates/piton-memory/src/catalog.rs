//! Owns listing, counting and deleting workflows in memory.

use piton_ledger::WorkflowId;
use piton_store::{StoreError, WorkflowCatalog, WorkflowStats};

use crate::store::MemoryStore;

impl WorkflowCatalog for MemoryStore {
    async fn list(&self) -> Result<Vec<WorkflowId>, StoreError> {
        Ok(self.workflows()?.keys().cloned().collect())
    }

    async fn stats(&self, workflow: &WorkflowId) -> Result<WorkflowStats, StoreError> {
        let workflow_id = workflow.clone();
        let Some(found) = self.find(workflow)? else {
            return Ok(WorkflowStats {
                workflow_id,
                rows: 0,
                first_written_at: None,
                last_row: None,
            });
        };
        let chain = found.chain();
        let written_at = |position| {
            chain
                .row(position)
                .and_then(|row| row.written_at.as_text().map(Into::into))
        };
        let last_row = chain
            .len()
            .checked_sub(1)
            .and_then(|position| chain.row(position));
        let rows = u64::try_from(chain.len()).unwrap_or(u64::MAX);
        Ok(WorkflowStats {
            workflow_id,
            rows,
            first_written_at: written_at(0),
            last_row,
        })
    }

    async fn delete(&self, workflow: &WorkflowId) -> Result<(), StoreError> {
        let unknown = || StoreError::UnknownWorkflow {
            workflow: workflow.clone(),
        };
        let found = self.find(workflow)?.ok_or_else(unknown)?;
        let busy = || StoreError::Busy {
            workflow: workflow.clone(),
            waited: std::time::Duration::ZERO,
        };
        let _owner = Self::try_own(&found).ok_or_else(busy)?;
        self.workflows()?.remove(workflow);
        Ok(())
    }
}
