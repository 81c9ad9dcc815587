//! Checkpoint store in Postgres: one database for many machines.
//!
//! All workflows live in one table, and beside it one row per workflow notes the tail: the pin. An
//! append is one statement that compares the pin, moves it and inserts the event, so that writers
//! on any number of machines make one linear chain per workflow, and the pin never leads the rows.
//! This crate moves bytes and compares heads: it hashes nothing, parses no event and judges no
//! chain.
//!
//! # Connections
//!
//! Appends and short reads share a bounded pool, which may hold a single connection. A held lock
//! and an open chain read each have a connection of their own besides, so a store never waits for
//! itself; a pooler must leave room for them.
//!
//! # Features
//!
//! `tracing`, off by default, opens a span `append` for each append and `lock` for each wait for
//! an append lock, for whoever subscribes through the crate `tracing`, at the level `debug`, and
//! tells of each `retry`. No span or event holds the text of an event.
//!
//! # Examples
//!
//! ```no_run
//! use piton_postgres::PostgresStore;
//! use piton_store::{CheckpointStore, CheckpointStoreExt};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let store = PostgresStore::connect("postgres://ledger:secret@db.example/main")?;
//! store.migrate().await?;
//! let workflow = "remediate-CVE-2021-44906".parse()?;
//! assert!(store.collect_rows(&workflow).await?.is_empty());
//! store.close().await?;
//! # Ok(())
//! # }
//! ```

mod append;
mod backoff;
mod batch;
mod catalog;
mod chain;
mod connection;
mod error;
mod inspect;
mod lock;
mod migrate;
mod options;
mod pool;
mod queue;
mod row;
mod schema;
mod sql;
mod store;
mod tls;
mod url;

pub use chain::PostgresChain;
pub use lock::PostgresLock;
pub use options::{Mode, PostgresOptions, ReplicaPolicy, SchemaName, SchemaNameError};
pub use schema::{LAYOUT_VERSION, schema};
pub use store::PostgresStore;
