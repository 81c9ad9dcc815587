//! F3: foreign crates that exactly one member may depend on, tests included.
//!
//! There is one rule set for secrets. A second crate that matches patterns is where a second
//! rule set would begin.

use super::{Member, Rule, Violation};

/// A foreign crate and the one member that may name it.
const OWNED: &[(&str, &str)] = &[("regex", "piton-redact"), ("aho-corasick", "piton-redact")];

/// Finds dependencies on an owned crate outside its owner.
pub(super) fn check(members: &[Member]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for member in members {
        for dependency in &member.dependencies {
            let owner = OWNED.iter().find(|(name, _)| *name == dependency.name);
            if let Some((name, owner)) = owner
                && *owner != member.name
            {
                violations.push(Violation {
                    file: member.manifest.path.clone(),
                    line: member.manifest.line_of_dependency(name),
                    rule: Rule::Owners,
                    reason: format!("only `{owner}` may depend on `{name}`"),
                    mend: format!("ask `{owner}` through its API, or match without patterns"),
                });
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::member;
    use super::*;

    #[test]
    fn an_owned_crate_elsewhere_is_found() {
        for (name, owner) in OWNED {
            let violations = check(&[member("piton-cli", &["serde", name], &[])]);
            assert_eq!(violations.len(), 1, "{name}");
            assert_eq!(violations[0].rule, Rule::Owners);
            assert_eq!(violations[0].line, 3);
            assert!(violations[0].reason.contains(owner));
        }
    }

    #[test]
    fn tests_are_no_exception() {
        assert_eq!(check(&[member("piton-cli", &[], &["regex"])]).len(), 1);
    }

    #[test]
    fn the_owner_may() {
        let owner = member("piton-redact", &["regex", "aho-corasick"], &[]);
        assert_eq!(check(&[owner]), []);
    }
}
