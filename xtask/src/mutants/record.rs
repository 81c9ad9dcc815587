//! Publishes the score: `docs/mutation.json`, and the page that is made from it.
//!
//! It judges nothing and runs nothing; what it is given has been compared with the list before.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::SUITES;
use super::report::Tally;

const JSON: &str = "docs/mutation.json";
const PAGE: &str = "docs/mutation.md";

/// One whole run of each package.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) tool: String,
    pub(super) packages: BTreeMap<String, Run>,
}

/// The run of one package.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Run {
    /// The day on which it ended, in UTC.
    pub(super) date: String,
    pub(super) tested_by: Vec<String>,
    pub(super) tally: Tally,
}

impl Record {
    /// Reads what is on record.
    ///
    /// # Errors
    ///
    /// When the file can't be read.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let json =
            fs::read_to_string(root.join(JSON)).with_context(|| format!("{JSON} is missing"))?;
        serde_json::from_str(&json).with_context(|| format!("{JSON} can't be read"))
    }

    /// Writes both files.
    ///
    /// # Errors
    ///
    /// When a file can't be written.
    pub(super) fn write(&self, root: &Path) -> Result<()> {
        let mut json = serde_json::to_string_pretty(self)?;
        json.push('\n');
        for (name, content) in [(JSON, json), (PAGE, self.page()?)] {
            fs::write(root.join(name), content)
                .with_context(|| format!("{name} could not be written"))?;
        }
        Ok(())
    }

    /// Words the page.
    fn page(&self) -> Result<String> {
        let mut page = "\
# Evidence: changed lines

What a test notices of a wrong line. \
`cargo xtask mutants` changes the core one expression at a time, \
builds it and runs the tests of the crates named below; a change that no test notices survives.

| crate | mutants | caught | timed out | do not compile | survivors, all listed | noticed | \
run on | tested by |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |
"
        .to_owned();
        let mut all = Tally::default();
        for (name, run) in &self.packages {
            all.add(run.tally);
            let tested_by: Vec<String> =
                run.tested_by.iter().map(|one| format!("`{one}`")).collect();
            let (cells, date, tested_by) = (cells(run.tally), &run.date, tested_by.join(", "));
            writeln!(page, "| `{name}` | {cells} | {date} | {tested_by} |")?;
        }
        writeln!(page, "| all | {} | | |", cells(all))?;
        let missing: Vec<String> = SUITES
            .iter()
            .filter(|suite| !self.packages.contains_key(suite.package))
            .map(|suite| format!("`{}`", suite.package))
            .collect();
        if !missing.is_empty() {
            writeln!(
                page,
                "\nOf {} no whole run is on record.",
                missing.join(", ")
            )?;
        }
        write!(
            page,
            "
A survivor is listed in `.config/mutants.txt` with the reason why no test can tell it from the \
product; one that is missing there fails the command, and so does an entry that is caught by now.
A change with which the tests never end counts as noticed.
The share is of those that compile.

Taken with {}. A whole run takes some hours; this page is written from what it left by

```sh
cargo xtask mutants
cargo xtask mutants --record
```

Not covered:

- The engines `piton-sqlite` and `piton-postgres`, the command line, and the features `sqlx` and \
`postgres-types` of `piton-ledger`.
- Changes that the tool does not make: it replaces bodies, operators, match arms and guards, \
not constants or the order of statements.
- Doc tests, and two slow tests over every code point and a million doubles: they judge no mutant.
",
            self.tool
        )?;
        Ok(page)
    }
}

fn cells(tally: Tally) -> String {
    format!(
        "{} | {} | {} | {} | {} | {}",
        tally.mutants(),
        tally.caught,
        tally.timed_out,
        tally.unviable,
        tally.survived,
        tally.percentage(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::accepted;
    use super::*;
    use crate::workspace::Workspace;

    fn committed() -> (Workspace, Record) {
        let workspace = Workspace::open().expect("the workspace opens");
        let record = Record::read(&workspace.root).expect("the record is committed");
        (workspace, record)
    }

    #[test]
    fn the_page_says_what_the_json_says() {
        let (workspace, record) = committed();
        let page = fs::read_to_string(workspace.root.join(PAGE)).expect("the page is committed");
        assert_eq!(
            page,
            record.page().expect("text can be written"),
            "{PAGE} is made from {JSON} by `cargo xtask mutants --record`; edit neither"
        );
    }

    #[test]
    fn each_package_is_on_record_with_its_judges_or_named_as_missing() {
        let (_, record) = committed();
        let page = record.page().expect("text can be written");
        for suite in SUITES {
            match record.packages.get(suite.package) {
                Some(run) => assert_eq!(run.tested_by, suite.tested_by, "{}", suite.package),
                None => {
                    let missing = page.lines().find(|line| line.contains("no whole run"));
                    let missing = missing.expect("what is missing is said");
                    assert!(missing.contains(suite.package), "{}", suite.package);
                }
            }
        }
    }

    #[test]
    fn the_list_names_exactly_the_recorded_survivors() {
        let (workspace, record) = committed();
        let accepted = accepted(&workspace).expect("the list can be read");
        for (package, run) in record.packages {
            let listed = accepted
                .iter()
                .filter(|entry| entry.name.is_in_package(&package))
                .count();
            assert_eq!(
                u32::try_from(listed).expect("few"),
                run.tally.survived,
                "{package}: the list or the record is old; run `cargo xtask mutants {package}` \
                 and `cargo xtask mutants --record`"
            );
        }
    }
}
