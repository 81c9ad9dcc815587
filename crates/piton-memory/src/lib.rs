//! A checkpoint store in memory: the model that every durable adapter must equal.
//!
//! It keeps every promise of the port but durability: what it holds ends with the process.
//!
//! # Examples
//!
//! ```
//! use piton_memory::MemoryStore;
//! use piton_store::CheckpointStore;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().expect("runtime").block_on(async {
//! let store = MemoryStore::new();
//! let workflow = "remediate-CVE-2021-44906".parse().expect("a workflow id");
//! let head = store.tail_chain_head(&workflow).await.expect("memory can be read");
//! assert_eq!(head, piton_ledger::ChainHead::GENESIS);
//! # });
//! ```

mod catalog;
mod chain;
mod lock;
mod store;

pub use chain::MemoryChain;
pub use lock::MemoryLock;
pub use store::{Clock, MemoryStore};
