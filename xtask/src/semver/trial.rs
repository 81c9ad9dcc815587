//! Owns the trial of the check itself: a tiny library with a break and with an addition. A check
//! that finds no break anywhere would otherwise look the same as a sound workspace.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::{Finding, compare, library};
use crate::workspace::Workspace;

const NAME: &str = "semver-trial";

/// What the check must say.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Compatible,
    Break,
}

/// A version of the library, its version number and its code.
struct State {
    name: &'static str,
    version: &'static str,
    code: &'static str,
}

const BEFORE: State = State {
    name: "before",
    version: "0.1.0",
    code: "pub enum Kind { One }\npub fn kept(kind: Kind) -> Kind { kind }\n",
};

/// What comes after, and what the check must say of it.
const AFTER: [(State, Verdict); 4] = [
    (
        State {
            name: "addition",
            version: "0.1.0",
            code: "pub enum Kind { One }\npub fn kept(kind: Kind) -> Kind { kind }\npub fn new() {}\n",
        },
        Verdict::Compatible,
    ),
    (
        State {
            name: "removal",
            version: "0.1.0",
            code: "pub enum Kind { One }\n",
        },
        Verdict::Break,
    ),
    (
        State {
            name: "variant",
            version: "0.1.1",
            code: "pub enum Kind { One, Two }\npub fn kept(kind: Kind) -> Kind { kind }\n",
        },
        Verdict::Break,
    ),
    (
        State {
            name: "told-removal",
            version: "0.2.0",
            code: "pub enum Kind { One }\n",
        },
        Verdict::Compatible,
    ),
];

/// Shows that the check tells a break from an addition.
///
/// # Errors
///
/// The check calls a break compatible, or an addition a break.
pub(super) fn run(workspace: &Workspace, program: &Path) -> Result<()> {
    let folder = workspace.root.join("target/semver/trial");
    let before = BEFORE.document(workspace, &folder)?;
    for (state, expected) in &AFTER {
        let after = state.document(workspace, &folder)?;
        let found = match compare(workspace, program, &before, &after)? {
            Finding::Fine => Verdict::Compatible,
            Finding::Break { .. } => Verdict::Break,
        };
        if found != *expected {
            bail!(
                "the check is not sound: of the trial `{}` it says {found:?}, not {expected:?}",
                state.name
            );
        }
    }
    eprintln!("the check finds both breaks of its trial, and lets the rest pass");
    Ok(())
}

impl State {
    fn document(&self, workspace: &Workspace, folder: &Path) -> Result<PathBuf> {
        let source = folder.join(self.name);
        fs::create_dir_all(source.join("src"))?;
        let manifest = format!(
            "[package]\nname = \"{NAME}\"\nversion = \"{}\"\nedition = \"2024\"\n\n[workspace]\n",
            self.version
        );
        write_changed(&source.join("Cargo.toml"), &manifest)?;
        write_changed(&source.join("src/lib.rs"), self.code)?;
        let documented = library::document(workspace, &source, &source.join("target"), &[NAME])?;
        Ok(library::json(&documented, NAME))
    }
}

/// Leaves a file alone that has the content already, so that nothing is built twice.
fn write_changed(path: &Path, content: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|present| present == content) {
        return Ok(());
    }
    Ok(fs::write(path, content)?)
}
