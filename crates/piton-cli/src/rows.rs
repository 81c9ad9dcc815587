//! Owns the reading of one chain row by row. It judges none of them.

use std::vec;

use piton_ledger::WorkflowId;
use piton_store::{
    AnyChain, AnyStore, CheckpointStore as _, PersistedChain as _, PersistedRow, StoreError,
};

/// The raw rows of one chain, with no more than one batch in memory.
#[derive(Debug)]
pub(crate) struct Rows {
    chain: AnyChain,
    batch: vec::IntoIter<PersistedRow>,
}

impl Rows {
    pub(crate) async fn open(store: &AnyStore, workflow: &WorkflowId) -> Result<Self, StoreError> {
        Ok(Self {
            chain: store.iter_persisted_chain(workflow).await?,
            batch: Vec::new().into_iter(),
        })
    }

    /// Gives the next row, or none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<PersistedRow>, StoreError> {
        if let Some(row) = self.batch.next() {
            return Ok(Some(row));
        }
        self.batch = self.chain.next_rows().await?.into_iter();
        Ok(self.batch.next())
    }
}
