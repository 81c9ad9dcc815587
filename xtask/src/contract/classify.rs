//! Owns the application of the rules to the deltas. It reads no file and prints nothing.

use std::fmt;

use serde_json::Value;

use super::delta::{Delta, deltas};
use super::question::{Decide, Question, honestly};
use super::records::Records;
use super::rules::{Contract, Rule, Ruling, Rust, Verdict};
use super::table::{UNKNOWN, rules};

/// The final class of a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Additive,
    Breaking,
}

impl fmt::Display for Class {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Additive => "additive",
            Self::Breaking => "breaking",
        })
    }
}

/// What a Rust caller needs: the part of the version that must rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Semver {
    Nothing,
    Minor,
    Major,
}

/// A delta with its class in both senses.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) delta: Delta,
    pub(super) class: Class,
    pub(super) semver: Semver,
    pub(super) rule: Verdict,
    /// The record that names the delta, if there is one.
    pub(super) record: Option<String>,
}

/// The rules, and how questions are answered.
pub(super) struct Classifier<'c> {
    pub(super) rules: Vec<Rule>,
    pub(super) decide: &'c Decide<'c>,
}

impl Classifier<'static> {
    pub(super) fn honest() -> Self {
        Self {
            rules: rules(),
            decide: &honestly,
        }
    }
}

impl Classifier<'_> {
    /// Classifies every difference between two snapshots.
    pub(super) fn compare(&self, old: &Value, new: &Value, records: &Records) -> Vec<Finding> {
        deltas(old, new, self.decide)
            .into_iter()
            .map(|delta| self.judge(old, delta, records))
            .collect()
    }

    /// Says whether any of the findings breaks the contract.
    pub(super) fn fails(&self, findings: &[Finding]) -> bool {
        findings
            .iter()
            .any(|finding| self.ask(Question::IsBreaking, finding.class == Class::Breaking))
    }

    fn judge(&self, old: &Value, delta: Delta, records: &Records) -> Finding {
        let rule = self.verdict(old, &delta);
        let record = records.naming(&delta.to_string());
        let class = match rule.contract {
            Contract::Additive => Class::Additive,
            Contract::Breaking => Class::Breaking,
            Contract::Recorded => {
                if self.ask(Question::IsRecorded, record.is_some()) {
                    Class::Additive
                } else {
                    Class::Breaking
                }
            }
        };
        let semver = match rule.rust {
            Rust::Nothing => Semver::Nothing,
            Rust::Minor => Semver::Minor,
            Rust::Major => Semver::Major,
            Rust::MajorIfClosed => {
                if self.ask(Question::TypeIsClosed, is_closed(old, &delta.path)) {
                    Semver::Major
                } else {
                    Semver::Minor
                }
            }
        };
        Finding {
            delta,
            class,
            semver,
            rule,
            record,
        }
    }

    /// Gives what the first rule says that fits, or the worst.
    pub(super) fn verdict(&self, old: &Value, delta: &Delta) -> Verdict {
        let fitting = self.rules.iter().find(|rule| {
            self.ask(Question::ChangeFits, rule.change == delta.change)
                && rule
                    .patterns
                    .iter()
                    .any(|pattern| self.fits(pattern, &delta.path))
        });
        match fitting.map(|rule| rule.ruling) {
            None => UNKNOWN,
            Some(Ruling::Always(verdict)) => verdict,
            Some(Ruling::Depends { question, yes, no }) => {
                if self.ask(question, fact(question, old, delta)) {
                    yes
                } else {
                    no
                }
            }
        }
    }

    fn fits(&self, pattern: &str, path: &[String]) -> bool {
        let parts: Vec<&str> = pattern.split('/').collect();
        self.ask(Question::LengthFits, parts.len() == path.len())
            && parts
                .iter()
                .zip(path)
                .all(|(part, found)| *part == "*" || self.ask(Question::PartFits, part == found))
    }

    fn ask(&self, question: Question, fact: bool) -> bool {
        (self.decide)(question, fact)
    }
}

/// Finds the answer to a question that a rule asks about a delta.
fn fact(question: Question, old: &Value, delta: &Delta) -> bool {
    match question {
        Question::IsRequired => delta.new["presence"] == "required",
        Question::IsRaised => {
            let numbers = delta.old.as_u64().zip(delta.new.as_u64());
            numbers.is_some_and(|(old, new)| new > old)
        }
        Question::IsStricter => ["open", "refused", "required"]
            .iter()
            .any(|strict| delta.new == *strict),
        Question::KindExisted => {
            delta
                .path
                .get(1)
                .zip(delta.path.last())
                .is_some_and(|(ledger, kind)| {
                    old["ledgers"][ledger]["kinds"]
                        .as_array()
                        .is_some_and(|kinds| kinds.iter().any(|existing| existing == kind))
                })
        }
        // These are asked elsewhere, of other things than a delta.
        Question::ValueDiffers
        | Question::PartFits
        | Question::LengthFits
        | Question::ChangeFits
        | Question::TypeIsClosed
        | Question::IsRecorded
        | Question::IsBreaking => false,
    }
}

/// Says whether the nearest type above a path was closed for callers; a place that no type stands
/// above has none to be open.
fn is_closed(old: &Value, path: &[String]) -> bool {
    let mut node = old;
    let mut closed = false;
    for part in path {
        if let Some(openness) = node.get("openness") {
            closed = openness == "closed";
        }
        match node.get(part) {
            Some(below) => node = below,
            None => break,
        }
    }
    closed
}
