//! Owns the command as a measurement runs it: built as it is released. It runs nothing.

use std::path::PathBuf;
use std::process::Command;

/// Builds the command, if anything has changed since: an old one would be measured in its place.
/// Gives its path.
pub fn command() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "-p", "piton-cli"])
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the command does not build");
    // A bench stands in target/<profile>/deps, the command one level above.
    let here = std::env::current_exe().expect("this program");
    here.ancestors()
        .nth(2)
        .map(|profile| profile.join("piton"))
        .expect("a target directory")
}
