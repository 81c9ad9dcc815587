//! F1, outer half: foreign crates that the core must not reach, however indirectly.
//!
//! The core stays usable with any runtime and any database only while none is linked into it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::features::turned_on;
use super::{DependencyKind, Member, Presence, Rule, Violation};

/// A package of the resolved graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) version: String,
}

/// Normal dependencies of each package.
pub(super) type Graph = BTreeMap<Node, BTreeSet<Node>>;

/// The members that know no runtime, no driver and no operating system.
const CORE: &[&str] = &[
    "piton-ledger",
    "piton-chain",
    "piton-redact",
    "piton-store",
    "piton-verify",
];

/// What none of them may reach.
const FORBIDDEN: &[&str] = &[
    "tokio",
    "sqlx",
    "sqlx-core",
    "sqlx-sqlite",
    "tokio-postgres",
    "postgres-types",
    "rustix",
    "libsqlite3-sys",
];

/// What a core member may offer behind a feature, while neither its default nor another core
/// member turns that on: the ids bind and decode in a consumer's own queries.
const OPTIONAL: &[(&str, &[&str])] = &[(
    "piton-ledger",
    &["sqlx", "sqlx-core", "sqlx-sqlite", "postgres-types"],
)];

/// Finds forbidden crates in the normal closure of the core, with the way that leads there.
pub(super) fn check(members: &[Member], graph: &Graph) -> Vec<Violation> {
    let mut violations = Vec::new();
    let graph = &without_optional(members, graph);
    for member in members {
        if !CORE.contains(&member.name.as_str()) {
            continue;
        }
        for way in ways_to_forbidden(&member.name, graph) {
            let first_step = way.get(1).map_or(member.name.as_str(), String::as_str);
            violations.push(Violation {
                file: member.manifest.path.clone(),
                line: member.manifest.line_of_dependency(first_step),
                rule: Rule::Layers,
                reason: format!(
                    "the core must know no runtime and no driver, but: {}",
                    way.join(" -> ")
                ),
                mend: "turn off the feature that brings it in, or move the code that needs it \
                       into an adapter"
                    .to_owned(),
            });
        }
    }
    violations
}

/// Takes out the edges that exist only because somebody outside of the core asked for them:
/// the graph is resolved once for the whole workspace.
fn without_optional(members: &[Member], graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    for (name, allowed) in OPTIONAL {
        let Some(member) = members.iter().find(|member| member.name == *name) else {
            continue;
        };
        let asked_by_core = members
            .iter()
            .filter(|other| CORE.contains(&other.name.as_str()))
            .flat_map(|other| &other.dependencies)
            .filter(|dependency| {
                dependency.name == *name && dependency.kind == DependencyKind::Shipped
            })
            .flat_map(|dependency| dependency.features.iter().map(String::as_str));
        let on = turned_on(&member.features, asked_by_core.chain(["default"]));
        let is_off = |target: &str| {
            let mut declared = member.dependencies.iter().filter(|dependency| {
                dependency.name == target && dependency.kind == DependencyKind::Shipped
            });
            declared.all(|dependency| dependency.presence == Presence::Optional)
                && !on.contains(target)
        };
        let edges = graph.iter_mut().filter(|(node, _)| node.name == *name);
        for (_, targets) in edges {
            targets.retain(|target| {
                !(allowed.contains(&target.name.as_str()) && is_off(&target.name))
            });
        }
    }
    graph
}

/// The shortest way from a member to each forbidden package, both ends included.
fn ways_to_forbidden(member: &str, graph: &Graph) -> Vec<Vec<String>> {
    let Some(start) = graph.keys().find(|node| node.name == member) else {
        return Vec::new();
    };
    let mut ways = Vec::new();
    let mut came_from: BTreeMap<&Node, &Node> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        if FORBIDDEN.contains(&node.name.as_str()) {
            ways.push(way_back(node, &came_from));
            continue;
        }
        for target in graph.get(node).into_iter().flatten() {
            if target != start && !came_from.contains_key(target) {
                came_from.insert(target, node);
                queue.push_back(target);
            }
        }
    }
    ways
}

