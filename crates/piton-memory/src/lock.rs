//! Owns append ownership of one workflow, and the order in which an append is judged.

use std::fmt;
use std::sync::Arc;

use piton_ledger::{TransitionId, WorkflowId};
use piton_store::{
    AppendBatch, AppendLock, AppendStatus, Appended, Batch, ExpectedHead, PersistedRow, Repin,
    SealedEvent, StoreError, Tail,
};
use tokio::sync::OwnedMutexGuard;

use crate::chain::Chain;
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
        match judge(&self.workflow_id, &chain, event, expected)? {
            Some(present) => Ok(present),
            None => write(&self.workflow_id, &mut chain, event, &self.clock),
        }
    }

    async fn release(self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl AppendBatch for MemoryLock {
    async fn append_batch(
        &mut self,
        batch: &Batch,
        expected: ExpectedHead,
    ) -> Result<Vec<Appended>, StoreError> {
        if batch.workflow_id() != &self.workflow_id {
            return Err(StoreError::WrongWorkflow {
                workflow: self.workflow_id.clone(),
                event_workflow: batch.workflow_id().clone(),
            });
        }
        let mut chain = self.workflow.chain();
        // The expected head comes after every transition.
        let judge = |event| judge(&self.workflow_id, &chain, event, ExpectedHead::Any);
        let judged: Vec<_> = batch.events().iter().map(judge).collect::<Result<_, _>>()?;
        if judged.iter().any(Option::is_none) {
            check_expected(&self.workflow_id, &chain, expected)?;
        }
        let answers = batch.events().iter().zip(judged);
        answers
            .map(|(event, present)| match present {
                Some(present) => Ok(present),
                None => write(&self.workflow_id, &mut chain, event, &self.clock),
            })
            .collect()
    }
}

/// Judges one event: its answer when it is there already, none when it may be written.
fn judge(
    workflow: &WorkflowId,
    chain: &Chain,
    event: &SealedEvent,
    expected: ExpectedHead,
) -> Result<Option<Appended>, StoreError> {
    if let Some(finding) = chain.pin_finding() {
        return Err(StoreError::PinContradicted {
            workflow: workflow.clone(),
            pin: chain.pin(),
            finding,
        });
    }
    if let Some(present) = chain.present(event) {
        if !present.same_bytes {
            return Err(StoreError::TransitionConflict {
                workflow: workflow.clone(),
                transition_id: event.transition_id(),
            });
        }
        return Ok(Some(Appended {
            sequence: present.sequence,
            head: present.head,
            status: AppendStatus::AlreadyPresent,
        }));
    }
    check_expected(workflow, chain, expected).map(|()| None)
}

fn check_expected(
    workflow: &WorkflowId,
    chain: &Chain,
    expected: ExpectedHead,
) -> Result<(), StoreError> {
    let actual = chain.tail().head();
    match expected {
        ExpectedHead::Exactly(expected) if expected != actual => Err(StoreError::StaleHead {
            workflow: workflow.clone(),
            expected,
            actual,
        }),
        ExpectedHead::Exactly(_) | ExpectedHead::Any => Ok(()),
    }
}

fn write(
    workflow: &WorkflowId,
    chain: &mut Chain,
    event: &SealedEvent,
    clock: &Clock,
) -> Result<Appended, StoreError> {
    let next = chain.tail().next_sequence();
    let sequence = next.ok_or_else(|| StoreError::ChainFull {
        workflow: workflow.clone(),
    })?;
    Ok(Appended {
        sequence,
        head: chain.push(event, sequence, clock().to_string()),
        status: AppendStatus::Appended,
    })
}

impl Repin for MemoryLock {
    async fn repin(&mut self, tail: Tail) -> Result<(), StoreError> {
        self.workflow.chain().set_pin(tail);
        Ok(())
    }
}
