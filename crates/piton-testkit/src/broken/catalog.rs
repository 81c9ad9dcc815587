//! Owns the catalogue of the plain store, and the lies that it tells.

use std::sync::Arc;
use std::time::Duration;

use piton_ledger::WorkflowId;
use piton_store::{StoreError, WorkflowCatalog, WorkflowStats};

use super::clay::{Clay, State};
use super::lie::Lie;

impl WorkflowCatalog for Clay {
    async fn list(&self) -> Result<Vec<WorkflowId>, StoreError> {
        self.open()?;
        let mut ids: Vec<_> = self.data().keys().cloned().collect();
        if self.lie == Lie::ListsBackwards {
            ids.reverse();
        }
        Ok(ids)
    }

    async fn stats(&self, workflow: &WorkflowId) -> Result<WorkflowStats, StoreError> {
        let rows = match self.find(workflow).await? {
            Some(ledger) => ledger.state().rows.clone(),
            None => Vec::new(),
        };
        let counted = match self.lie {
            Lie::Miscounts => rows.len().saturating_sub(1),
            _ => rows.len(),
        };
        Ok(WorkflowStats {
            workflow_id: workflow.clone(),
            rows: u64::try_from(counted).expect("few rows"),
            first_written_at: rows
                .first()
                .and_then(|row| row.written_at.as_text())
                .map(Into::into),
            last_row: rows.last().cloned(),
        })
    }

    async fn delete(&self, workflow: &WorkflowId) -> Result<(), StoreError> {
        self.open()?;
        let mut data = self.data();
        let Some(ledger) = data.get(&self.key(workflow)).cloned() else {
            return match self.lie {
                Lie::DeletesTheUnknown => Ok(()),
                _ => Err(StoreError::UnknownWorkflow {
                    workflow: workflow.clone(),
                }),
            };
        };
        let owner = Arc::clone(&ledger.owner).try_lock_owned();
        if owner.is_err() && self.lie != Lie::DeletesLockedWorkflows {
            return Err(StoreError::Busy {
                workflow: workflow.clone(),
                waited: Duration::ZERO,
            });
        }
        match self.lie {
            Lie::DeletesByPrefix => {
                data.retain(|id, _| !id.as_str().starts_with(workflow.as_str()));
            }
            Lie::DeleteLeavesThePin => {
                let pin = ledger.state().pin;
                *ledger.state() = State {
                    rows: Vec::new(),
                    pin,
                };
            }
            _ => {
                data.remove(&self.key(workflow));
            }
        }
        Ok(())
    }
}
