//! Owns the optional powers of a store: to list, count and delete workflows, and to move a pin.

use std::future::Future;

use piton_ledger::{StateMachine, TransitionEvent, WorkflowId};

use crate::error::StoreError;
use crate::port::{AppendLock, CheckpointStore};
use crate::row::PersistedRow;
use crate::tail::Tail;

/// What a store knows of one workflow without reading any payload but the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowStats {
    /// The workflow.
    pub workflow_id: WorkflowId,
    /// How many rows it has.
    pub rows: u64,
    /// When the first row was written, as stored.
    pub first_written_at: Option<Box<str>>,
    /// The last row, exactly as persisted.
    pub last_row: Option<PersistedRow>,
}

impl WorkflowStats {
    /// Reads the state kind that the last event reached; none when nothing is recorded or the
    /// event is not one of this machine. Nothing is verified.
    pub fn latest_state<M: StateMachine>(&self) -> Option<M> {
        let bytes = self.last_row.as_ref()?.event_bytes.as_deref()?;
        TransitionEvent::<M>::parse(bytes)
            .ok()
            .map(|event| event.next_state_id())
    }
}

/// Lists, counts and deletes workflows.
pub trait WorkflowCatalog: CheckpointStore {
    /// Gives the workflows of the store in the order of their ids.
    ///
    /// # Errors
    ///
    /// An engine's failure.
    fn list(&self) -> impl Future<Output = Result<Vec<WorkflowId>, StoreError>> + Send;

    /// Gives what is known of one workflow; zero rows for an unknown one.
    ///
    /// # Errors
    ///
    /// An engine's failure.
    fn stats(
        &self,
        workflow: &WorkflowId,
    ) -> impl Future<Output = Result<WorkflowStats, StoreError>> + Send;

    /// Deletes a workflow with everything that belongs to it, under its append lock.
    ///
    /// # Errors
    ///
    /// `UnknownWorkflow`, `Busy` at once (without waiting) when another holder has the lock, or an
    /// engine's failure.
    fn delete(&self, workflow: &WorkflowId) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// An append lock that can replace the note which its store keeps outside the rows.
///
/// This gives up the evidence that the old note held; only the verifier's `repin`, which first
/// walks the chain, should call it.
pub trait Repin: AppendLock {
    /// Notes `tail` as the acknowledged tail, whatever was noted before, and makes it durable.
    ///
    /// # Errors
    ///
    /// An engine's failure.
    fn repin(&mut self, tail: Tail) -> impl Future<Output = Result<(), StoreError>> + Send;
}
