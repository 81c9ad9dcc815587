//! Owns chain reads whose batches are made into something else where they are read. It looks into
//! no row.

use std::future::Future;

use crate::error::StoreError;
use crate::port::PersistedChain;
use crate::row::{PersistedRow, Stored};

/// One read of one chain, batch by batch as [`PersistedChain::map_batches`] was told.
pub trait MappedChain<T>: Send + 'static {
    /// Gives what was made of the next rows, or none at the end.
    ///
    /// # Errors
    ///
    /// An engine's failure; the read is over.
    fn next_batch(&mut self) -> impl Future<Output = Result<Option<T>, StoreError>> + Send;

    /// Takes rows back as [`PersistedChain::recycle`] does.
    fn recycle(&mut self, rows: Vec<PersistedRow>);

    /// Counts rows as [`PersistedChain::count_next_head`] does. It may be called only after the
    /// last batch has been read.
    ///
    /// # Errors
    ///
    /// An engine's failure.
    fn count_next_head(
        &mut self,
        next_head: &Stored,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;
}

/// A chain whose batches are mapped in the call that asks for them.
pub(crate) struct MappedHere<C, F> {
    pub(crate) chain: C,
    pub(crate) map: F,
}

impl<C, F, T> MappedChain<T> for MappedHere<C, F>
where
    C: PersistedChain,
    F: Fn(Vec<PersistedRow>) -> T + Send + Sync + 'static,
    T: Send + 'static,
{
    async fn next_batch(&mut self) -> Result<Option<T>, StoreError> {
        let rows = self.chain.next_rows().await?;
        Ok((!rows.is_empty()).then(|| (self.map)(rows)))
    }

    fn recycle(&mut self, rows: Vec<PersistedRow>) {
        self.chain.recycle(rows);
    }

    async fn count_next_head(&mut self, next_head: &Stored) -> Result<u64, StoreError> {
        self.chain.count_next_head(next_head).await
    }
}
