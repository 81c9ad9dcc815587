//! `cargo xtask mutants`: changes the product line by line and demands that a test notices.
//!
//! Owns which packages are mutated and whose tests judge them. Reading cargo-mutants' outcomes,
//! the list of accepted survivors and the comparison of both have files of their own. How a
//! mutant is built and tested stands in `.cargo/mutants.toml`.

mod accepted;
mod outcomes;
mod record;
mod report;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use xshell::cmd;

use crate::process::{self, CommandFailed};
use crate::tool::Tool;
use crate::workspace::Workspace;

use self::accepted::Accepted;
use self::outcomes::Outcomes;
use self::record::{Record, Run};

/// The release whose mutants `.config/mutants.txt` names; another may make others.
const MUTANTS: Tool = Tool {
    name: "cargo-mutants",
    version: "27.1.0",
};

/// The survivors that are accepted, each with its reason.
const ACCEPTED: &str = ".config/mutants.txt";

/// A package that is mutated, and those whose tests have to notice.
struct Suite {
    package: &'static str,
    /// The package's own name too. No engine among them: building one takes longer than the rest.
    tested_by: &'static [&'static str],
}

const SUITES: &[Suite] = &[
    Suite {
        package: "piton-ledger",
        tested_by: &["piton-ledger"],
    },
    Suite {
        package: "piton-chain",
        tested_by: &["piton-chain"],
    },
    Suite {
        package: "piton-redact",
        tested_by: &["piton-redact"],
    },
    Suite {
        package: "piton-store",
        tested_by: &[
            "piton-store",
            "piton-memory",
            "piton-verify",
            "piton-testkit",
        ],
    },
    Suite {
        package: "piton-verify",
        tested_by: &["piton-verify", "piton-testkit"],
    },
    Suite {
        package: "piton-memory",
        tested_by: &["piton-memory", "piton-verify", "piton-testkit"],
    },
];

/// Mutates the named packages, or all of them, and prints the score.
///
/// # Errors
///
/// A survivor that the list doesn't name, an entry of the list that no longer survives, and
/// tests that fail without any mutation.
pub(crate) fn run(workspace: &Workspace, packages: &[String]) -> Result<()> {
    let suites = chosen(packages)?;
    let accepted = accepted(workspace)?;
    let program = MUTANTS.installed(workspace)?;
    let mut mutants = Vec::new();
    for suite in &suites {
        test_suite(workspace, &program, suite)?;
        mutants.extend(outcomes(workspace, suite)?.mutants);
    }
    let packages: Vec<&str> = suites.iter().map(|suite| suite.package).collect();
    let report = report::compare(&packages, &mutants, &accepted);
    print!("{report}");
    report.judge(ACCEPTED)
}

/// Publishes the score of every package whose last run is still there, without another run. Of a
/// package that was not run here, what is on record stays, with its day.
///
/// # Errors
///
/// A run that did not come to its end, and what [`run`] refuses.
pub(crate) fn record(workspace: &Workspace) -> Result<()> {
    let accepted = accepted(workspace)?;
    let mut packages = BTreeMap::new();
    let mut earlier = Record::read(&workspace.root)?.packages;
    for suite in SUITES {
        if !outcomes_file(workspace, suite).exists() {
            if let Some(run) = earlier.remove(suite.package) {
                eprintln!(
                    "{} was not run here: its run of {} stays",
                    suite.package, run.date
                );
                packages.insert(suite.package.to_owned(), run);
            }
            continue;
        }
        let Outcomes { date, mutants } = outcomes(workspace, suite)?;
        let report = report::compare(&[suite.package], &mutants, &accepted);
        report.judge(ACCEPTED)?;
        let tally = report
            .tally(suite.package)
            .with_context(|| format!("the last run of {} was of another", suite.package))?;
        let tested_by = suite.tested_by.iter().map(|&one| one.to_owned()).collect();
        let run = Run {
            date,
            tested_by,
            tally,
        };
        packages.insert(suite.package.to_owned(), run);
    }
    let tool = format!("{} {}", MUTANTS.name, MUTANTS.version);
    Record { tool, packages }.write(&workspace.root)
}

fn chosen(packages: &[String]) -> Result<Vec<&'static Suite>> {
    if packages.is_empty() {
        return Ok(SUITES.iter().collect());
    }
    packages
        .iter()
        .map(|package| {
            SUITES
                .iter()
                .find(|suite| suite.package == package)
                .with_context(|| {
                    let known: Vec<&str> = SUITES.iter().map(|suite| suite.package).collect();
                    format!(
                        "`{package}` is not mutated; these are: {}",
                        known.join(", ")
                    )
                })
        })
        .collect()
}

