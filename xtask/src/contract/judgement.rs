//! Owns the judgement of a classifier by the cases, and shows that the one in use passes it and has
//! a rule for everything that is in the golden.

use serde_json::Value;

use super::cases::Expected::{Additive, Breaking, Recorded, Unknown};
use super::cases::{CASES, Deltas};
use super::classify::{Class, Classifier, Semver};
use super::delta::{Change, Delta};
use super::records::Records;
use super::snapshot::{self, CURRENT};
use super::table::UNKNOWN;
use crate::workspace::Workspace;

/// Gives the first case that a classifier gets wrong.
pub(super) fn first_mistake(classifier: &Classifier<'_>) -> Option<String> {
    CASES.iter().find_map(|case| {
        let (old, new) = (parse(case.old), parse(case.new));
        mistake(classifier, &old, &new, case.forward)
            .or_else(|| mistake(classifier, &new, &old, case.backward))
    })
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Compares once without a record and once with a record of every delta.
fn mistake(
    classifier: &Classifier<'_>,
    old: &Value,
    new: &Value,
    expected: Deltas,
) -> Option<String> {
    let mut all = Records::default();
    for (delta, _, _) in expected {
        all.add("0042-all.md", &format!("Contract: {delta}"));
    }
    for (records, with_record) in [
        (&Records::default(), Class::Breaking),
        (&all, Class::Additive),
    ] {
        let findings = classifier.compare(old, new, records);
        let seen: Vec<(String, Class, Semver, bool)> = findings
            .iter()
            .map(|finding| {
                let is_unknown = finding.rule.why == UNKNOWN.why;
                (
                    finding.delta.to_string(),
                    finding.class,
                    finding.semver,
                    is_unknown,
                )
            })
            .collect();
        let wanted: Vec<(String, Class, Semver, bool)> = expected
            .iter()
            .map(|(delta, expected, semver)| {
                let class = match expected {
                    Additive => Class::Additive,
                    Recorded => with_record,
                    Breaking | Unknown => Class::Breaking,
                };
                ((*delta).to_owned(), class, *semver, *expected == Unknown)
            })
            .collect();
        if seen != wanted {
            return Some(format!("{old} to {new}: {seen:?}, not {wanted:?}"));
        }
        let fails = wanted
            .iter()
            .any(|(_, class, _, _)| *class == Class::Breaking);
        if classifier.fails(&findings) != fails {
            return Some(format!("{old} to {new}: the whole is judged wrong"));
        }
    }
    None
}

#[test]
fn every_class_of_change_is_judged_right_in_both_directions() {
    assert_eq!(first_mistake(&Classifier::honest()), None);
}

/// Gives a delta for each change that a leaf of a snapshot can see.
fn leaf_deltas(path: &[String], node: &Value, found: &mut Vec<Delta>) {
    let below = |part: &str| [path, &[part.to_owned()]].concat();
    let mut push = |path: Vec<String>, change| {
        found.push(Delta {
            path,
            change,
            old: Value::Null,
            new: Value::Null,
        });
    };
    match node {
        Value::Object(members) => {
            for (name, member) in members {
                leaf_deltas(&below(name), member, found);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                let path = below(element.as_str().expect("a set holds words"));
                push(path.clone(), Change::Added);
                push(path, Change::Removed);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            push(path.to_vec(), Change::Changed);
        }
    }
}

#[test]
fn every_leaf_of_the_golden_falls_under_a_rule() {
    let root = Workspace::open().expect("the workspace opens").root;
    let golden = snapshot::read(&root.join(CURRENT)).expect("the golden");
    let mut found = Vec::new();
    leaf_deltas(&[], &golden, &mut found);
    assert!(found.len() > 100, "the golden is nearly empty");
    for delta in found {
        let verdict = Classifier::honest().verdict(&golden, &delta);
        assert_ne!(verdict, UNKNOWN, "no rule is about {delta}");
    }
}
