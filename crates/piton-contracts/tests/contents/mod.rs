//! Owns what each golden holds, one module a family. Comparing is left to `goldens.rs`.

pub(crate) mod api;
pub(crate) mod command;
pub(crate) mod exhaustive;
pub(crate) mod facts;
pub(crate) mod history;
pub(crate) mod messages;
pub(crate) mod ports;
pub(crate) mod schemas;

use std::path::{Path, PathBuf};

/// Gives the root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Gives a result of work that awaits.
fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}
