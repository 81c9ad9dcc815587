//! Owns the contract that every engine fulfils: clauses C1 to C15 of `docs/store-contract.md`.
//! It holds no engine and makes no decision about integrity.

use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;

use piton_ledger::{ChainHead, StateMachine, TransitionEvent, TransitionId, WorkflowId};

use crate::append::{Appended, ExpectedHead};
use crate::error::StoreError;
use crate::mapped::{MappedChain, MappedHere};
use crate::row::{PersistedRow, Stored};
use crate::sealed::SealedEvent;
use crate::tail::Tail;

/// A durable, append-only store of one chain per workflow.
///
/// Seven operations and no more. Each clause of the contract stands with the operation that
/// carries it:
///
/// - C1 Dense: sequences run 1, 2, 3 … per workflow, and reads are in that order.
/// - C2 Chained: each next head is the link of the next head before it and the row's bytes;
///   workflows never share a chain.
/// - C3 Durable on return: a returned head survives `kill -9` and power loss.
/// - C4 Atomic: a row is fully there or not at all; a refused append changes nothing.
/// - C5 Exclusive: many processes on one workflow make one linear chain; a waiter gives up with
///   [`StoreError::Busy`].
/// - C6 Expected head: a moved tail refuses the append with [`StoreError::StaleHead`].
/// - C7 Idempotent: the same transition with the same bytes gives the head it already has; with
///   other bytes it is [`StoreError::TransitionConflict`]. Order of checks: pin, C7, C6.
/// - C8 Detection only: reads give what is persisted, tampered or not.
/// - C9 Snapshot: one chain read sees one consistent prefix, however long it takes.
/// - C10 Quiet reads: reading an unknown workflow gives an empty chain and creates nothing.
/// - C11 Contained: no id names anything outside the store or another workflow's data.
/// - C12 Cancel-safe: a dropped future leaves the event appended or not, and the store usable.
/// - C13 Clock: `written_at` comes from an injected clock and is never hashed.
/// - C14 Pinned: an acknowledged append is noted outside the rows; a pin never leads the rows.
/// - C15 Opaque errors: no driver type in a signature; errors say what, where and whether to
///   retry.
pub trait CheckpointStore: Send + Sync + 'static {
    /// Exclusive append ownership of one workflow.
    type Lock: AppendLock;
    /// One read of one chain.
    type Chain: PersistedChain;

    /// Appends one sealed event under the workflow's append lock (C1 to C7, C12 to C14).
    ///
    /// # Errors
    ///
    /// `Busy`, `StaleHead`, `TransitionConflict`, `PinContradicted`, `PinDamaged`, or an engine's
    /// failure; in each case nothing has been written, unless the engine failed while it
    /// committed: then a retry finds out (C7).
    ///
    /// # Cancel safety
    ///
    /// The event is appended or it is not; a retry is safe.
    fn append(
        &self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> impl Future<Output = Result<Appended, StoreError>> + Send;

    /// Reads the typed events of a workflow in append order (C1, C8, C9). Nothing is verified.
    ///
    /// # Errors
    ///
    /// As [`CheckpointStore::iter_persisted_chain`].
    fn read_all_for_workflow<M: StateMachine>(
        &self,
        workflow: &WorkflowId,
    ) -> impl Future<Output = Result<EventReader<Self::Chain, M>, StoreError>> + Send {
        let workflow = workflow.clone();
        async move {
            Ok(EventReader::new(
                self.iter_persisted_chain(&workflow).await?,
                workflow,
            ))
        }
    }

    /// Reads the raw rows of a workflow in append order, exactly as persisted (C1, C8, C9, C10).
    ///
    /// # Errors
    ///
    /// An engine's failure: the chain could not be read, which says nothing about its integrity.
    fn iter_persisted_chain(
        &self,
        workflow: &WorkflowId,
    ) -> impl Future<Output = Result<Self::Chain, StoreError>> + Send;

    /// Reads the persisted head of the last row, or genesis; nothing is recomputed (C8, C10).
    ///
    /// # Errors
    ///
    /// `UnreadableColumn` when the stored head is not one, or an engine's failure.
    fn tail_chain_head(
        &self,
        workflow: &WorkflowId,
    ) -> impl Future<Output = Result<ChainHead, StoreError>> + Send;

    /// Reads the tail that the store noted outside the rows after its last acknowledged append,
    /// if there is such a note (C10, C14).
    ///
    /// # Errors
    ///
    /// `PinDamaged` when there should be a note and there is none that can be read.
    fn pinned_tail(
        &self,
        workflow: &WorkflowId,
    ) -> impl Future<Output = Result<Option<Tail>, StoreError>> + Send;

    /// Takes exclusive append ownership of one workflow, across processes (C5). It is released
    /// when the guard is dropped or its process dies.
    ///
    /// # Errors
    ///
    /// `Busy` when the lock is not free within the busy time-out.
    ///
    /// # Cancel safety
    ///
    /// A dropped future holds no lock.
    fn lock(
        &self,
        workflow: &WorkflowId,
    ) -> impl Future<Output = Result<Self::Lock, StoreError>> + Send;

    /// Releases files, connections and pools; later calls give [`StoreError::Closed`]. Closing
    /// twice is no error.
    ///
    /// # Errors
    ///
    /// An engine's failure while it let go.
    fn close(&self) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// Exclusive append ownership of one workflow, released on drop.
pub trait AppendLock: Send + 'static {
    /// Gives the workflow that is owned.
    fn workflow_id(&self) -> &WorkflowId;

    /// Reads the position of the last row.
    ///
    /// # Errors
    ///
    /// `UnreadableColumn` when the stored head or sequence is not one, or an engine's failure.
    fn tail(&mut self) -> impl Future<Output = Result<Tail, StoreError>> + Send;

    /// Finds the row of a transition, exactly as persisted.
    ///
    /// # Errors
    ///
    /// An engine's failure.
    fn find(
        &mut self,
        transition_id: TransitionId,
    ) -> impl Future<Output = Result<Option<PersistedRow>, StoreError>> + Send;

    /// Appends one sealed event; see [`CheckpointStore::append`].
    ///
    /// # Errors
    ///
    /// As [`CheckpointStore::append`], and `WrongWorkflow`.
    fn append(
        &mut self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> impl Future<Output = Result<Appended, StoreError>> + Send;

    /// Releases the lock and waits until it is released.
    ///
    /// # Errors
    ///
    /// An engine's failure; the lock is released all the same.
    fn release(self) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// One read of one chain from one snapshot (C9).
pub trait PersistedChain: Send + 'static {
    /// Gives the next rows in append order: at least one, or none at the end.
    ///
    /// # Errors
    ///
    /// An engine's failure; the read is over.
    fn next_rows(&mut self) -> impl Future<Output = Result<Vec<PersistedRow>, StoreError>> + Send;

    /// Takes rows back that the caller is done with, so that later rows may be put into their
    /// memory. It changes nothing about what is read, and nobody has to call it.
    fn recycle(&mut self, _rows: Vec<PersistedRow>) {}

    /// Reads on by batches, in append order, each made by `map` of rows that
    /// [`PersistedChain::next_rows`] would have given.
    ///
    /// An engine that reads ahead may call `map` where it reads, beside the caller's own work, and
    /// on two batches at once. So it should not wait for anything.
    fn map_batches<T: Send + 'static>(
        self,
        map: impl Fn(Vec<PersistedRow>) -> T + Send + Sync + 'static,
    ) -> impl MappedChain<T>
    where
        Self: Sized,
    {
        MappedHere { chain: self, map }
    }

    /// Counts the rows of the same snapshot whose stored next head is this one. It may be called
    /// only after the last row has been read.
    ///
    /// # Errors
    ///
    /// An engine's failure.
    fn count_next_head(
        &mut self,
        next_head: &Stored,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;
}

/// Reads typed events in append order.
#[derive(Debug)]
pub struct EventReader<C, M> {
    chain: C,
    workflow: WorkflowId,
    rows: VecDeque<PersistedRow>,
    machine: PhantomData<M>,
}

impl<C: PersistedChain, M: StateMachine> EventReader<C, M> {
    fn new(chain: C, workflow: WorkflowId) -> Self {
        Self {
            chain,
            workflow,
            rows: VecDeque::new(),
            machine: PhantomData,
        }
    }

    /// Gives the next event, or none at the end.
    ///
    /// # Errors
    ///
    /// `UnreadableEvent` when the stored bytes are not an event of this machine, or an engine's
    /// failure.
    pub async fn next(&mut self) -> Result<Option<TransitionEvent<M>>, StoreError> {
        if self.rows.is_empty() {
            self.rows = self.chain.next_rows().await?.into();
        }
        let Some(row) = self.rows.pop_front() else {
            return Ok(None);
        };
        let event = row
            .event_bytes
            .as_deref()
            .and_then(|bytes| TransitionEvent::parse(bytes).ok());
        match event {
            Some(event) => Ok(Some(event)),
            None => Err(StoreError::UnreadableEvent {
                workflow: self.workflow.clone(),
                sequence: row.sequence,
            }),
        }
    }

    /// Gives all remaining events.
    ///
    /// # Errors
    ///
    /// As [`EventReader::next`].
    pub async fn collect(mut self) -> Result<Vec<TransitionEvent<M>>, StoreError> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await? {
            events.push(event);
        }
        Ok(events)
    }
}
