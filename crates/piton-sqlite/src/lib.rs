//! Checkpoint store in SQLite: one file per workflow.
//!
//! A workflow lives in `root/<workflow_id>/`: the rows in `checkpoints.sqlite` and, beside them,
//! `checkpoints.lock`, which carries the append lock and the pin. Workflows never block each
//! other, and to remove one is to remove its directory. This crate moves bytes and compares
//! heads: it hashes nothing, parses no event and judges no chain.
//!
//! Every append is one SQLite statement in write-ahead mode with full synchronisation. Appends to
//! one workflow that meet in one store share a statement and a synchronisation, and each gets its
//! own answer. Reads create nothing, need no write permission and work on copies.
//!
//! # Features
//!
//! `tracing`, off by default, opens a span `append` for each append and `lock` for each wait for
//! an append lock, for whoever subscribes through the crate `tracing`, at the level `debug`. No
//! span or event holds the text of an event.
//!
//! # Examples
//!
//! ```
//! use piton_sqlite::SqliteStore;
//! use piton_store::{CheckpointStore, CheckpointStoreExt};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! # runtime.block_on(async {
//! let root = std::env::temp_dir().join("piton-example-of-no-ledger");
//! let store = SqliteStore::open(&root)?;
//! let workflow = "remediate-CVE-2021-44906".parse()?;
//! assert!(store.collect_rows(&workflow).await?.is_empty());
//! assert!(!root.exists(), "reading creates nothing");
//! store.close().await?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod append;
mod catalog;
mod chain;
mod connection;
mod create;
mod error;
mod flock;
mod glance;
mod group;
mod insert;
mod lock;
#[cfg(test)]
mod models;
mod options;
mod paths;
mod pin;
mod pool;
mod reader;
mod row;
mod scan;
mod schema;
mod store;
mod sync;
mod wal;

pub use chain::SqliteChain;
pub use lock::SqliteLock;
pub use options::{MAX_OPEN_CONNECTIONS, SqliteOptions};
pub use schema::{LAYOUT_VERSION, SCHEMA};
pub use store::SqliteStore;
