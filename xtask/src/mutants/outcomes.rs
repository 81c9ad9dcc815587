//! Reads what cargo-mutants found out. Which outcome is acceptable is decided elsewhere.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

/// A change of the product, by a name that survives an edit elsewhere in the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MutantName {
    /// Relative to the workspace, with `/`.
    pub(super) file: String,
    /// For example `replace < with <= in scan (2 of 3)`: the second of three changes of that
    /// description, in the order of the file.
    pub(super) change: String,
}

impl MutantName {
    /// Whether the file belongs to a package of the workspace.
    pub(super) fn is_in_package(&self, package: &str) -> bool {
        self.file
            .strip_prefix("crates/")
            .and_then(|rest| rest.strip_prefix(package))
            .is_some_and(|rest| rest.starts_with('/'))
    }
}

impl fmt::Display for MutantName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.file, self.change)
    }
}

/// A mutant and what became of it.
#[derive(Clone, Debug)]
pub(super) struct Mutant {
    pub(super) name: MutantName,
    pub(super) line: u64,
    column: u64,
    pub(super) package: String,
    pub(super) fate: Fate,
}

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// A test failed.
    Caught,
    /// The tests didn't come to an end, which a person would notice too.
    TimedOut,
    /// It doesn't compile, so there is nothing to test.
    Unviable,
    /// Every test passed.
    Survived,
}

/// What one run of the tool found.
#[derive(Debug)]
pub(super) struct Outcomes {
    /// The day on which the run ended, as `2026-12-31`, in UTC.
    pub(super) date: String,
    pub(super) mutants: Vec<Mutant>,
}

/// Reads `outcomes.json`; the mutants come in the order of their files and positions.
///
/// # Errors
///
/// When the tests fail without any mutation, when the run did not come to its end, and when the
/// text is not what cargo-mutants writes.
pub(super) fn parse(text: &str) -> Result<Outcomes> {
    let file: File = serde_json::from_str(text)?;
    let end_time = file.end_time.context("the run did not come to its end")?;
    let (date, _) = end_time
        .split_once('T')
        .with_context(|| format!("`{end_time}` is no time"))?;
    let mut mutants = Vec::new();
    let mut has_baseline = false;
    for outcome in file.outcomes {
        match outcome.scenario {
            Scenario::Baseline => {
                has_baseline = outcome.summary == Summary::Success;
            }
            Scenario::Mutant(record) => mutants.push(mutant(record, outcome.summary)?),
        }
    }
    if !has_baseline {
        bail!("the tests do not pass without a mutation");
    }
    // The tool's own order is that of the syntax tree, where an outer operator comes first.
    mutants.sort_by(|left, right| {
        let key = |mutant: &Mutant| (mutant.line, mutant.column);
        left.name
            .file
            .cmp(&right.name.file)
            .then_with(|| key(left).cmp(&key(right)))
    });
    number_namesakes(&mut mutants);
    Ok(Outcomes {
        date: date.to_owned(),
        mutants,
    })
}

#[derive(Deserialize)]
struct File {
    outcomes: Vec<Outcome>,
    end_time: Option<String>,
}

#[derive(Deserialize)]
struct Outcome {
    scenario: Scenario,
    summary: Summary,
}

