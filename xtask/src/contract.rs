//! `cargo xtask contract`: says of each change of the contract whether it breaks somebody.
//!
//! Owns the command. It compares snapshots as JSON and must not depend on what they describe: the
//! golden of now is written by `piton-contracts`, and that of a release is a copy of it.

mod classify;
mod delta;
mod question;
mod records;
mod release;
mod report;
mod rules;
mod snapshot;
mod table;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod judgement;
#[cfg(test)]
mod mutants;

use std::path::{Path, absolute};

use anyhow::{Context as _, Result, bail};

use self::classify::{Class, Classifier, Finding};
use self::records::Records;
use self::snapshot::CURRENT;
use crate::workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask contract                    compare with the last release
       cargo xtask contract OLD NEW            compare two snapshots
       cargo xtask contract --release VERSION  note what is promised now as that release's";

/// Runs the command.
///
/// # Errors
///
/// When any delta breaks the contract, or a snapshot can't be read.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    match arguments {
        [] => check(workspace),
        [option, version] if option == "--release" => release::run(workspace, version.parse()?),
        [old, new] if !old.starts_with('-') => {
            // A person's paths count from where that person stands.
            compare(workspace, &absolute(old)?, &absolute(new)?)
        }
        _ => bail!("{USAGE}"),
    }
}

/// Compares the last release with what the code promises now.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let releases = snapshot::releases(&workspace.root)?;
    let last = releases.last().context("no release has a snapshot")?;
    compare(workspace, &last.file(), Path::new(CURRENT))
}

fn compare(workspace: &Workspace, old: &Path, new: &Path) -> Result<()> {
    let classifier = Classifier::honest();
    let findings = findings(workspace, &classifier, old, new)?;
    tell(&findings, old, new);
    if classifier.fails(&findings) {
        let breaking = breaking(&findings).count();
        bail!("breaking deltas: {breaking}; what each of them asks for stands above");
    }
    Ok(())
}

fn findings(
    workspace: &Workspace,
    classifier: &Classifier<'_>,
    old: &Path,
    new: &Path,
) -> Result<Vec<Finding>> {
    let records = Records::read(&workspace.root)?;
    let old = snapshot::read(&workspace.root.join(old))?;
    let new = snapshot::read(&workspace.root.join(new))?;
    Ok(classifier.compare(&old, &new, &records))
}

fn tell(findings: &[Finding], old: &Path, new: &Path) {
    for finding in findings {
        println!("{}", report::tell(finding));
    }
    let breaking = breaking(findings).count();
    println!(
        "contract: additive {}, breaking {breaking}, from {} to {}",
        findings.len() - breaking,
        old.display(),
        new.display()
    );
}

fn breaking(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    findings
        .iter()
        .filter(|finding| finding.class == Class::Breaking)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Two snapshots with one difference, and the record that names it, if one does.
    fn found(old: &Value, new: &Value, record: &str) -> Vec<Finding> {
        let mut records = Records::default();
        records.add("0042-a-change.md", record);
        Classifier::honest().compare(old, new, &records)
    }

    #[test]
    fn the_promises_of_the_last_release_are_kept() {
        check(&Workspace::open().expect("the workspace opens")).expect("nothing breaks");
    }

    #[test]
    fn arguments_are_told_apart() {
        let workspace = Workspace::open().expect("the workspace opens");
        let refusal = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
            let error = run(&workspace, &arguments).expect_err("it is refused");
            format!("{error:#}")
        };
        for wrong in [
            &["--release"][..],
            &["--json", "a"],
            &[CURRENT],
            &[CURRENT, CURRENT, CURRENT],
        ] {
            assert!(refusal(wrong).contains("usage:"), "{wrong:?}");
        }
        assert!(refusal(&["no-such-file", CURRENT]).contains("no-such-file"));
        assert!(refusal(&["--release", "next"]).contains("not a version"));
        let current = workspace.root.join(CURRENT).display().to_string();
        let same = [current.clone(), current];
        run(&workspace, &same).expect("a snapshot equals itself");
    }

    #[test]
    fn a_breaking_difference_between_two_files_is_an_error() {
        let workspace = Workspace::open().expect("the workspace opens");
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, cap: u64| {
            let path = folder.path().join(name);
            let text = json!({ "limits": { "MAX": cap } }).to_string();
            std::fs::write(&path, text).expect("a file");
            path.to_string_lossy().into_owned()
        };
        let (low, high) = (write("low", 1), write("high", 2));
        run(&workspace, &[low.clone(), high.clone()]).expect("a raised cap is additive");
        let error = run(&workspace, &[high, low]).expect_err("a lowered cap breaks");
        assert_eq!(
            error.to_string(),
            "breaking deltas: 1; what each of them asks for stands above"
        );
    }

    #[test]
    fn a_finding_tells_the_delta_the_reason_and_what_to_do() {
        let low = json!({ "limits": { "MAX": 1 } });
        let high = json!({ "limits": { "MAX": 2 } });
        let told = |old: &Value, new: &Value, record: &str| -> String {
            found(old, new, record).iter().map(report::tell).collect()
        };
        let raised = told(&low, &high, "");
        assert!(raised.starts_with("additive ~limits/MAX\n    was:  1\n    now:  2\n    why:  "));
        assert!(raised.contains("\n    rust: no semver change"));
        assert!(raised.contains("\n    do:   nothing but a line in CHANGELOG.md"));
        let lowered = told(&high, &low, "");
        assert!(lowered.starts_with("breaking ~limits/MAX\n"));
        assert!(lowered.contains("take the change back"));
        assert!(lowered.contains("`Contract: ~limits/MAX`"));
        let recorded = told(&high, &low, "Contract: ~limits/MAX");
        assert!(recorded.starts_with("breaking "));
        assert!(recorded.contains("docs/decisions/0042-a-change.md records it: release"));

        let none = json!({ "limits": {} });
        let added = told(&none, &low, "");
        assert!(added.starts_with("breaking +limits/MAX\n    now:  1\n"));
        assert!(added.contains("until a decision names it"));
        assert!(added.contains("`Contract: +limits/MAX`"));
        let added = told(&none, &low, "Contract: +limits/MAX");
        assert!(added.starts_with("additive +limits/MAX\n"));
        assert!(added.contains("nothing: docs/decisions/0042-a-change.md records it"));
        let removed = told(&low, &none, "");
        assert!(removed.starts_with("breaking -limits/MAX\n    was:  1\n    why:"));
        assert!(removed.contains("semver-major"));
    }
}
