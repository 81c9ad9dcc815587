//! Licences, sources and banned crates, checked by a pinned cargo-deny.
//!
//! Security advisories are not asked for: a new advisory must not turn an old commit red.

use std::path::PathBuf;

use anyhow::Result;
use xshell::cmd;

use crate::process;
use crate::workspace::Workspace;

/// The release that `deny.toml` was written for.
const VERSION: &str = "0.20.2";

/// Checks `deny.toml`, after installing the tool into the target folder if need be.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let program = installed(workspace)?;
    let shell = &workspace.shell;
    process::run(cmd!(
        shell,
        "{program} --workspace check bans licenses sources"
    ))
}

/// Finds the tool at exactly the pinned version, on the path or in the target folder.
fn installed(workspace: &Workspace) -> Result<PathBuf> {
    let tools = workspace.root.join("target/tools");
    let candidates = [PathBuf::from("cargo-deny"), tools.join("bin/cargo-deny")];
    for program in &candidates {
        if is_pinned_version(workspace, program) {
            return Ok(program.clone());
        }
    }
    let shell = &workspace.shell;
    process::run(cmd!(
        shell,
        "cargo install cargo-deny --locked --version {VERSION} --root {tools}"
    ))?;
    Ok(tools.join("bin/cargo-deny"))
}

fn is_pinned_version(workspace: &Workspace, program: &PathBuf) -> bool {
    let shell = &workspace.shell;
    // A tool that can't be asked is a tool to install: the reason makes no difference.
    cmd!(shell, "{program} --version")
        .quiet()
        .ignore_stderr()
        .read()
        .is_ok_and(|answer| names_pinned_version(&answer))
}

fn names_pinned_version(answer: &str) -> bool {
    answer.split_whitespace().nth(1) == Some(VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_version_counts() {
        assert!(names_pinned_version(&format!("cargo-deny {VERSION}")));
        assert!(names_pinned_version(&format!("cargo-deny {VERSION} (abc)")));
        assert!(!names_pinned_version(&format!("cargo-deny {VERSION}1")));
        assert!(!names_pinned_version("cargo-deny 0.1.0"));
        assert!(!names_pinned_version(""));
    }
}
