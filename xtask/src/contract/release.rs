//! `cargo xtask contract --release VERSION`: notes what a release promises.
//!
//! Owns when that is refused: a release keeps what earlier ones promised, or says by its records
//! and its version that it does not.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use xshell::cmd;

use super::classify::{Class, Classifier, Finding, Semver};
use super::rules::Contract;
use super::snapshot::{self, CURRENT, Version};
use super::{findings, tell};
use crate::workspace::Workspace;

/// Copies the golden of now to where the next comparison looks for the last release.
pub(super) fn run(workspace: &Workspace, version: Version) -> Result<()> {
    let shell = &workspace.shell;
    let tag = format!("v{version}");
    if !cmd!(shell, "git tag --list {tag}")
        .quiet()
        .read()?
        .is_empty()
    {
        bail!("{tag} is released, and what a release promised is never rewritten");
    }
    let earlier = snapshot::releases(&workspace.root)?
        .into_iter()
        .rfind(|other| *other < version);
    let current = Path::new(CURRENT);
    if let Some(earlier) = earlier {
        let classifier = Classifier::honest();
        let findings = findings(workspace, &classifier, &earlier.file(), current)?;
        tell(&findings, &earlier.file(), current);
        if let Some(hindrance) = hindrance(&findings, earlier, version) {
            bail!("{hindrance}");
        }
    } else {
        snapshot::read(&workspace.root.join(current))?;
    }
    let file = version.file();
    std::fs::copy(workspace.root.join(current), workspace.root.join(&file))
        .with_context(|| format!("{} can't be written", file.display()))?;
    println!("contract: wrote {}", file.display());
    Ok(())
}