#[derive(Deserialize)]
enum Scenario {
    Baseline,
    Mutant(Record),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Summary {
    Success,
    CaughtMutant,
    MissedMutant,
    Unviable,
    Failure,
    Timeout,
}

#[derive(Deserialize)]
struct Record {
    /// `FILE:LINE:COLUMN: CHANGE`
    name: String,
    package: String,
    file: String,
    span: Span,
}

#[derive(Deserialize)]
struct Span {
    start: Position,
}

#[derive(Deserialize)]
struct Position {
    line: u64,
    column: u64,
}

fn mutant(record: Record, summary: Summary) -> Result<Mutant> {
    let Position { line, column } = record.span.start;
    let change = record
        .name
        .strip_prefix(&format!("{}:{line}:{column}: ", record.file))
        .with_context(|| format!("`{}` does not begin with its position", record.name))?
        .to_owned();
    let fate = match summary {
        Summary::CaughtMutant => Fate::Caught,
        Summary::MissedMutant => Fate::Survived,
        Summary::Unviable => Fate::Unviable,
        Summary::Timeout => Fate::TimedOut,
        Summary::Success | Summary::Failure => {
            bail!("`{}` was not tested to its end", record.name)
        }
    };
    Ok(Mutant {
        name: MutantName {
            file: record.file,
            change,
        },
        line,
        column,
        package: record.package,
        fate,
    })
}

/// Tells apart the mutants of one file that have the same description; they come in order.
fn number_namesakes(mutants: &mut [Mutant]) {
    let mut totals: BTreeMap<MutantName, u32> = BTreeMap::new();
    for mutant in mutants.iter() {
        *totals.entry(mutant.name.clone()).or_default() += 1;
    }
    let mut seen: BTreeMap<MutantName, u32> = BTreeMap::new();
    for mutant in mutants {
        let total = totals[&mutant.name];
        let ordinal = seen.entry(mutant.name.clone()).or_default();
        *ordinal += 1;
        if total > 1 {
            mutant.name.change = format!("{} ({ordinal} of {total})", mutant.name.change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a real run wrote, without the parts that nothing reads.
    const FIXTURE: &str = include_str!("outcomes.json");

    fn failure(text: &str) -> String {
        parse(text).expect_err("it is refused").to_string()
    }

    #[test]
    fn each_outcome_has_its_fate() {
        let Outcomes { date, mutants } = parse(FIXTURE).expect("the fixture can be read");
        assert_eq!(date, "2026-11-30");
        let found: Vec<(String, u64, &str, Fate)> = mutants
            .iter()
            .map(|mutant| {
                let package = mutant.package.as_str();
                (mutant.name.to_string(), mutant.line, package, mutant.fate)
            })
            .collect();
        let check = |index: usize, name: &str, line: u64, fate: Fate| {
            let expected = (
                format!("crates/piton-ledger/src/{name}"),
                line,
                "piton-ledger",
                fate,
            );
            assert_eq!(found[index], expected);
        };
        check(
            0,
            "digest.rs: replace ChainHead::from_bytes -> Self with Default::default()",
            40,
            Fate::Unviable,
        );
        check(
            1,
            "digest.rs: replace << with >> in from_hex",
            147,
            Fate::Caught,
        );
        check(
            2,
            "digest.rs: replace | with ^ in from_hex",
            147,
            Fate::Survived,
        );
        check(
            3,
            "json/number.rs: replace < with <= in scan (1 of 2)",
            31,
            Fate::TimedOut,
        );
        check(
            4,
            "json/number.rs: replace < with <= in scan (2 of 2)",
            35,
            Fate::Survived,
        );
        assert_eq!(found.len(), 5);
    }

    #[test]
    fn a_failing_baseline_is_refused() {
        let text = FIXTURE.replacen(r#""summary": "Success""#, r#""summary": "Failure""#, 1);
        assert!(failure(&text).contains("without a mutation"));
        let text = FIXTURE.replacen(r#""scenario": "Baseline""#, r#""scenario": "Bassline""#, 1);
        parse(&text).expect_err("it is no scenario");
        let text = r#"{"outcomes": [], "end_time": "2026-11-30T21:45:00Z"}"#;
        assert!(failure(text).contains("without a mutation"));
    }

    #[test]
    fn a_run_that_was_cut_short_is_refused() {
        let text = FIXTURE.replace(
            r#""end_time": "2026-11-30T21:45:00Z""#,
            r#""end_time": null"#,
        );
        assert!(failure(&text).contains("come to its end"));
    }

    #[test]
    fn a_mutant_without_a_result_is_refused() {
        for summary in ["Success", "Failure"] {
            let text = FIXTURE.replace(
                r#""summary": "Unviable""#,
                &format!(r#""summary": "{summary}""#),
            );
            assert!(failure(&text).contains("was not tested to its end"));
        }
        let text = FIXTURE.replace(r#""summary": "Unviable""#, r#""summary": "Unheard""#);
        parse(&text).expect_err("it is no summary");
    }

    #[test]
    fn a_name_without_its_position_is_refused() {
        let text = FIXTURE.replace(r#""name": "crates/"#, r#""name": "crate/"#);
        assert!(failure(&text).contains("does not begin with its position"));
    }

    #[test]
    fn a_file_belongs_to_one_package() {
        let name = MutantName {
            file: "crates/piton-store/src/row.rs".to_owned(),
            change: String::new(),
        };
        assert!(name.is_in_package("piton-store"));
        assert!(!name.is_in_package("piton"));
        assert!(!name.is_in_package("piton-chain"));
    }
}
