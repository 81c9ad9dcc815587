//! Owns the erased handle, for callers that choose an engine at run time. It only forwards.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use piton_ledger::{ChainHead, TransitionId, WorkflowId};

use crate::append::{Appended, ExpectedHead};
use crate::batch::{AppendBatch, Batch};
use crate::catalog::{Repin, WorkflowCatalog, WorkflowStats};
use crate::error::StoreError;
use crate::mapped::MappedChain;
use crate::port::{AppendLock, CheckpointStore, PersistedChain};
use crate::row::{PersistedRow, Stored};
use crate::sealed::SealedEvent;
use crate::tail::Tail;

type Boxed<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// What was made of a batch of rows, for the one who knows its type.
type AnyBatch = Box<dyn Any + Send>;
type AnyMap = Box<dyn Fn(Vec<PersistedRow>) -> AnyBatch + Send + Sync>;

/// A store of some engine, chosen at run time. Cloning shares it.
#[derive(Clone)]
pub struct AnyStore(Arc<dyn DynStore>);

/// The append lock of an [`AnyStore`].
pub struct AnyLock(Box<dyn DynLock>);

/// One chain read of an [`AnyStore`].
pub struct AnyChain(Box<dyn DynChain>);

struct AnyMapped<T> {
    chain: Box<dyn DynMapped>,
    batch: PhantomData<fn() -> T>,
}

impl AnyStore {
    /// Erases a store.
    pub fn new<S: WorkflowCatalog>(store: S) -> Self
    where
        S::Lock: Repin + AppendBatch,
    {
        Self(Arc::new(store))
    }
}

impl fmt::Debug for AnyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyStore")
    }
}

impl fmt::Debug for AnyLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnyLock({})", self.workflow_id())
    }
}

impl fmt::Debug for AnyChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyChain")
    }
}

impl CheckpointStore for AnyStore {
    type Lock = AnyLock;
    type Chain = AnyChain;

    async fn append(
        &self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> Result<Appended, StoreError> {
        self.0.dyn_append(event, expected).await
    }

    async fn iter_persisted_chain(&self, workflow: &WorkflowId) -> Result<AnyChain, StoreError> {
        self.0.dyn_chain(workflow).await
    }

    async fn tail_chain_head(&self, workflow: &WorkflowId) -> Result<ChainHead, StoreError> {
        self.0.dyn_tail_chain_head(workflow).await
    }

    async fn pinned_tail(&self, workflow: &WorkflowId) -> Result<Option<Tail>, StoreError> {
        self.0.dyn_pinned_tail(workflow).await
    }

    async fn lock(&self, workflow: &WorkflowId) -> Result<AnyLock, StoreError> {
        self.0.dyn_lock(workflow).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.0.dyn_close().await
    }
}

impl WorkflowCatalog for AnyStore {
    async fn list(&self) -> Result<Vec<WorkflowId>, StoreError> {
        self.0.dyn_list().await
    }

    async fn stats(&self, workflow: &WorkflowId) -> Result<WorkflowStats, StoreError> {
        self.0.dyn_stats(workflow).await
    }

    async fn delete(&self, workflow: &WorkflowId) -> Result<(), StoreError> {
        self.0.dyn_delete(workflow).await
    }
}

impl Repin for AnyLock {
    async fn repin(&mut self, tail: Tail) -> Result<(), StoreError> {
        self.0.dyn_repin(tail).await
    }
}

impl AppendBatch for AnyLock {
    async fn append_batch(
        &mut self,
        batch: &Batch,
        expected: ExpectedHead,
    ) -> Result<Vec<Appended>, StoreError> {
        self.0.dyn_append_batch(batch, expected).await
    }
}

impl AppendLock for AnyLock {
    fn workflow_id(&self) -> &WorkflowId {
        self.0.dyn_workflow_id()
    }

    async fn tail(&mut self) -> Result<Tail, StoreError> {
        self.0.dyn_tail().await
    }

    async fn find(
        &mut self,
        transition_id: TransitionId,
    ) -> Result<Option<PersistedRow>, StoreError> {
        self.0.dyn_find(transition_id).await
    }

    async fn append(
        &mut self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> Result<Appended, StoreError> {
        self.0.dyn_append(event, expected).await
    }

    async fn release(self) -> Result<(), StoreError> {
        self.0.dyn_release().await
    }
}

impl PersistedChain for AnyChain {
    async fn next_rows(&mut self) -> Result<Vec<PersistedRow>, StoreError> {
        self.0.dyn_next_rows().await
    }

