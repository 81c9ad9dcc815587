//! F6: an adapter moves bytes and compares heads; it doesn't hash, redact or parse events.
//!
//! An engine that understood events could disagree with the verifier about them. So neither the
//! manifest nor the code of an adapter names what would let it; its tests may.

use std::collections::BTreeSet;

use super::syntax::{Fact, Said, Survey};
use super::{DependencyKind, Member, Rule, Violation};

/// The members that are adapters.
const ADAPTERS: &[&str] = &["piton-memory", "piton-sqlite", "piton-postgres"];

/// Crates that no adapter may name, as code spells them.
const PACKAGES: &[(&str, &str)] = &[
    ("blake3", "hash"),
    ("sha1", "hash"),
    ("sha2", "hash"),
    ("sha3", "hash"),
    ("md5", "hash"),
    ("piton_chain", "hash"),
    ("piton_redact", "redact"),
    ("regex", "redact"),
    ("aho_corasick", "redact"),
    ("serde_json", "parse events"),
    ("serde_jcs", "parse events"),
    ("serde_json_canonicalizer", "parse events"),
    ("simd_json", "parse events"),
];

/// Items of crates that an adapter may name otherwise.
const ITEMS: &[(&str, &str, &str)] = &[
    ("piton_ledger", "TransitionEvent", "parse events"),
    ("piton_ledger", "Transition", "parse events"),
    ("piton_ledger", "CanonicalJson", "parse events"),
    ("piton_ledger", "json", "parse events"),
    ("piton_store", "EventReader", "parse events"),
    ("piton_store", "seal", "redact"),
    ("piton_store", "VerifiedRow", "hash"),
    ("sqlx", "Json", "parse events"),
    ("tokio_postgres", "Json", "parse events"),
    ("postgres_types", "Json", "parse events"),
    ("rustls", "hash", "hash"),
];

/// Methods that do it for whoever calls them.
const METHODS: &[(&str, &str)] = &[
    ("read_all_for_workflow", "parse events"),
    ("latest_state", "parse events"),
];

/// Finds adapters that could do more than move bytes.
pub(super) fn check(members: &[Member], survey: &Survey) -> Vec<Violation> {
    let mut violations = BTreeSet::new();
    for member in members {
        if ADAPTERS.contains(&member.name.as_str()) {
            violations.extend(check_manifest(member));
        }
    }
    for fact in &survey.facts {
        let is_adapter = ADAPTERS
            .iter()
            .any(|name| fact.file.starts_with(&format!("crates/{name}/src/")));
        if is_adapter && let Some((what, does)) = judge(fact) {
            violations.insert(violation(&fact.file, fact.line, &what, does));
        }
    }
    violations.into_iter().collect()
}

fn check_manifest(member: &Member) -> Vec<Violation> {
    let shipped = member
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind == DependencyKind::Shipped);
    shipped
        .filter_map(|dependency| {
            let spelled = dependency.name.replace('-', "_");
            let (_, does) = PACKAGES.iter().find(|(name, _)| *name == spelled)?;
            let line = member.manifest.line_of_dependency(&dependency.name);
            Some(violation(
                &member.manifest.path,
                line,
                &format!("`{}`", dependency.name),
                does,
            ))
        })
        .collect()
}

fn judge(fact: &Fact) -> Option<(String, &'static str)> {
    let written = fact.said.path().join("::");
    if let Said::Method(method) = &fact.said {
        let mut methods = METHODS.iter();
        return methods
            .find(|(name, _)| method.iter().any(|method| method == name))
            .map(|(_, does)| (format!("`.{written}()`"), *does));
    }
    let is_import = matches!(fact.said, Said::Import(_) | Said::Glob(_));
    fact.stands_for.iter().find_map(|path| {
        let (first, rest) = path.split_first()?;
        // A name alone may be a variable.
        let package = PACKAGES
            .iter()
            .find(|(name, _)| first == name && (is_import || !rest.is_empty()));
        let item = ITEMS
            .iter()
            .find(|(package, name, _)| first == package && rest.iter().any(|part| part == name));
        let does = package
            .map(|(_, does)| *does)
            .or(item.map(|(_, _, does)| *does))?;
        let full = path.join("::");
        let what = if full == written {
            format!("`{full}`")
        } else {
            format!("`{full}` (written `{written}`)")
        };
        Some((what, does))
    })
}

fn violation(file: &str, line: usize, what: &str, does: &str) -> Violation {
    Violation {
        file: file.to_owned(),
        line,
        rule: Rule::Adapters,
        reason: format!("{what} lets an adapter {does}; it moves bytes and compares heads"),
        mend: "take what is ready from the `SealedEvent`, give back what is stored, and leave \
               judging to the verifier"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{lines, member, survey};
    use super::*;

    #[track_caller]
    fn check_code(text: &str, expected: &[usize]) {
        for adapter in ADAPTERS {
            let path = format!("crates/{adapter}/src/lib.rs");
            let survey = survey(&[(&path, text)]);
            assert_eq!(
                lines(&check(&[], &survey), Rule::Adapters),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn each_package_is_found_in_code_and_manifest() {
        for (name, does) in PACKAGES {
            check_code(&format!("fn a() {{\n    {name}::b();\n}}"), &[2]);
            check_code(&format!("use {name};"), &[1]);
            check_code(&format!("use {name} as b;"), &[1]);
            let manifest = name.replace('_', "-");
            let violations = check(
                &[member("piton-sqlite", &["serde", &manifest], &[])],
                &survey(&[]),
            );
            assert_eq!(lines(&violations, Rule::Adapters), [3], "{name}");
            assert!(violations[0].reason.contains(does));
        }
    }

    #[test]
    fn each_item_is_found_under_any_name() {
        for (package, name, _) in ITEMS {
            check_code(&format!("use {package}::{name};"), &[1]);
            check_code(&format!("use {package}::deeper::{{{name} as B}};"), &[1]);
            check_code(
                &format!("use {package} as p;\nfn a(b: p::{name}) {{}}"),
                &[2],
            );
            check_code(&format!("fn a() {{ vec![1, {package}::{name}] }}"), &[1]);
            check_code(&format!("use {package}::*;\nfn a(b: {name}) {{}}"), &[2]);
        }
    }

    #[test]
    fn each_method_is_found() {
        for (name, _) in METHODS {
            check_code(&format!("fn a(b: B) {{\n    b.{name}::<M>(&c)\n}}"), &[2]);
        }
    }

    #[test]
    fn what_an_adapter_is_for_is_let_be() {
        check_code(
            "use piton_ledger::{ChainHead, TransitionId};\n\
             use piton_store::{SealedEvent, Stored};\n\
             fn a(event: &SealedEvent, prior: &ChainHead) { event.link(prior); let sha2 = 1; sha2; }",
            &[],
        );
    }

    #[test]
    fn comments_strings_and_tests_may_speak_of_it() {
        check_code(
            "// blake3::hash\nconst A: &str = \"serde_json::from_str\";\n\
             #[cfg(test)]\nmod tests { use serde_json::from_str; }\n\
             #[test]\nfn a() { blake3::hash(b); }",
            &[],
        );
        let members = [member("piton-sqlite", &[], &["serde_json", "blake3"])];
        assert_eq!(check(&members, &survey(&[])), []);
    }

    #[test]
    fn others_may() {
        let survey = survey(&[("crates/piton-verify/src/walk.rs", "use piton_chain::link;")]);
        let members = [member("piton-verify", &["piton-chain", "serde_json"], &[])];
        assert_eq!(check(&members, &survey), []);
    }
}
