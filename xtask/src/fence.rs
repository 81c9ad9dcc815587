//! `cargo xtask fence`: rules about the workspace that the compiler can't hold.
//!
//! Owns the list of rules and how a violation is told. Each rule is a pure function in a file
//! of its own that takes data and returns violations; only `load` touches the disk.

mod closure;
mod features;
mod layers;
mod load;
mod manifests;
mod owners;
mod sources;
mod strip;

use std::fmt;

use anyhow::{Result, bail};

use self::features::Features;
use crate::workspace::Workspace;

/// The rules, by the name that a violation carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    /// Which crate may depend on which, and on which foreign crate never.
    Layers,
    /// Which one crate may depend on a foreign crate at all.
    Owners,
    /// What every source file and manifest has in common.
    Tidy,
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Layers => "F1 layers",
            Self::Owners => "F3 owners",
            Self::Tidy => "F7 tidy",
        })
    }
}

/// One broken rule at one place.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    /// Path from the workspace root.
    file: String,
    /// 1-based.
    line: usize,
    rule: Rule,
    /// What is wrong and why that matters.
    reason: String,
    /// How to mend it.
    mend: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}:{}: [{}] {}\n    mend: {}",
            self.file, self.line, self.rule, self.reason, self.mend
        )
    }
}

/// A member of the workspace as the rules see it.
struct Member {
    name: String,
    manifest: TextFile,
    dependencies: Vec<Dependency>,
    features: Features,
}

/// What one manifest declares about one dependency.
struct Dependency {
    name: String,
    kind: DependencyKind,
    presence: Presence,
    /// What the manifest asks of the dependency beside its default.
    features: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Always,
    /// Only with a feature that turns it on.
    Optional,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DependencyKind {
    /// Reaches a consumer of the crate: normal and build dependencies.
    Shipped,
    /// Tests, examples and benches of the crate alone.
    Development,
}

/// A file's path from the workspace root and its text.
struct TextFile {
    path: String,
    text: String,
}

impl TextFile {
    /// The 1-based line that declares a dependency; 1 when the manifest words it differently.
    fn line_of_dependency(&self, name: &str) -> usize {
        let declares = |line: &str| {
            line.trim_start()
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        };
        self.text.lines().position(declares).map_or(1, |at| at + 1)
    }
}

/// Checks every rule and prints each violation.
///
/// # Errors
///
/// When there is any violation.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let loaded = load::load(workspace)?;
    let mut violations = layers::check(&loaded.members);
    violations.extend(closure::check(&loaded.members, &loaded.graph));
    violations.extend(owners::check(&loaded.members));
    violations.extend(manifests::check(&loaded.members));
    violations.extend(sources::check(&loaded.sources));
    violations.sort();
    for violation in &violations {
        println!("{violation}");
    }
    if !violations.is_empty() {
        bail!("{} violations of the fence", violations.len());
    }
    println!(
        "fence: {} members and {} source files keep every rule",
        loaded.members.len(),
        loaded.sources.len()
    );
    Ok(())
}

#[cfg(test)]
mod fixtures {
    use super::*;

    /// A member whose manifest declares the given dependencies from line 2 on.
    pub(super) fn member(name: &str, shipped: &[&str], development: &[&str]) -> Member {
        let mut text = "[dependencies]\n".to_owned();
        let mut dependencies = Vec::new();
        for (names, kind) in [
            (shipped, DependencyKind::Shipped),
            (development, DependencyKind::Development),
        ] {
            for dependency in names {
                text.push_str(&format!("{dependency}.workspace = true\n"));
                dependencies.push(Dependency {
                    name: (*dependency).to_owned(),
                    kind,
                    presence: Presence::Always,
                    features: Vec::new(),
                });
            }
        }
        Member {
            name: name.to_owned(),
            manifest: TextFile {
                path: format!("crates/{name}/Cargo.toml"),
                text,
            },
            dependencies,
            features: Features::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_tells_place_rule_reason_and_mend() {
        let violation = Violation {
            file: "crates/a/src/lib.rs".to_owned(),
            line: 7,
            rule: Rule::Tidy,
            reason: "is untidy".to_owned(),
            mend: "tidy it".to_owned(),
        };
        assert_eq!(
            violation.to_string(),
            "crates/a/src/lib.rs:7: [F7 tidy] is untidy\n    mend: tidy it"
        );
    }

    #[test]
    fn a_dependency_line_is_found_by_its_whole_name() {
        let manifest = TextFile {
            path: "Cargo.toml".to_owned(),
            text: "[dependencies]\nserde_json.workspace = true\nserde = { workspace = true }\n"
                .to_owned(),
        };
        assert_eq!(manifest.line_of_dependency("serde"), 3);
        assert_eq!(manifest.line_of_dependency("serde_json"), 2);
        assert_eq!(manifest.line_of_dependency("absent"), 1);
    }
}
