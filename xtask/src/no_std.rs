//! The no_std proof: the pure crates must build where only core and alloc exist.

use anyhow::{Context as _, Result};
use xshell::cmd;

use crate::process;
use crate::workspace::Workspace;

/// Checks the proof crate, alone and in a target folder of its own.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let shell = &workspace.shell;
    // Alone, because a workspace build unifies features and turns std on in shared
    // dependencies; in its own folder, because the flags would rebuild everybody else's.
    let command = cmd!(shell, "cargo check --package piton-no-std-proof --lib")
        .env("RUSTFLAGS", "--cfg piton_no_std_proof")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env(
            "CARGO_TARGET_DIR",
            workspace.root.join("target/no-std-proof"),
        );
    process::run(command).context(
        "piton-ledger or piton-chain needs std; E0152 names the crate that brings it in: use \
         core and alloc, and turn off the default features of dependencies",
    )
}
