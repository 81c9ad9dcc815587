//! `cargo xtask campaign`: damages real ledgers on purpose, and counts what is believed.
//!
//! Owns where evidence goes and which servers a campaign gets. The campaigns are a crate of their
//! own, since nothing here may depend on the product.

use anyhow::Result;
use xshell::cmd;

use crate::workspace::Workspace;
use crate::{postgres, process};

const PACKAGE: &str = "piton-campaigns";

/// Runs one campaign or all, as the arguments say; a short run leaves the evidence as it is.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let is_short = arguments.iter().any(|argument| argument == "--short");
    // What a short run needs is built for the tests anyway, unoptimised.
    let (profile, record) = if is_short {
        (None, Vec::new())
    } else {
        let evidence = workspace.root.join("docs/evidence");
        (
            Some("--release"),
            vec!["--record".into(), evidence.into_os_string()],
        )
    };
    let _servers = postgres::for_tests(workspace, &[])?;
    let shell = &workspace.shell;
    process::run(cmd!(
        shell,
        "cargo run {profile...} --package {PACKAGE} -- {arguments...} {record...}"
    ))
}
