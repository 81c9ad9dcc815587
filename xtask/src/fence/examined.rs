//! The rules examined together: the workspace keeps them all, and each fixture breaks one alone.
//!
//! A fixture is an edit to what the workspace really says, so it also shows that the tables fit
//! the code that they speak of.

use super::closure::Node;
use super::fixtures::text_file;
use super::load::{Loaded, load};
use super::*;

/// One edit that must be found by one rule.
struct Fixture {
    rule: Rule,
    edit: Edit,
}

enum Edit {
    /// A source that isn't there.
    Source(&'static str, &'static str),
    /// In a file or document, one text for another.
    Replace(&'static str, &'static str, &'static str),
    /// A member depends on one more crate.
    Dependency(&'static str, &'static str),
    /// A member's foreign dependency brings in another crate.
    Edge(&'static str, &'static str),
}

use Edit::{Dependency as Depends, Edge, Replace, Source};

const fn fixture(rule: Rule, edit: Edit) -> Fixture {
    Fixture { rule, edit }
}

const FIXTURES: &[Fixture] = &[
    fixture(Rule::Layers, Depends("piton-ledger", "piton-store")),
    fixture(Rule::Layers, Depends("piton-sqlite", "piton-memory")),
    fixture(Rule::Layers, Edge("thiserror", "tokio")),
    fixture(
        Rule::Purity,
        Source(
            "crates/piton-ledger/src/fixture.rs",
            "//! A clock.\nuse std::time as t;\nfn a() { t::Instant::now(); }\n",
        ),
    ),
    fixture(
        Rule::Purity,
        Source(
            "crates/piton-chain/src/fixture.rs",
            "//! State.\nstatic COUNT: u64 = 0;\n",
        ),
    ),
    fixture(
        Rule::Purity,
        Replace(
            "crates/piton-verify/src/walk.rs",
            "let index = self.rows;",
            "let index = self.rows; println!(\"{index}\");",
        ),
    ),
    fixture(
        Rule::Purity,
        Replace(
            "crates/piton-verify/src/walk.rs",
            "pub(crate) fn step",
            "pub(crate) async fn step",
        ),
    ),
    fixture(
        Rule::Purity,
        Replace(
            "crates/piton-chain/clippy.toml",
            "allow-unwrap-in-tests = true",
            "allow-unwrap-in-tests = false",
        ),
    ),
    fixture(Rule::Owners, Depends("piton-cli", "regex")),
    fixture(
        Rule::ClosedSets,
        Source(
            "crates/piton-cli/src/fixture.rs",
            "//! A rest.\nuse piton_verify::AuditVerdict as V;\n\
             fn a(v: V) { match v { V::TornWrite(_) => b(), _ => c() } }\n",
        ),
    ),
    fixture(
        Rule::ClosedSets,
        Source(
            "crates/piton-store/src/fixture.rs",
            "//! A shortcut.\nfn a() { matches!(kind, piton_ledger::VulnState::Completed) }\n",
        ),
    ),
    fixture(
        Rule::ClosedSets,
        Replace(
            "crates/piton-verify/src/verdict.rs",
            "pub enum TornReason",
            "#[non_exhaustive]\npub enum TornReason",
        ),
    ),
    fixture(
        Rule::ClosedSets,
        Replace(
            "crates/piton-verify/src/hydration.rs",
            "ReplayVerdict::TornWrite(torn) => Some(torn_message(torn)),",
            "_ => None,",
        ),
    ),
    fixture(
        Rule::SoleSites,
        Source(
            "crates/piton-store/src/fixture.rs",
            "//! A third door.\nuse crate::sealed::SealedEvent as S;\nfn a() { S { ..other } }\n",
        ),
    ),
    fixture(
        Rule::SoleSites,
        Source(
            "crates/piton-store/src/fixture.rs",
            "//! A second linker.\nfn a() { piton_chain::link(b, c) }\n",
        ),
    ),
    fixture(
        Rule::SoleSites,
        Source(
            "crates/piton-sqlite/src/fixture.rs",
            "//! A second row.\nfn a() { event.link(prior) }\n",
        ),
    ),
    fixture(
        Rule::SoleSites,
        Source(
            "crates/piton-cli/src/fixture.rs",
            "//! A second policy.\nuse piton_ledger::FailedUnrecoverableReason::*;\n\
             fn a() { Some(CheckpointIntegrity) }\n",
        ),
    ),
    fixture(
        Rule::SoleSites,
        Source(
            "crates/piton-cli/src/fixture.rs",
            "//! A history of its own.\nfn a() { piton_verify::Hydrated { ..other } }\n",
        ),
    ),
    fixture(
        Rule::SoleSites,
        Source(
            "crates/piton-verify/src/fixture.rs",
            "//! Work to do.\nuse piton_ledger::VulnLedgerState as L;\nfn a() { L::NeedsPlan {} }\n",
        ),
    ),
    fixture(
        Rule::SoleSites,
        Source(
            "crates/piton-verify/src/fixture.rs",
            "//! A kind from nowhere.\nfn a<M: StateMachine>() -> M { M::INITIAL }\n",
        ),
    ),
    fixture(
        Rule::SoleSites,
        Replace(
            "crates/piton-store/src/sealed.rs",
            "piton_chain::link(prior, &self.bytes)",
            "*prior",
        ),
    ),
    fixture(
        Rule::Adapters,
        Source(
            "crates/piton-memory/src/fixture.rs",
            "//! A reader.\nuse piton_ledger::TransitionEvent as E;\n",
        ),
    ),
    fixture(
        Rule::Adapters,
        Source(
            "crates/piton-postgres/src/fixture.rs",
            "//! A redactor.\nfn a() { vec![piton_redact::redact_text(b, c)] }\n",
        ),
    ),
    fixture(Rule::Adapters, Depends("piton-sqlite", "serde_json")),
    fixture(
        Rule::Tidy,
        Source("crates/piton-cli/src/fixture.rs", "fn a() {}\n"),
    ),
    fixture(
        Rule::Tidy,
        Source(
            "crates/piton-cli/src/fixture.rs",
            "//! Later.\nfn a() { todo!() }\n",
        ),
    ),
    fixture(
        Rule::Tidy,
        Replace(
            "crates/piton-cli/Cargo.toml",
            "piton-ledger.workspace = true",
            "piton-ledger = \"1\"",
        ),
    ),
    fixture(
        Rule::Clauses,
        Replace(
            "docs/store-contract.md",
            "| C15 Opaque errors |",
            "| C15 Opaque errors | All. |\n| C16 Loud |",
        ),
    ),
    fixture(
        Rule::Clauses,
        Replace(
            "crates/piton-testkit/src/list.rs",
            "C9 c09_open_read",
            "C8 c09_open_read",
        ),
    ),
    fixture(
        Rule::Clauses,
        Replace(
            "crates/piton-store/src/port.rs",
            "- C9 Snapshot",
            "- Snapshot",
        ),
    ),
    fixture(
        Rule::Clauses,
        Source(
            "crates/piton-testkit/src/cases/fixture.rs",
            "//! A case that nobody runs.\npub async fn c05_forgotten() {}\n",
        ),
    ),
];

/// The sources without which a table would be stale: enough to judge an edit by.
const NEEDED: &[&str] = &[
    "crates/piton-ledger/src/",
    "crates/piton-chain/src/",
    "crates/piton-store/src/",
    "crates/piton-verify/src/",
    "crates/piton-memory/src/chain.rs",
    "crates/piton-sqlite/src/insert.rs",
    "crates/piton-postgres/src/append.rs",
    "crates/piton-postgres/src/batch.rs",
    "crates/piton-cli/src/command/seal.rs",
    "crates/piton-testkit/src/list.rs",
];

fn workspace() -> Loaded {
    let workspace = Workspace::open().expect("the workspace opens");
    load(&workspace).expect("the workspace loads")
}

/// Makes an edit to a loaded workspace.
fn apply(edit: &Edit, loaded: &mut Loaded) {
    let member = |loaded: &mut Loaded, name: &str| {
        let mut members = loaded.members.iter();
        members
            .position(|member| member.name == name)
            .expect("the member is there")
    };
    match edit {
        Source(path, text) => loaded.sources.push(text_file(path, text)),
        Replace(path, old, new) => {
            let manifests = loaded.members.iter_mut().map(|member| &mut member.manifest);
            let file = loaded
                .sources
                .iter_mut()
                .chain(&mut loaded.documents)
                .chain(manifests)
                .find(|file| file.path == *path)
                .expect("the file is there");
            assert!(file.text.contains(old), "{path} has no `{old}`");
            file.text = file.text.replacen(old, new, 1);
        }
        Depends(name, dependency) => {
            let at = member(loaded, name);
            loaded.members[at].dependencies.push(Dependency {
                name: (*dependency).to_owned(),
                kind: DependencyKind::Shipped,
                presence: Presence::Always,
                features: Vec::new(),
            });
        }
        Edge(from, to) => {
            let target = Node {
                name: (*to).to_owned(),
                version: "1.0.0".to_owned(),
            };
            let mut nodes = loaded.graph.iter_mut();
            let (_, targets) = nodes
                .find(|(node, _)| node.name == *from)
                .expect("the crate is in the graph");
            targets.insert(target);
        }
    }
}

#[test]
fn the_workspace_keeps_every_rule() {
    assert_eq!(judge(&workspace()).expect("all of it is Rust"), []);
}

#[test]
fn each_fixture_breaks_its_own_rule_and_no_other() {
    let mut base = workspace();
    base.sources
        .retain(|source| NEEDED.iter().any(|prefix| source.path.starts_with(prefix)));
    for Fixture { rule, edit } in FIXTURES {
        let mut loaded = base.clone();
        apply(edit, &mut loaded);
        let violations = judge(&loaded).expect("the fixture is Rust");
        assert!(!violations.is_empty(), "{rule}: nothing found");
        for violation in &violations {
            assert_eq!(violation.rule, *rule, "{violation}");
            assert!(!violation.file.is_empty() && violation.line > 0);
            assert!(!violation.reason.is_empty() && !violation.mend.is_empty());
        }
    }
}

#[test]
fn each_rule_has_a_fixture() {
    for rule in Rule::ALL {
        assert!(
            FIXTURES.iter().any(|fixture| fixture.rule == rule),
            "{rule}"
        );
    }
}
