//! Owns the words about a delta: what it is, why it has its class, and what to do. It decides
//! nothing.

use serde_json::Value;

use super::classify::{Class, Finding, Semver};
use super::delta::Change;
use super::records::FOLDER;
use super::rules::Contract;

/// Past this length a value says less than its path.
const VALUE_CHARACTERS: usize = 160;

/// Tells one finding in some lines.
pub(super) fn tell(finding: &Finding) -> String {
    let mut lines = vec![format!("{} {}", finding.class, finding.delta)];
    let mut say = |label: &str, words: &str| lines.push(format!("    {label:<5} {words}"));
    match finding.delta.change {
        Change::Added => {}
        Change::Removed | Change::Changed => show(&mut say, "was:", &finding.delta.old),
    }
    match finding.delta.change {
        Change::Removed => {}
        Change::Added | Change::Changed => show(&mut say, "now:", &finding.delta.new),
    }
    say("why:", finding.rule.why);
    say("rust:", rust(finding.semver));
    say("do:", &advice(finding));
    lines.join("\n")
}

/// Shows a value, unless it is an element of a set, whose path says it all.
fn show(say: &mut impl FnMut(&str, &str), label: &str, value: &Value) {
    if value.is_null() {
        return;
    }
    let text = value.to_string();
    let shown: String = text.chars().take(VALUE_CHARACTERS).collect();
    let rest = if shown == text { "" } else { "…" };
    say(label, &format!("{shown}{rest}"));
}

fn rust(semver: Semver) -> &'static str {
    match semver {
        Semver::Nothing => "no semver change for Rust callers",
        Semver::Minor => "semver-minor for Rust callers",
        Semver::Major => "semver-major for Rust callers: a program that compiled may not",
    }
}

fn advice(finding: &Finding) -> String {
    let delta = &finding.delta;
    match (finding.rule.contract, finding.class, &finding.record) {
        (Contract::Additive, _, _) => "nothing but a line in CHANGELOG.md".to_owned(),
        (Contract::Recorded, Class::Additive, record) => format!(
            "nothing: {} records it",
            record.as_deref().unwrap_or(FOLDER)
        ),
        (Contract::Recorded, Class::Breaking, _) => format!(
            "it breaks until a decision names it: write a record in {FOLDER} with the line \
             `Contract: {delta}`, or take the change back"
        ),
        (Contract::Breaking, _, None) => format!(
            "take the change back; if it must be, write a record in {FOLDER} with the line \
             `Contract: {delta}`, and release a version that may break with \
             `cargo xtask contract --release VERSION`"
        ),
        (Contract::Breaking, _, Some(record)) => format!(
            "{record} records it: release a version that may break with \
             `cargo xtask contract --release VERSION`"
        ),
    }
}
