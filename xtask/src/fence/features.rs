//! Which optional dependencies a set of features turns on, by cargo's own grammar.

use std::collections::{BTreeMap, BTreeSet};

/// The features of one package, and what each turns on.
pub(super) type Features = BTreeMap<String, Vec<String>>;

/// Names the optional dependencies that `wanted` turns on, directly or through other features.
pub(super) fn turned_on<'a>(
    features: &'a Features,
    wanted: impl IntoIterator<Item = &'a str>,
) -> BTreeSet<&'a str> {
    let mut dependencies = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = wanted.into_iter().collect();
    while let Some(feature) = open.pop() {
        if !seen.insert(feature) {
            continue;
        }
        for entry in features.get(feature).into_iter().flatten() {
            match (entry.strip_prefix("dep:"), entry.split_once('/')) {
                (Some(dependency), _) => {
                    dependencies.insert(dependency);
                }
                // `name?/feature` only adds to what something else turned on.
                (None, Some((dependency, _))) if dependency.ends_with('?') => {}
                (None, Some((dependency, _))) => {
                    dependencies.insert(dependency);
                }
                (None, None) => open.push(entry),
            }
        }
    }
    dependencies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &[&str], expected: &[&str]) {
        let features = [
            ("default", ["std", "cycle"].as_slice()),
            ("std", &["weak?/std"]),
            ("cycle", &["default"]),
            ("driver", &["dep:driver-core", "std"]),
            ("strong", &["strong-crate/std"]),
            ("both", &["driver", "strong"]),
        ];
        let features = features
            .iter()
            .map(|(name, entries)| {
                let entries = entries.iter().map(|&entry| entry.to_owned()).collect();
                ((*name).to_owned(), entries)
            })
            .collect();
        let found: Vec<&str> = turned_on(&features, wanted.iter().copied())
            .into_iter()
            .collect();
        assert_eq!(found, expected, "{wanted:?}");
    }

    #[test]
    fn features_lead_to_dependencies() {
        check(&[], &[]);
        check(&["default"], &[]);
        check(&["driver"], &["driver-core"]);
        check(&["strong"], &["strong-crate"]);
        check(&["default", "both"], &["driver-core", "strong-crate"]);
        check(&["unknown"], &[]);
    }
}
