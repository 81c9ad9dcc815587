//! Owns what each kind of change means. It is data: `classify` applies it. The reasons are shown to
//! whoever made the change.

mod surfaces;
mod values;

use super::rules::{Rule, Rust, Verdict, breaking};

/// The verdict on a change that no rule is about.
pub(super) const UNKNOWN: Verdict = breaking(
    Rust::Major,
    "no rule says what this change means, so the worst is assumed",
);

/// Gives every rule; the first that fits a delta counts.
pub(super) fn rules() -> Vec<Rule> {
    [values::RULES, surfaces::RULES].concat()
}
