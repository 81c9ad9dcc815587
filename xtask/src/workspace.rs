//! The workspace that the commands work on: its root, a shell there, and cargo's view of it.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use cargo_metadata::{Metadata, MetadataCommand, Package, TargetKind};
use xshell::Shell;

/// The workspace and a shell whose directory is its root.
///
/// A variable set on the shell reaches every child process of a command, which is how one step
/// prepares the next.
pub(crate) struct Workspace {
    pub(crate) shell: Shell,
    pub(crate) root: PathBuf,
}

impl Workspace {
    /// Opens the workspace that this program was built from.
    pub(crate) fn open() -> Result<Self> {
        let manifest_directory = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let root = manifest_directory
            .parent()
            .context("xtask stands one folder below the workspace root")?
            .to_path_buf();
        let shell = Shell::new()?;
        shell.change_dir(&root);
        Ok(Self { shell, root })
    }

    /// Reads the members and the resolved dependency graph from cargo.
    pub(crate) fn metadata(&self) -> Result<Metadata> {
        MetadataCommand::new()
            .current_dir(&self.root)
            .exec()
            .context("cargo metadata failed")
    }

    /// Names the targets of one kind that a member package has, in order.
    pub(crate) fn targets(&self, package: &str, kind: &TargetKind) -> Result<Vec<String>> {
        let metadata = self.metadata()?;
        let package = metadata
            .workspace_packages()
            .into_iter()
            .find(|member| member.name.as_str() == package)
            .with_context(|| format!("the workspace has no member `{package}`"))?;
        Ok(targets_of(package, kind))
    }
}

fn targets_of(package: &Package, kind: &TargetKind) -> Vec<String> {
    let mut names: Vec<String> = package
        .targets
        .iter()
        .filter(|target| target.kind.contains(kind))
        .map(|target| target.name.clone())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_the_workspace_of_this_package() {
        let workspace = Workspace::open().expect("the workspace opens");
        let metadata = workspace.metadata().expect("cargo reads the manifests");
        assert_eq!(metadata.workspace_root.as_std_path(), workspace.root);
    }

    #[test]
    fn targets_are_found_by_kind() {
        let workspace = Workspace::open().expect("the workspace opens");
        let found = workspace
            .targets("xtask", &TargetKind::Bin)
            .expect("xtask is a member");
        assert_eq!(found, ["xtask"]);
        let none = workspace
            .targets("xtask", &TargetKind::Bench)
            .expect("xtask is a member");
        assert!(none.is_empty());
    }

    #[test]
    fn an_unknown_member_is_an_error() {
        let workspace = Workspace::open().expect("the workspace opens");
        let error = workspace
            .targets("no-such-member", &TargetKind::Bin)
            .expect_err("it is no member");
        assert!(error.to_string().contains("no-such-member"));
    }
}
