//! Owns a store that serves damaged rows of one workflow in place of its own. It judges none.

use std::collections::VecDeque;
use std::sync::Arc;

use piton_ledger::{ChainHead, WorkflowId};
use piton_store::{
    Appended, CheckpointStore, ExpectedHead, PersistedChain, PersistedRow, SealedEvent, StoreError,
    Stored, Tail,
};

/// A store that serves given rows and a given pin for one workflow; all else goes to the store
/// beneath, appends and locks too.
#[derive(Debug)]
pub struct TamperedStore<S> {
    inner: S,
    workflow: WorkflowId,
    rows: Arc<[PersistedRow]>,
    pin: Option<Tail>,
}

impl<S> TamperedStore<S> {
    /// Lays rows and a pin over a store.
    pub fn new(inner: S, workflow: WorkflowId, rows: Vec<PersistedRow>, pin: Option<Tail>) -> Self {
        Self {
            inner,
            workflow,
            rows: rows.into(),
            pin,
        }
    }

    /// Gives the rows that are served.
    pub fn rows(&self) -> &[PersistedRow] {
        &self.rows
    }
}

impl<S: CheckpointStore> CheckpointStore for TamperedStore<S> {
    type Lock = S::Lock;
    type Chain = ServedChain<S::Chain>;

    async fn append(
        &self,
        event: &SealedEvent,
        expected: ExpectedHead,
    ) -> Result<Appended, StoreError> {
        self.inner.append(event, expected).await
    }

    async fn iter_persisted_chain(&self, workflow: &WorkflowId) -> Result<Self::Chain, StoreError> {
        if workflow == &self.workflow {
            return Ok(ServedChain::Given {
                rows: Arc::clone(&self.rows),
                left: self.rows.iter().cloned().collect(),
            });
        }
        let chain = self.inner.iter_persisted_chain(workflow).await?;
        Ok(ServedChain::Beneath(chain))
    }

    async fn tail_chain_head(&self, workflow: &WorkflowId) -> Result<ChainHead, StoreError> {
        if workflow != &self.workflow {
            return self.inner.tail_chain_head(workflow).await;
        }
        let Some(last) = self.rows.last() else {
            return Ok(ChainHead::GENESIS);
        };
        last.next_head
            .to_head()
            .ok_or_else(|| StoreError::UnreadableColumn {
                workflow: workflow.clone(),
                column: "next_head",
            })
    }

    async fn pinned_tail(&self, workflow: &WorkflowId) -> Result<Option<Tail>, StoreError> {
        if workflow == &self.workflow {
            Ok(self.pin)
        } else {
            self.inner.pinned_tail(workflow).await
        }
    }

    async fn lock(&self, workflow: &WorkflowId) -> Result<S::Lock, StoreError> {
        self.inner.lock(workflow).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.inner.close().await
    }
}

/// One read of a [`TamperedStore`], two rows at a time so that batches have edges.
#[derive(Debug)]
pub enum ServedChain<C> {
    /// The given rows.
    Given {
        /// Every row.
        rows: Arc<[PersistedRow]>,
        /// The rows that were not read yet.
        left: VecDeque<PersistedRow>,
    },
    /// A chain of the store beneath.
    Beneath(C),
}

impl<C: PersistedChain> PersistedChain for ServedChain<C> {
    async fn next_rows(&mut self) -> Result<Vec<PersistedRow>, StoreError> {
        match self {
            Self::Given { left, .. } => {
                let batch = left.len().min(2);
                Ok(left.drain(..batch).collect())
            }
            Self::Beneath(chain) => chain.next_rows().await,
        }
    }

    async fn count_next_head(&mut self, next_head: &Stored) -> Result<u64, StoreError> {
        match self {
            Self::Given { rows, .. } => {
                let count = rows
                    .iter()
                    .filter(|row| &row.next_head == next_head)
                    .count();
                Ok(u64::try_from(count).expect("few rows"))
            }
            Self::Beneath(chain) => chain.count_next_head(next_head).await,
        }
    }
}
