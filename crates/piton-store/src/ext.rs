//! Owns conveniences for callers, all of them made of the port's operations.

use std::future::Future;

use piton_ledger::{StateMachine, TransitionEvent, WorkflowId};

use crate::append::{Appended, ExpectedHead};
use crate::error::StoreError;
use crate::port::{CheckpointStore, PersistedChain};
use crate::row::PersistedRow;
use crate::sealed::SealedEvent;

/// Conveniences on every [`CheckpointStore`].
pub trait CheckpointStoreExt: CheckpointStore {
    /// Appends an event only if the tail still is the head that the event's writer had seen.
    ///
    /// # Errors
    ///
    /// As [`CheckpointStore::append`].
    fn append_fenced(
        &self,
        event: &SealedEvent,
    ) -> impl Future<Output = Result<Appended, StoreError>> + Send {
        self.append(event, ExpectedHead::Exactly(event.chain_head()))
    }

    /// Collects the raw rows of a workflow; for chains that fit in memory.
    ///
    /// # Errors
    ///
    /// As [`CheckpointStore::iter_persisted_chain`].
    fn collect_rows(
        &self,
        workflow: &WorkflowId,
    ) -> impl Future<Output = Result<Vec<PersistedRow>, StoreError>> + Send {
        async move {
            let mut chain = self.iter_persisted_chain(workflow).await?;
            let mut rows = Vec::new();
            loop {
                let batch = chain.next_rows().await?;
                if batch.is_empty() {
                    return Ok(rows);
                }
                rows.extend(batch);
            }
        }
    }

    /// Collects the typed events of a workflow; for chains that fit in memory. Nothing is verified.
    ///
    /// # Errors
    ///
    /// As [`CheckpointStore::read_all_for_workflow`].
    fn collect_events<M: StateMachine>(
        &self,
        workflow: &WorkflowId,
    ) -> impl Future<Output = Result<Vec<TransitionEvent<M>>, StoreError>> + Send {
        async move {
            self.read_all_for_workflow::<M>(workflow)
                .await?
                .collect()
                .await
        }
    }
}

impl<S: CheckpointStore> CheckpointStoreExt for S {}