fn way_back(end: &Node, came_from: &BTreeMap<&Node, &Node>) -> Vec<String> {
    let mut way = vec![end.name.clone()];
    let mut node = end;
    while let Some(previous) = came_from.get(node) {
        way.push(previous.name.clone());
        node = previous;
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::member;
    use super::*;

    fn node(name: &str) -> Node {
        Node {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
        }
    }

    fn graph(edges: &[(&str, &[&str])]) -> Graph {
        let edges = edges.iter();
        edges
            .map(|(from, to)| (node(from), to.iter().map(|name| node(name)).collect()))
            .collect()
    }

    #[test]
    fn a_forbidden_crate_is_found_through_others_and_the_way_is_told() {
        let graph = graph(&[
            ("piton-store", &["serde", "innocent"]),
            ("innocent", &["deeper"]),
            ("deeper", &["tokio"]),
            ("tokio", &["rustix"]),
        ]);
        let violations = check(
            &[member("piton-store", &["serde", "innocent"], &[])],
            &graph,
        );
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert_eq!(violations[0].rule, Rule::Layers);
        assert_eq!(violations[0].line, 3);
        assert!(
            violations[0]
                .reason
                .ends_with("piton-store -> innocent -> deeper -> tokio")
        );
    }

    #[test]
    fn each_forbidden_crate_is_found_from_each_core_member() {
        for core in CORE {
            for forbidden in FORBIDDEN {
                let graph = graph(&[(core, &[forbidden])]);
                let violations = check(&[member(core, &[forbidden], &[])], &graph);
                assert_eq!(violations.len(), 1, "{core} -> {forbidden}");
            }
        }
    }

    /// A ledger with one driver behind the feature `driver`, and a chain that asks for features.
    fn ledger_with(driver: &str, default: &[&str], asked_by_chain: &[&str]) -> Vec<Member> {
        let texts = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let mut ledger = member("piton-ledger", &["serde", driver], &[]);
        ledger.dependencies[1].presence = Presence::Optional;
        ledger.features = [
            ("default".to_owned(), texts(default)),
            ("driver".to_owned(), vec![format!("dep:{driver}")]),
        ]
        .into();
        let mut chain = member("piton-chain", &["piton-ledger"], &[]);
        chain.dependencies[0].features = texts(asked_by_chain);
        vec![ledger, chain]
    }

    fn ledger_graph(driver: &str) -> Graph {
        graph(&[
            ("piton-chain", &["piton-ledger"]),
            ("piton-ledger", &["serde", driver]),
            (driver, &["tokio"]),
        ])
    }

    #[test]
    fn the_ledger_may_offer_drivers_types_behind_a_feature() {
        for (_, drivers) in OPTIONAL {
            for driver in *drivers {
                let members = ledger_with(driver, &[], &[]);
                assert_eq!(check(&members, &ledger_graph(driver)), [], "{driver}");
            }
        }
    }

    #[test]
    fn an_offer_that_is_on_by_default_is_found() {
        let members = ledger_with("postgres-types", &["driver"], &[]);
        let violations = check(&members, &ledger_graph("postgres-types"));
        assert_eq!(violations.len(), 2, "{violations:?}");
        assert_eq!(violations[0].line, 3);
    }

    #[test]
    fn an_offer_that_the_core_itself_takes_is_found() {
        let members = ledger_with("sqlx-core", &[], &["driver"]);
        assert_eq!(check(&members, &ledger_graph("sqlx-core")).len(), 2);
    }

    #[test]
    fn an_offer_that_is_always_there_is_found() {
        let mut members = ledger_with("sqlx-core", &[], &[]);
        members[0].dependencies[1].presence = Presence::Always;
        assert_eq!(check(&members, &ledger_graph("sqlx-core")).len(), 2);
    }

    #[test]
    fn only_listed_offers_are_exceptions() {
        let members = ledger_with("tokio-postgres", &[], &[]);
        assert_eq!(check(&members, &ledger_graph("tokio-postgres")).len(), 2);
        let mut redact = member("piton-redact", &["sqlx-core"], &[]);
        redact.dependencies[0].presence = Presence::Optional;
        let graph = graph(&[("piton-redact", &["sqlx-core"])]);
        assert_eq!(check(&[redact], &graph).len(), 1);
    }

    #[test]
    fn an_adapter_may_link_its_driver() {
        let graph = graph(&[("piton-sqlite", &["sqlx", "tokio"])]);
        assert_eq!(
            check(&[member("piton-sqlite", &["sqlx", "tokio"], &[])], &graph),
            []
        );
    }

    #[test]
    fn a_cycle_in_the_graph_ends() {
        let graph = graph(&[("piton-chain", &["a"]), ("a", &["b"]), ("b", &["a"])]);
        assert_eq!(check(&[member("piton-chain", &["a"], &[])], &graph), []);
    }
}
