//! `cargo xtask bench`: runs every bench target of the benches package.

use anyhow::{Result, bail};
use cargo_metadata::TargetKind;
use xshell::cmd;

use crate::workspace::Workspace;
use crate::{postgres, process};

const PACKAGE: &str = "piton-benches";

/// Whether the workspace has anything to measure.
pub(crate) fn has_targets(workspace: &Workspace) -> Result<bool> {
    Ok(!workspace.targets(PACKAGE, &TargetKind::Bench)?.is_empty())
}

/// Runs the benches and hands `arguments` to each of them.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let targets = workspace.targets(PACKAGE, &TargetKind::Bench)?;
    if targets.is_empty() {
        bail!("{PACKAGE} has no bench targets");
    }
    // Targets are named one by one: without names cargo also runs the test harness of the
    // package's other targets, which refuses the benches' own arguments.
    let selection: Vec<String> = targets
        .into_iter()
        .flat_map(|target| ["--bench".to_owned(), target])
        .collect();
    let _servers = postgres::for_tests(workspace, &[])?;
    let shell = &workspace.shell;
    process::run(cmd!(
        shell,
        "cargo bench --package {PACKAGE} {selection...} -- {arguments...}"
    ))
}
