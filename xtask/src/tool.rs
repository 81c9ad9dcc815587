//! Finds a cargo tool at exactly one version, or installs it under `target/tools`.
//!
//! It must not run the tool for its work: the steps do.

use std::path::PathBuf;

use anyhow::Result;
use xshell::cmd;

use crate::process;
use crate::workspace::Workspace;

/// A tool that is published as a crate of the same name.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

impl Tool {
    /// Finds the tool on the path or in the target folder, and installs it there if need be.
    ///
    /// # Errors
    ///
    /// The tool is not there and can't be installed.
    pub(crate) fn installed(&self, workspace: &Workspace) -> Result<PathBuf> {
        let Self { name, version } = self;
        let tools = workspace.root.join("target/tools");
        let own = tools.join("bin").join(name);
        for program in [PathBuf::from(name), own.clone()] {
            if self.is_at(workspace, &program) {
                return Ok(program);
            }
        }
        let shell = &workspace.shell;
        process::run(cmd!(
            shell,
            "cargo install {name} --locked --version {version} --root {tools}"
        ))?;
        Ok(own)
    }

    fn is_at(&self, workspace: &Workspace, program: &PathBuf) -> bool {
        let shell = &workspace.shell;
        // A tool that can't be asked is a tool to install: the reason makes no difference.
        cmd!(shell, "{program} --version")
            .quiet()
            .ignore_stderr()
            .read()
            .is_ok_and(|answer| self.is_named_in(&answer))
    }

    fn is_named_in(&self, answer: &str) -> bool {
        answer.split_whitespace().nth(1) == Some(self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_version_counts() {
        let tool = Tool {
            name: "cargo-deny",
            version: "0.20.2",
        };
        assert!(tool.is_named_in("cargo-deny 0.20.2"));
        assert!(tool.is_named_in("cargo-deny 0.20.2 (abc)"));
        assert!(!tool.is_named_in("cargo-deny 0.20.21"));
        assert!(!tool.is_named_in("cargo-deny 0.1.0"));
        assert!(!tool.is_named_in(""));
    }
}