/// Says why a version can't promise what the findings lead to, if it can't.
fn hindrance(findings: &[Finding], earlier: Version, version: Version) -> Option<String> {
    let needs_record = |finding: &&Finding| match finding.rule.contract {
        Contract::Additive => false,
        Contract::Recorded | Contract::Breaking => finding.record.is_none(),
    };
    if let Some(finding) = findings.iter().find(needs_record) {
        return Some(format!(
            "no decision record names `Contract: {}`",
            finding.delta
        ));
    }
    let breaks =
        |finding: &&Finding| finding.class == Class::Breaking || finding.semver == Semver::Major;
    let first = findings.iter().find(breaks)?;
    (!version.may_break(earlier)).then(|| {
        format!(
            "`{}` breaks somebody, which {version} after {earlier} may not: raise the major \
             number, or the minor one before 1.0.0",
            first.delta
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use xshell::Shell;

    use super::*;
    use crate::contract::check;
    use crate::contract::records::{FOLDER, Records};
    use crate::contract::snapshot::RELEASES;

    fn found(old: &Value, new: &Value, record: &str) -> Vec<Finding> {
        let mut records = Records::default();
        records.add("0042-a-change.md", record);
        Classifier::honest().compare(old, new, &records)
    }

    #[test]
    fn a_release_needs_records_and_a_version_that_may_break() {
        let check = |found: &[Finding], version: &str, expected: Option<&str>| {
            let earlier = "0.1.0".parse().expect("a version");
            let hindrance = hindrance(found, earlier, version.parse().expect("a version"));
            match (&hindrance, expected) {
                (None, None) => {}
                (Some(hindrance), Some(words)) => assert!(hindrance.contains(words), "{hindrance}"),
                (_, _) => panic!("{hindrance:?}, not {expected:?}"),
            }
        };
        let low = json!({ "limits": { "MAX": 1 } });
        let high = json!({ "limits": { "MAX": 2 } });
        check(&found(&low, &high, ""), "0.1.1", None);
        let lowered = found(&high, &low, "");
        check(&lowered, "0.2.0", Some("Contract: ~limits/MAX"));
        let recorded = found(&high, &low, "Contract: ~limits/MAX");
        check(&recorded, "0.2.0", None);
        check(&recorded, "0.1.1", Some("may not"));

        let closed = |variants: Value| json!({ "types": { "A": { "openness": "closed", "variants": variants } } });
        let (few, more) = (closed(json!({})), closed(json!({ "b": {} })));
        let unrecorded = found(&few, &more, "");
        check(&unrecorded, "0.2.0", Some("Contract: +types/A/variants/b"));
        let recorded = found(&few, &more, "Contract: +types/A/variants/b");
        check(&recorded, "0.1.1", Some("may not"));
        check(&recorded, "0.2.0", None);
    }

    /// A repository with nothing in it but a contract.
    struct Repository {
        workspace: Workspace,
        folder: tempfile::TempDir,
    }

    impl Repository {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let shell = Shell::new().expect("a shell");
            shell.change_dir(folder.path());
            cmd!(shell, "git init --quiet").run().expect("a repository");
            for needed in [FOLDER, RELEASES, "goldens"] {
                std::fs::create_dir_all(folder.path().join(needed)).expect("a folder");
            }
            let root = folder.path().to_path_buf();
            let workspace = Workspace { shell, root };
            Self { workspace, folder }
        }

        fn write(&self, file: &str, text: &str) {
            std::fs::write(self.folder.path().join(file), text).expect("a file");
        }

        fn promise(&self, cap: u64) {
            let text = json!({ "limits": { "MAX": cap } }).to_string();
            self.write(CURRENT, &text);
        }

        fn record(&self, text: &str) {
            self.write(&format!("{FOLDER}/0001-a-change.md"), text);
        }

        fn release(&self, version: &str) -> Result<()> {
            run(&self.workspace, version.parse()?)
        }

        #[track_caller]
        fn check_refused(&self, version: &str, words: &str) {
            let file = self
                .folder
                .path()
                .join(format!("{RELEASES}/contract-{version}.snap"));
            let before = std::fs::read(&file).ok();
            let message = self
                .release(version)
                .expect_err("it is refused")
                .to_string();
            assert!(message.contains(words), "{message}");
            assert_eq!(std::fs::read(&file).ok(), before, "the file has changed");
        }
    }

    #[test]
    fn the_first_release_promises_what_there_is() {
        let repository = Repository::new();
        let none = check(&repository.workspace).expect_err("nothing to compare with");
        assert_eq!(none.to_string(), "no release has a snapshot");
        repository.write(CURRENT, "not a snapshot");
        assert!(repository.release("0.1.0").is_err());
        repository.promise(2);
        repository
            .release("0.1.0")
            .expect("nothing is promised yet");
        check(&repository.workspace).expect("nothing has changed");
        repository.promise(1);
        check(&repository.workspace).expect_err("a cap is lower");
        repository.release("0.1.0").expect("it is not out yet");
        check(&repository.workspace).expect("this is what it promises now");
    }

    #[test]
    fn what_is_out_is_not_rewritten() {
        let repository = Repository::new();
        repository.promise(2);
        repository
            .release("0.1.0")
            .expect("nothing is promised yet");
        let shell = &repository.workspace.shell;
        let object = cmd!(shell, "git hash-object -w --stdin").stdin("").read();
        let object = object.expect("an object");
        cmd!(shell, "git tag v0.1.0 {object}").run().expect("a tag");
        repository.check_refused("0.1.0", "v0.1.0 is released");
        repository.release("0.1.1").expect("nothing has changed");
    }

    #[test]
    fn a_release_is_held_to_the_one_before_it() {
        let repository = Repository::new();
        repository.promise(2);
        repository
            .release("0.1.0")
            .expect("nothing is promised yet");
        repository.promise(1);
        repository.check_refused("0.2.0", "no decision record");
        repository.record("Contract: ~limits/MAX");
        repository.check_refused("0.1.1", "may not");
        repository
            .release("0.2.0")
            .expect("it is recorded, and may break");
        check(&repository.workspace).expect("the newest release counts");
        // To prepare it again is to compare with the one before, and not with itself.
        repository.record("");
        repository.check_refused("0.2.0", "no decision record");
    }
}
