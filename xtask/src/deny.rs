//! Licences, sources and banned crates, checked by a pinned cargo-deny.
//!
//! Security advisories are not asked for: a new advisory must not turn an old commit red.

use anyhow::Result;
use xshell::cmd;

use crate::process;
use crate::tool::Tool;
use crate::workspace::Workspace;

/// The release that `deny.toml` was written for.
const DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
};

/// Checks `deny.toml`, after installing the tool into the target folder if need be.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let program = DENY.installed(workspace)?;
    let shell = &workspace.shell;
    process::run(cmd!(
        shell,
        "{program} --workspace check bans licenses sources"
    ))
}
