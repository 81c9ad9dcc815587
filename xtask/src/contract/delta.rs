//! Owns what differs between two snapshots, and where. It judges nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::question::{Decide, Question};

/// What happened at one place of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Added,
    Removed,
    Changed,
}

/// One place at which two snapshots differ, as high up as the difference is whole.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Delta {
    pub(super) path: Vec<String>,
    pub(super) change: Change,
    /// What was there; null for an element of a set.
    pub(super) old: Value,
    /// What is there now; null for an element of a set.
    pub(super) new: Value,
}

impl fmt::Display for Delta {
    /// Writes the name by which a decision record refers to the delta.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.change {
            Change::Added => '+',
            Change::Removed => '-',
            Change::Changed => '~',
        };
        write!(formatter, "{mark}{}", self.path.join("/"))
    }
}

/// Finds every difference, in the order of the paths.
pub(super) fn deltas(old: &Value, new: &Value, decide: &Decide<'_>) -> Vec<Delta> {
    let mut found = Vec::new();
    compare(&[], old, new, decide, &mut found);
    found
}

fn compare(path: &[String], old: &Value, new: &Value, decide: &Decide<'_>, found: &mut Vec<Delta>) {
    let (Some(old_members), Some(new_members)) = (members(old), members(new)) else {
        if decide(Question::ValueDiffers, old != new) {
            found.push(Delta {
                path: path.to_vec(),
                change: Change::Changed,
                old: old.clone(),
                new: new.clone(),
            });
        }
        return;
    };
    let names: BTreeSet<&str> = old_members
        .keys()
        .chain(new_members.keys())
        .copied()
        .collect();
    for name in names {
        let mut path = path.to_vec();
        path.push(name.to_owned());
        let (change, old, new) = match (old_members.get(name), new_members.get(name)) {
            (Some(old), Some(new)) => {
                compare(&path, old, new, decide, found);
                continue;
            }
            (Some(old), None) => (Change::Removed, *old, &Value::Null),
            (None, new) => (
                Change::Added,
                &Value::Null,
                new.copied().unwrap_or(&Value::Null),
            ),
        };
        found.push(Delta {
            path,
            change,
            old: old.clone(),
            new: new.clone(),
        });
    }
}

/// Gives the members of an object by name, or the elements of a set of words by themselves.
fn members(value: &Value) -> Option<BTreeMap<&str, &Value>> {
    match value {
        Value::Object(members) => Some(
            members
                .iter()
                .map(|(name, content)| (name.as_str(), content))
                .collect(),
        ),
        Value::Array(elements) => elements
            .iter()
            .map(|element| element.as_str().map(|word| (word, &Value::Null)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