    fn recycle(&mut self, rows: Vec<PersistedRow>) {
        self.0.dyn_recycle(rows);
    }

    fn map_batches<T: Send + 'static>(
        self,
        map: impl Fn(Vec<PersistedRow>) -> T + Send + Sync + 'static,
    ) -> impl MappedChain<T> {
        AnyMapped {
            chain: self
                .0
                .dyn_map_batches(Box::new(move |rows| Box::new(map(rows)))),
            batch: PhantomData,
        }
    }

    async fn count_next_head(&mut self, next_head: &Stored) -> Result<u64, StoreError> {
        self.0.dyn_count_next_head(next_head).await
    }
}

impl<T: Send + 'static> MappedChain<T> for AnyMapped<T> {
    async fn next_batch(&mut self) -> Result<Option<T>, StoreError> {
        let batch = self.chain.dyn_next_batch().await?;
        Ok(batch.map(|batch| {
            *batch
                .downcast()
                .expect("a batch is what `map` made of its rows")
        }))
    }

    fn recycle(&mut self, rows: Vec<PersistedRow>) {
        self.chain.dyn_recycle(rows);
    }

    async fn count_next_head(&mut self, next_head: &Stored) -> Result<u64, StoreError> {
        self.chain.dyn_count_next_head(next_head).await
    }
}

/// The boxed mirror of the store traits; its methods bear other names because equal names would
/// be ambiguous.
trait DynStore: Send + Sync {
    fn dyn_append<'a>(
        &'a self,
        event: &'a SealedEvent,
        expected: ExpectedHead,
    ) -> Boxed<'a, Appended>;
    fn dyn_chain<'a>(&'a self, workflow: &'a WorkflowId) -> Boxed<'a, AnyChain>;
    fn dyn_tail_chain_head<'a>(&'a self, workflow: &'a WorkflowId) -> Boxed<'a, ChainHead>;
    fn dyn_pinned_tail<'a>(&'a self, workflow: &'a WorkflowId) -> Boxed<'a, Option<Tail>>;
    fn dyn_lock<'a>(&'a self, workflow: &'a WorkflowId) -> Boxed<'a, AnyLock>;
    fn dyn_close(&self) -> Boxed<'_, ()>;
    fn dyn_list(&self) -> Boxed<'_, Vec<WorkflowId>>;
    fn dyn_stats<'a>(&'a self, workflow: &'a WorkflowId) -> Boxed<'a, WorkflowStats>;
    fn dyn_delete<'a>(&'a self, workflow: &'a WorkflowId) -> Boxed<'a, ()>;
}

trait DynLock: Send {
    fn dyn_workflow_id(&self) -> &WorkflowId;
    fn dyn_tail(&mut self) -> Boxed<'_, Tail>;
    fn dyn_find(&mut self, transition_id: TransitionId) -> Boxed<'_, Option<PersistedRow>>;
    fn dyn_append<'a>(
        &'a mut self,
        event: &'a SealedEvent,
        expected: ExpectedHead,
    ) -> Boxed<'a, Appended>;
    fn dyn_append_batch<'a>(
        &'a mut self,
        batch: &'a Batch,
        expected: ExpectedHead,
    ) -> Boxed<'a, Vec<Appended>>;
    fn dyn_repin(&mut self, tail: Tail) -> Boxed<'_, ()>;
    fn dyn_release(self: Box<Self>) -> Boxed<'static, ()>;
}

trait DynChain: Send {
    fn dyn_next_rows(&mut self) -> Boxed<'_, Vec<PersistedRow>>;
    fn dyn_recycle(&mut self, rows: Vec<PersistedRow>);
    fn dyn_map_batches(self: Box<Self>, map: AnyMap) -> Box<dyn DynMapped>;
    fn dyn_count_next_head<'a>(&'a mut self, next_head: &'a Stored) -> Boxed<'a, u64>;
}

trait DynMapped: Send {
    fn dyn_next_batch(&mut self) -> Boxed<'_, Option<AnyBatch>>;
    fn dyn_recycle(&mut self, rows: Vec<PersistedRow>);
    fn dyn_count_next_head<'a>(&'a mut self, next_head: &'a Stored) -> Boxed<'a, u64>;
}

