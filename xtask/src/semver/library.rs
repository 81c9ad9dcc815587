//! Owns the list of published libraries and their documentation as JSON. It compares nothing.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use cargo_metadata::semver::Version;
use serde_json::Value;
use xshell::cmd;

use crate::process;
use crate::workspace::Workspace;

/// The libraries that others build on.
pub(super) const PUBLISHED: [&str; 9] = [
    "piton-ledger",
    "piton-chain",
    "piton-redact",
    "piton-store",
    "piton-memory",
    "piton-sqlite",
    "piton-postgres",
    "piton-verify",
    "piton-cli",
];

/// Nobody runs the SQLite of this folder, and it takes a minute to optimise.
const UNOPTIMISED: &str = "profile.dev.package.libsqlite3-sys.opt-level=0";

/// Has rustdoc write the JSON of some libraries of a workspace, and gives its folder.
///
/// The flags are those of the golden tests of the public API, which share the target folder.
pub(super) fn document(
    workspace: &Workspace,
    source: &Path,
    target: &Path,
    libraries: &[&str],
) -> Result<PathBuf> {
    // What cargo told this program about itself: a build script that asks for it (ring's) would
    // run again whenever another program documents the libraries.
    let own = std::env::vars_os().map(|(name, _)| name).filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    });
    let packages = libraries.iter().flat_map(|library| ["--package", library]);
    let shell = &workspace.shell;
    let _there = shell.push_dir(source);
    let command = cmd!(
        shell,
        "cargo doc --quiet --no-deps --lib --all-features --config {UNOPTIMISED} {packages...}"
    )
    .env("CARGO_TARGET_DIR", target)
    .env("RUSTC_BOOTSTRAP", "1")
    .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json")
    .env_remove("RUSTFLAGS")
    .env_remove("CARGO_ENCODED_RUSTFLAGS")
    .env_remove("CARGO_ENCODED_RUSTDOCFLAGS");
    process::run(own.fold(command, |command, name| command.env_remove(name)))?;
    let folder = target.join("doc");
    for library in libraries {
        // Cargo looks for HTML to tell whether a library must be documented again.
        let page = folder.join(module(library)).join("index.html");
        if let Some(parent) = page.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(page, "")?;
    }
    Ok(folder)
}

/// Where the JSON of a library is in a folder of documentation.
pub(super) fn json(folder: &Path, library: &str) -> PathBuf {
    folder.join(format!("{}.json", module(library)))
}

/// Reads the version of a library from its JSON.
pub(super) fn version(json: &Path) -> Result<Version> {
    let unreadable = || format!("{} is not the JSON of a library", json.display());
    let text = fs::read_to_string(json).with_context(unreadable)?;
    let document: Value = serde_json::from_str(&text).with_context(unreadable)?;
    document
        .get("crate_version")
        .and_then(Value::as_str)
        .and_then(|version| version.parse().ok())
        .with_context(unreadable)
}

fn module(library: &str) -> String {
    library.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use cargo_metadata::TargetKind;

    use super::*;

    /// Members with a library that nobody outside builds on.
    const UNPUBLISHED: [&str; 6] = [
        "piton-benches",
        "piton-contracts",
        "piton-examples",
        "piton-faultfs",
        "piton-no-std-proof",
        "piton-testkit",
    ];

    #[test]
    fn every_library_is_compared_or_listed_as_unpublished() {
        let workspace = Workspace::open().expect("the workspace opens");
        let metadata = workspace.metadata().expect("cargo reads the manifests");
        for package in metadata.workspace_packages() {
            let name = package.name.as_str();
            let is_library = package
                .targets
                .iter()
                .any(|target| target.kind.contains(&TargetKind::Lib));
            let listed = PUBLISHED.contains(&name) || UNPUBLISHED.contains(&name);
            assert!(listed || !is_library, "{name}");
        }
    }
}
