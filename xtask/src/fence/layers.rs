//! F1, inner half: which member of the workspace may depend on which.
//!
//! Owns the layer table. Development dependencies are free: a test may look at anything.

use super::{DependencyKind, Member, Rule, Violation};

/// What a member may depend on inside the workspace.
#[derive(Clone, Copy)]
enum Below {
    /// These members and no other.
    Only(&'static [&'static str]),
    /// Any member: the crate is a consumer, and nothing depends on it.
    Anything,
}

/// Every member has a row. Arrows point down, so a crate stands below those that name it.
const LAYERS: &[(&str, Below)] = &[
    ("piton-ledger", Below::Only(&[])),
    ("piton-redact", Below::Only(&[])),
    ("piton-chain", Below::Only(&["piton-ledger"])),
    (
        "piton-store",
        Below::Only(&["piton-ledger", "piton-chain", "piton-redact"]),
    ),
    (
        "piton-memory",
        Below::Only(&["piton-store", "piton-ledger"]),
    ),
    (
        "piton-sqlite",
        Below::Only(&["piton-store", "piton-ledger"]),
    ),
    (
        "piton-postgres",
        Below::Only(&["piton-store", "piton-ledger"]),
    ),
    (
        "piton-verify",
        Below::Only(&["piton-store", "piton-chain", "piton-ledger"]),
    ),
    (
        "piton-testkit",
        Below::Only(&[
            "piton-store",
            "piton-chain",
            "piton-ledger",
            "piton-verify",
            "piton-memory",
        ]),
    ),
    (
        "piton-cli",
        Below::Only(&[
            "piton-ledger",
            "piton-chain",
            "piton-redact",
            "piton-store",
            "piton-memory",
            "piton-sqlite",
            "piton-postgres",
            "piton-verify",
            "piton-testkit",
        ]),
    ),
    (
        "piton-no-std-proof",
        Below::Only(&["piton-ledger", "piton-chain"]),
    ),
    ("piton-faultfs", Below::Only(&[])),
    ("piton-contracts", Below::Anything),
    ("piton-benches", Below::Anything),
    ("piton-campaigns", Below::Anything),
    ("piton-examples", Below::Anything),
    ("xtask", Below::Only(&[])),
];

/// Finds arrows that point up or sideways, and members without a row in the table.
pub(super) fn check(members: &[Member]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for member in members {
        let Some((_, below)) = LAYERS.iter().find(|(name, _)| *name == member.name) else {
            violations.push(Violation {
                file: member.manifest.path.clone(),
                line: 1,
                rule: Rule::Layers,
                reason: format!("`{}` has no row in the layer table", member.name),
                mend: "add the row in xtask/src/fence/layers.rs and the arrow in \
                       docs/architecture.md"
                    .to_owned(),
            });
            continue;
        };
        let Below::Only(allowed) = below else {
            continue;
        };
        let upward = member.dependencies.iter().filter(|dependency| {
            dependency.kind == DependencyKind::Shipped
                && members.iter().any(|other| other.name == dependency.name)
                && !allowed.contains(&dependency.name.as_str())
        });
        violations.extend(upward.map(|dependency| {
            Violation {
                file: member.manifest.path.clone(),
                line: member.manifest.line_of_dependency(&dependency.name),
                rule: Rule::Layers,
                reason: format!(
                    "`{}` must not depend on `{}`; it stands on {}",
                    member.name,
                    dependency.name,
                    list(allowed)
                ),
                mend: "move the code to the layer that may see both, or make it a development \
                   dependency if only tests need it"
                    .to_owned(),
            }
        }));
    }
    violations
}

fn list(allowed: &[&str]) -> String {
    if allowed.is_empty() {
        return "no other member".to_owned();
    }
    allowed.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::member;
    use super::*;

    #[test]
    fn an_arrow_that_points_up_is_found_at_its_line() {
        let members = [
            member("piton-ledger", &["serde", "piton-chain"], &[]),
            member("piton-chain", &["piton-ledger"], &[]),
        ];
        let violations = check(&members);
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert_eq!(violations[0].file, "crates/piton-ledger/Cargo.toml");
        assert_eq!(violations[0].line, 3);
        assert_eq!(violations[0].rule, Rule::Layers);
        assert!(violations[0].reason.contains("`piton-chain`"));
    }

    #[test]
    fn an_arrow_between_siblings_is_found() {
        for adapter in ["piton-sqlite", "piton-postgres"] {
            let members = [
                member(adapter, &["piton-store", "piton-memory"], &[]),
                member("piton-memory", &["piton-store"], &[]),
                member("piton-store", &[], &[]),
            ];
            assert_eq!(check(&members).len(), 1, "{adapter}");
        }
    }

    #[test]
    fn a_development_dependency_may_point_anywhere() {
        let members = [
            member("piton-memory", &["piton-store"], &["piton-testkit"]),
            member("piton-testkit", &["piton-memory"], &[]),
            member("piton-store", &[], &[]),
        ];
        assert_eq!(check(&members), []);
    }

    #[test]
    fn a_consumer_may_depend_on_anything() {
        let members = [
            member("piton-benches", &["piton-cli", "piton-ledger"], &[]),
            member("piton-cli", &["piton-ledger"], &[]),
            member("piton-ledger", &[], &[]),
        ];
        assert_eq!(check(&members), []);
    }

    #[test]
    fn a_member_without_a_row_is_found() {
        let violations = check(&[member("piton-unheard-of", &[], &[])]);
        assert_eq!(violations.len(), 1);
        assert!(violations[0].reason.contains("piton-unheard-of"));
    }

    #[test]
    fn the_table_has_no_cycle() {
        // Each row may name only rows above it, consumers aside.
        for (index, (name, below)) in LAYERS.iter().enumerate() {
            let Below::Only(allowed) = below else {
                continue;
            };
            for target in *allowed {
                assert!(
                    LAYERS[..index].iter().any(|(above, _)| above == target),
                    "{name} names {target}, which doesn't come before it"
                );
            }
        }
    }
}