fn accepted(workspace: &Workspace) -> Result<Vec<Accepted>> {
    let path = workspace.root.join(ACCEPTED);
    let text = fs::read_to_string(&path)
        .with_context(|| format!("{} could not be read", path.display()))?;
    accepted::parse(&text).with_context(|| format!("{ACCEPTED} could not be understood"))
}

/// Where the tool leaves what it did to one package.
fn output(workspace: &Workspace, suite: &Suite) -> PathBuf {
    workspace.root.join("target/mutants").join(suite.package)
}

fn outcomes_file(workspace: &Workspace, suite: &Suite) -> PathBuf {
    output(workspace, suite).join("mutants.out/outcomes.json")
}

/// Tests every mutant of one package.
fn test_suite(workspace: &Workspace, program: &Path, suite: &Suite) -> Result<()> {
    let package = suite.package;
    let tested_by = suite.tested_by.join(",");
    let output = output(workspace, suite);
    let outcomes = outcomes_file(workspace, suite);
    // An old answer must not be taken for the new one if the tool stops before it writes.
    if outcomes.exists() {
        fs::remove_file(&outcomes)?;
    }
    fs::create_dir_all(&output)?;
    // Each run works on a copy of the source, but the dependencies are built only once. Two
    // mutants can't share a folder at the same time, hence a single job.
    let build = workspace.root.join("target/mutants/build");
    let shell = &workspace.shell;
    let tested = process::run(
        cmd!(
            shell,
            "{program} mutants --jobs 1 --package {package} --test-package {tested_by} --output {output}"
        )
        .env("CARGO_TARGET_DIR", build),
    );
    match tested {
        Err(error) if !is_a_finding(&error) => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Reads what became of the mutants of one package in its last run.
fn outcomes(workspace: &Workspace, suite: &Suite) -> Result<Outcomes> {
    let path = outcomes_file(workspace, suite);
    let text = fs::read_to_string(&path)
        .with_context(|| format!("{} could not be read", path.display()))?;
    let outcomes = outcomes::parse(&text)
        .with_context(|| format!("{} could not be understood", path.display()))?;
    if outcomes.mutants.is_empty() {
        bail!("{} has no mutants", suite.package);
    }
    Ok(outcomes)
}

/// Whether the tool ended because some mutants survived or timed out, which the report judges.
fn is_a_finding(error: &anyhow::Error) -> bool {
    const SURVIVORS: i32 = 2;
    const TIME_OUTS: i32 = 3;
    error
        .downcast_ref::<CommandFailed>()
        .and_then(CommandFailed::code)
        .is_some_and(|code| matches!(code, SURVIVORS | TIME_OUTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_names_every_package_is_mutated() {
        let all = chosen(&[]).expect("no name is a wrong one");
        assert_eq!(all.len(), SUITES.len());
        let one = chosen(&["piton-verify".to_owned()]).expect("it is mutated");
        assert_eq!(one.len(), 1);
        assert_eq!(one[0].package, "piton-verify");
    }

    #[test]
    fn an_unknown_package_is_refused_with_the_names_of_all() {
        let Err(error) = chosen(&["piton-nothing".to_owned()]) else {
            panic!("it is no package");
        };
        let message = error.to_string();
        assert!(message.contains("piton-nothing"), "{message}");
        for suite in SUITES {
            assert!(message.contains(suite.package), "{message}");
        }
    }

    #[test]
    fn a_packages_own_tests_are_among_its_judges() {
        for suite in SUITES {
            assert!(
                suite.tested_by.contains(&suite.package),
                "{}",
                suite.package
            );
        }
    }

    #[test]
    fn every_entry_of_the_list_belongs_to_a_mutated_package() {
        let workspace = Workspace::open().expect("the workspace opens");
        for entry in accepted(&workspace).expect("the committed list can be read") {
            assert!(
                SUITES
                    .iter()
                    .any(|suite| entry.name.is_in_package(suite.package)),
                "{}",
                entry.name
            );
            assert!(
                workspace.root.join(&entry.name.file).is_file(),
                "{}",
                entry.name
            );
        }
    }

    #[test]
    fn only_survivors_and_time_outs_are_left_to_the_report() {
        #[track_caller]
        fn check(code: &str, expected: bool) {
            let shell = xshell::Shell::new().expect("the working directory is readable");
            let script = format!("exit {code}");
            let error = process::run(cmd!(shell, "sh -c {script}")).expect_err("it fails");
            assert_eq!(is_a_finding(&error), expected, "{code}");
        }
        check("1", false);
        check("2", true);
        check("3", true);
        check("4", false);
        check("70", false);
        assert!(!is_a_finding(&anyhow::anyhow!("not started")));
    }
}
