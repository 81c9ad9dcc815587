//! `cargo xtask fence`: rules about the workspace that the compiler can't hold.
//!
//! Owns the list of rules and how a violation is told. Each rule is a pure function in a file
//! of its own that takes data and returns violations; only `load` touches the disk.

mod adapters;
mod clauses;
mod closed;
mod closure;
#[cfg(test)]
mod examined;
mod features;
#[cfg(test)]
mod fixtures;
mod layers;
mod load;
mod manifests;
mod owners;
mod purity;
mod sites;
mod sources;
mod strip;
mod syntax;

use std::fmt;

use anyhow::{Result, bail};

use self::features::Features;
use self::load::Loaded;
use self::syntax::Survey;
use crate::workspace::Workspace;

/// The rules, by the name that a violation carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    /// Which crate may depend on which, and on which foreign crate never.
    Layers,
    /// What the code that decides about a chain must not know of.
    Purity,
    /// Which one crate may depend on a foreign crate at all.
    Owners,
    /// Which sets are matched arm by arm.
    ClosedSets,
    /// Which deeds are done in named places alone.
    SoleSites,
    /// What an adapter leaves to others.
    Adapters,
    /// What every source file and manifest has in common.
    Tidy,
    /// What ties the clauses of the contract to their cases.
    Clauses,
}

impl Rule {
    /// Every rule, each once.
    #[cfg(test)]
    const ALL: [Self; 8] = [
        Self::Layers,
        Self::Purity,
        Self::Owners,
        Self::ClosedSets,
        Self::SoleSites,
        Self::Adapters,
        Self::Tidy,
        Self::Clauses,
    ];
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Layers => "F1 layers",
            Self::Purity => "F2 purity",
            Self::Owners => "F3 owners",
            Self::ClosedSets => "F4 closed sets",
            Self::SoleSites => "F5 sole sites",
            Self::Adapters => "F6 adapters",
            Self::Tidy => "F7 tidy",
            Self::Clauses => "F8 clauses",
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
#[derive(Clone)]
struct Member {
    name: String,
    manifest: TextFile,
    dependencies: Vec<Dependency>,
    features: Features,
}

/// What one manifest declares about one dependency.
#[derive(Clone)]
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
#[derive(Clone)]
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
    let violations = judge(&loaded)?;
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

/// Gives every violation of every rule, in the order of places.
///
/// # Errors
///
/// When a source is not Rust.
fn judge(loaded: &Loaded) -> Result<Vec<Violation>> {
    let survey = Survey::of(&loaded.sources)?;
    let mut violations = layers::check(&loaded.members);
    violations.extend(closure::check(&loaded.members, &loaded.graph));
    violations.extend(purity::check(&loaded.members, &survey, &loaded.documents));
    violations.extend(owners::check(&loaded.members));
    violations.extend(closed::check(&survey));
    violations.extend(sites::check(&survey));
    violations.extend(adapters::check(&loaded.members, &survey));
    violations.extend(manifests::check(&loaded.members));
    violations.extend(sources::check(&loaded.sources));
    violations.extend(clauses::check(&survey, &loaded.documents));
    violations.sort();
    Ok(violations)
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