impl<S: WorkflowCatalog> DynStore for S
where
    S::Lock: Repin + AppendBatch,
{
    fn dyn_append<'a>(
        &'a self,
        event: &'a SealedEvent,
        expected: ExpectedHead,
    ) -> Boxed<'a, Appended> {
        Box::pin(self.append(event, expected))
    }

    fn dyn_chain<'a>(&'a self, workflow: &'a WorkflowId) -> Boxed<'a, AnyChain> {
        Box::pin(async move {
            Ok(AnyChain(Box::new(
                self.iter_persisted_chain(workflow).await?,
            )))
        })
    }

    fn dyn_tail_chain_head<'a>(&'a self, workflow: &'a WorkflowId) -> Boxed<'a, ChainHead> {
        Box::pin(self.tail_chain_head(workflow))
    }

    fn dyn_pinned_tail<'a>(&'a self, workflow: &'a WorkflowId) -> Boxed<'a, Option<Tail>> {
        Box::pin(self.pinned_tail(workflow))
    }

    fn dyn_lock<'a>(&'a self, workflow: &'a WorkflowId) -> Boxed<'a, AnyLock> {
        Box::pin(async move { Ok(AnyLock(Box::new(self.lock(workflow).await?))) })
    }

    fn dyn_close(&self) -> Boxed<'_, ()> {
        Box::pin(self.close())
    }

    fn dyn_list(&self) -> Boxed<'_, Vec<WorkflowId>> {
        Box::pin(self.list())
    }

    fn dyn_stats<'a>(&'a self, workflow: &'a WorkflowId) -> Boxed<'a, WorkflowStats> {
        Box::pin(self.stats(workflow))
    }

    fn dyn_delete<'a>(&'a self, workflow: &'a WorkflowId) -> Boxed<'a, ()> {
        Box::pin(self.delete(workflow))
    }
}

impl<L: Repin + AppendBatch> DynLock for L {
    fn dyn_workflow_id(&self) -> &WorkflowId {
        self.workflow_id()
    }

    fn dyn_tail(&mut self) -> Boxed<'_, Tail> {
        Box::pin(self.tail())
    }

    fn dyn_find(&mut self, transition_id: TransitionId) -> Boxed<'_, Option<PersistedRow>> {
        Box::pin(self.find(transition_id))
    }

    fn dyn_append<'a>(
        &'a mut self,
        event: &'a SealedEvent,
        expected: ExpectedHead,
    ) -> Boxed<'a, Appended> {
        Box::pin(self.append(event, expected))
    }

    fn dyn_append_batch<'a>(
        &'a mut self,
        batch: &'a Batch,
        expected: ExpectedHead,
    ) -> Boxed<'a, Vec<Appended>> {
        Box::pin(self.append_batch(batch, expected))
    }

    fn dyn_repin(&mut self, tail: Tail) -> Boxed<'_, ()> {
        Box::pin(self.repin(tail))
    }

    fn dyn_release(self: Box<Self>) -> Boxed<'static, ()> {
        Box::pin((*self).release())
    }
}

impl<C: PersistedChain> DynChain for C {
    fn dyn_next_rows(&mut self) -> Boxed<'_, Vec<PersistedRow>> {
        Box::pin(self.next_rows())
    }

    fn dyn_recycle(&mut self, rows: Vec<PersistedRow>) {
        self.recycle(rows);
    }

    fn dyn_map_batches(self: Box<Self>, map: AnyMap) -> Box<dyn DynMapped> {
        Box::new((*self).map_batches(map))
    }

    fn dyn_count_next_head<'a>(&'a mut self, next_head: &'a Stored) -> Boxed<'a, u64> {
        Box::pin(self.count_next_head(next_head))
    }
}

impl<C: MappedChain<AnyBatch>> DynMapped for C {
    fn dyn_next_batch(&mut self) -> Boxed<'_, Option<AnyBatch>> {
        Box::pin(self.next_batch())
    }

    fn dyn_recycle(&mut self, rows: Vec<PersistedRow>) {
        self.recycle(rows);
    }

    fn dyn_count_next_head<'a>(&'a mut self, next_head: &'a Stored) -> Boxed<'a, u64> {
        Box::pin(self.count_next_head(next_head))
    }
}
