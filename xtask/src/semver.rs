//! `cargo xtask ci semver`: no library may break its users without a version that says so.
//!
//! Owns the comparison of every published library with the last release, made by a pinned
//! cargo-semver-checks over rustdoc's JSON. Both sides are documented here, in one run each, since
//! the tool would build the dependencies of each library anew. It must not read a registry.

mod baseline;
mod library;
mod trial;

use std::path::Path;

use anyhow::{Result, bail};
use xshell::cmd;

use crate::tool::Tool;
use crate::workspace::Workspace;

/// The release that reads the JSON which the pinned toolchain writes.
const SEMVER_CHECKS: Tool = Tool {
    name: "cargo-semver-checks",
    version: "0.51.0",
};

/// Compares every published library with the last release.
///
/// # Errors
///
/// A library breaks its users and its version doesn't say so, or there is nothing sound to compare
/// with; the message says what to do.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let baseline = baseline::find(workspace)?;
    let program = SEMVER_CHECKS.installed(workspace)?;
    // Before anything is called compatible, the check shows that it can tell.
    trial::run(workspace, &program)?;
    eprintln!("{}", baseline.announcement());
    let before = baseline.document(workspace)?;
    let libraries: Vec<&str> = library::PUBLISHED.to_vec();
    let folder = workspace.root.join("target/rustdoc-json");
    let after = library::document(workspace, &workspace.root, &folder, &libraries)?;
    let mut broken = Vec::new();
    for name in library::PUBLISHED {
        let (before, after) = (library::json(&before, name), library::json(&after, name));
        if !before.exists() {
            eprintln!("{name} is new since the baseline: there is nothing to compare");
            continue;
        }
        match compare(workspace, &program, &before, &after)? {
            Finding::Fine => eprintln!("{name}: nothing breaks without being told"),
            Finding::Break { report } => {
                eprintln!("{name}:\n{report}");
                broken.push(name);
            }
        }
    }
    if broken.is_empty() {
        return Ok(());
    }
    bail!(
        "{} would break users; keep what they use, or raise the version in Cargo.toml (0.MINOR \
         below 1.0, else MAJOR), with a line in CHANGELOG.md and a record in docs/decisions/",
        broken.join(", ")
    )
}

/// What a comparison came to.
#[derive(Debug)]
enum Finding {
    /// Users need change nothing, or the version says that they must.
    Fine,
    /// Users must change something, and the version doesn't say so.
    Break { report: String },
}

/// How the tool exits when a library breaks its users; it has other codes for its own failures.
const FOUND_A_BREAK: i32 = 100;

/// Compares two states of one library.
fn compare(workspace: &Workspace, program: &Path, before: &Path, after: &Path) -> Result<Finding> {
    // A version that stands still is that of the last release, after which anything compatible
    // may come; the tool would take it for one that promises no addition.
    let release_type = if library::version(before)? == library::version(after)? {
        &["--release-type", "minor"][..]
    } else {
        &[]
    };
    let shell = &workspace.shell;
    let checked = cmd!(
        shell,
        "{program} semver-checks --color never --baseline-rustdoc {before} --current-rustdoc {after} {release_type...}"
    )
    .quiet()
    .ignore_status()
    .output()?;
    let report = format!(
        "{}{}",
        String::from_utf8_lossy(&checked.stdout),
        String::from_utf8_lossy(&checked.stderr)
    );
    match checked.status.code() {
        Some(0) => Ok(Finding::Fine),
        Some(FOUND_A_BREAK) => Ok(Finding::Break { report }),
        Some(_) | None => bail!("cargo-semver-checks failed ({}):\n{report}", checked.status),
    }
}
