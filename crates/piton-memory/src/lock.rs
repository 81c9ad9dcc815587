//! Owns append ownership of one workflow, and the order in which an append is judged.

use std::fmt;
use std::sync::Arc;

use piton_ledger::{TransitionId, WorkflowId};
use piton_store::{
    AppendLock, AppendStatus, Appended, ExpectedHead, PersistedRow, Repin, SealedEvent, StoreError,
    Tail,
};
use tokio::sync::OwnedMutexGuard;

use crate::store::{Clock, Workflow};

/// Exclusive append ownership of one workflow in memory.
pub struct MemoryLock {
    workflow_id: WorkflowId,
    workflow: Arc<Workflow>,
    clock: Clock,
    _owner: OwnedMutexGuard<()>,
}

impl MemoryLock {
    pub(crate) fn new(
        workflow_id: WorkflowId,
        workflow: Arc<Workflow>,
        clock: Clock,
        owner: OwnedMutexGuard<()>,
    ) -> Self {
        Self {
            workflow_id,
            workflow,
            clock,
            _owner: owner,
        }
    }
}

impl fmt::Debug for MemoryLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryLock({})", self.workflow_id)
    }
}

impl AppendLock for MemoryLock {
    fn workflow_id(&self) -> &WorkflowId {
        &self.workflow_id
    }

    async fn tail(&mut self) -> Result<Tail, StoreError> {
        Ok(self.workflow.chain().tail())
    }

    async fn find(
        &mut self,
        transition_id: TransitionId,
    ) -> Result<Option<PersistedRow>, StoreError> {
        Ok(self.workflow.chain().find(transition_id))
    }

    async fn append(
        &mut self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> Result<Appended, StoreError> {
        let workflow = || self.workflow_id.clone();
        if event.workflow_id() != &self.workflow_id {
            let event_workflow = event.workflow_id().clone();
            return Err(StoreError::WrongWorkflow {
                workflow: workflow(),
                event_workflow,
            });
        }
        let mut chain = self.workflow.chain();
        if let Some(finding) = chain.pin_finding() {
            return Err(StoreError::PinContradicted {
                workflow: workflow(),
                pin: chain.pin(),
                finding,
            });
        }
        if let Some(present) = chain.present(event) {
            if !present.same_bytes {
                let transition_id = event.transition_id();
                return Err(StoreError::TransitionConflict {
                    workflow: workflow(),
                    transition_id,
                });
            }
            let status = AppendStatus::AlreadyPresent;
            return Ok(Appended {
                sequence: present.sequence,
                head: present.head,
                status,
            });
        }
        let tail = chain.tail();
        match expected {
            ExpectedHead::Exactly(expected) if expected != tail.head() => {
                return Err(StoreError::StaleHead {
                    workflow: workflow(),
                    expected,
                    actual: tail.head(),
                });
            }
            ExpectedHead::Exactly(_) | ExpectedHead::Any => {}
        }
        let sequence = tail.next_sequence().ok_or_else(|| StoreError::ChainFull {
            workflow: workflow(),
        })?;
        let head = chain.push(event, sequence, (self.clock)().to_string());
        Ok(Appended {
            sequence,
            head,
            status: AppendStatus::Appended,
        })
    }

    async fn release(self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Repin for MemoryLock {
    async fn repin(&mut self, tail: Tail) -> Result<(), StoreError> {
        self.workflow.chain().set_pin(tail);
        Ok(())
    }
}
