//! Compares what survived with what may survive, and words the result.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use super::accepted::Accepted;
use super::outcomes::{Fate, Mutant};

/// The score of a run, and where it differs from the list.
#[derive(Debug)]
pub(super) struct Report {
    tallies: BTreeMap<String, Tally>,
    /// Survivors that the list doesn't name, with their lines.
    unlisted: Vec<String>,
    /// Entries of the list whose mutant was caught or is gone.
    stale: Vec<String>,
}

/// How many mutants had which fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) caught: u32,
    pub(super) timed_out: u32,
    pub(super) unviable: u32,
    pub(super) survived: u32,
}

impl Tally {
    fn count(&mut self, fate: Fate) {
        let counter = match fate {
            Fate::Caught => &mut self.caught,
            Fate::TimedOut => &mut self.timed_out,
            Fate::Unviable => &mut self.unviable,
            Fate::Survived => &mut self.survived,
        };
        *counter += 1;
    }

    pub(super) fn add(&mut self, other: Self) {
        self.caught += other.caught;
        self.timed_out += other.timed_out;
        self.unviable += other.unviable;
        self.survived += other.survived;
    }

    /// Mutants that compile: the others have nothing that a test could notice.
    fn viable(self) -> u32 {
        self.caught + self.timed_out + self.survived
    }

    pub(super) fn mutants(self) -> u32 {
        self.viable() + self.unviable
    }

    /// Tenths of a percent of the viable mutants that were noticed, rounded down so that only a
    /// full score reads as one.
    fn score(self) -> Option<u32> {
        ((self.caught + self.timed_out) * 1000).checked_div(self.viable())
    }

    /// Words the score.
    pub(super) fn percentage(self) -> String {
        self.score().map_or_else(
            || "-".to_owned(),
            |tenths| format!("{}.{} %", tenths / 10, tenths % 10),
        )
    }
}

/// Compares the mutants of some packages with the part of the list that is about these packages.
pub(super) fn compare(packages: &[&str], mutants: &[Mutant], accepted: &[Accepted]) -> Report {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for mutant in mutants {
        tallies
            .entry(mutant.package.clone())
            .or_default()
            .count(mutant.fate);
    }
    let survivors: Vec<&Mutant> = mutants
        .iter()
        .filter(|mutant| mutant.fate == Fate::Survived)
        .collect();
    let unlisted = survivors
        .iter()
        .filter(|mutant| accepted.iter().all(|entry| entry.name != mutant.name))
        .map(|mutant| format!("{} [line {}]", mutant.name, mutant.line))
        .collect();
    let stale = accepted
        .iter()
        .filter(|entry| {
            packages
                .iter()
                .any(|package| entry.name.is_in_package(package))
        })
        .filter(|entry| survivors.iter().all(|mutant| mutant.name != entry.name))
        .map(|entry| entry.name.to_string())
        .collect();
    Report {
        tallies,
        unlisted,
        stale,
    }
}

impl Report {
    /// Gives the counts of one package.
    pub(super) fn tally(&self, package: &str) -> Option<Tally> {
        self.tallies.get(package).copied()
    }

    /// Turns the differences into one error that names them all.
    ///
    /// # Errors
    ///
    /// A survivor that the list doesn't name, and an entry that doesn't survive.
    pub(super) fn judge(&self, list: &str) -> Result<()> {
        let mut findings = Vec::new();
        if !self.unlisted.is_empty() {
            findings.push(format!(
                "no test notices these changes; write one, or give the reason in {list} why none \
                 can:\n  {}",
                self.unlisted.join("\n  ")
            ));
        }
        if !self.stale.is_empty() {
            findings.push(format!(
                "these entries of {list} no longer survive; remove them:\n  {}",
                self.stale.join("\n  ")
            ));
        }
        if !findings.is_empty() {
            bail!("{}", findings.join("\n"));
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{:<16}{:>9}{:>9}{:>11}{:>10}{:>11}{:>9}",
            "package", "mutants", "caught", "timed out", "unviable", "survivors", "score"
        )?;
        let mut all = Tally::default();
        for (package, tally) in &self.tallies {
            all.add(*tally);
            line(formatter, package, *tally)?;
        }
        line(formatter, "all", all)
    }
}

fn line(formatter: &mut fmt::Formatter<'_>, name: &str, tally: Tally) -> fmt::Result {
    let score = tally.percentage();
    writeln!(
        formatter,
        "{name:<16}{:>9}{:>9}{:>11}{:>10}{:>11}{score:>9}",
        tally.mutants(),
        tally.caught,
        tally.timed_out,
        tally.unviable,
        tally.survived,
    )
}

#[cfg(test)]
mod tests {
    use super::super::{accepted, outcomes};
    use super::*;

    const FIXTURE: &str = include_str!("outcomes.json");
    const SURVIVORS: &str = "\
crates/piton-ledger/src/digest.rs: replace | with ^ in from_hex
  the halves share no bit
crates/piton-ledger/src/json/number.rs: replace < with <= in scan (2 of 2)
  both take the same way
";

    fn report(packages: &[&str], list: &str) -> Report {
        let mutants = outcomes::parse(FIXTURE)
            .expect("the fixture can be read")
            .mutants;
        let accepted = accepted::parse(list).expect("the list is in order");
        compare(packages, &mutants, &accepted)
    }

    fn failure(report: &Report) -> String {
        report
            .judge("the list")
            .expect_err("it differs from the list")
            .to_string()
    }

    #[test]
    fn listed_survivors_are_accepted() {
        let report = report(&["piton-ledger"], SURVIVORS);
        report.judge("the list").expect("every survivor is listed");
    }

    #[test]
    fn an_unlisted_survivor_fails_and_is_named_with_its_line() {
        let (first, _) = SURVIVORS
            .split_once("crates/piton-ledger/src/json")
            .expect("the second entry is about json");
        let message = failure(&report(&["piton-ledger"], first));
        let survivor = "json/number.rs: replace < with <= in scan (2 of 2) [line 35]";
        assert!(message.contains(survivor), "{message}");
        assert!(!message.contains("digest.rs"), "{message}");
        assert!(!message.contains("no longer survive"), "{message}");
    }

    #[test]
    fn a_stale_entry_fails_and_is_named() {
        // Caught, timed out, unviable, and no mutant at all.
        for entry in [
            "crates/piton-ledger/src/digest.rs: replace << with >> in from_hex",
            "crates/piton-ledger/src/json/number.rs: replace < with <= in scan (1 of 2)",
            "crates/piton-ledger/src/digest.rs: replace ChainHead::from_bytes -> Self with \
             Default::default()",
            "crates/piton-ledger/src/digest.rs: replace | with ^ in from_hex (1 of 2)",
        ] {
            let list = format!("{SURVIVORS}{entry}\n  once it survived\n");
            let message = failure(&report(&["piton-ledger"], &list));
            assert!(message.contains("no longer survive"), "{message}");
            assert!(message.ends_with(&format!("\n  {entry}")), "{message}");
        }
    }

    #[test]
    fn both_kinds_of_difference_are_told_together() {
        let message = failure(&report(
            &["piton-ledger"],
            "crates/piton-ledger/src/id.rs: replace a with b\n  gone\n",
        ));
        assert!(message.contains("digest.rs: replace | with ^"), "{message}");
        assert!(message.contains("id.rs: replace a with b"), "{message}");
    }

    #[test]
    fn entries_of_packages_that_were_not_run_are_not_stale() {
        let list = format!("{SURVIVORS}crates/piton-chain/src/link.rs: replace a with b\n  why\n");
        report(&["piton-ledger"], &list)
            .judge("the list")
            .expect("the chain was not run");
        let message = failure(&report(&["piton-ledger", "piton-chain"], &list));
        assert!(
            message.contains("crates/piton-chain/src/link.rs"),
            "{message}"
        );
    }

    #[test]
    fn the_score_counts_time_outs_as_noticed_and_leaves_out_the_unviable() {
        let shown = report(&["piton-ledger"], SURVIVORS).to_string();
        let columns: Vec<&str> = shown
            .lines()
            .last()
            .expect("the sum is the last line")
            .split_whitespace()
            .collect();
        assert_eq!(columns, ["all", "5", "1", "1", "1", "2", "50.0", "%"]);
        assert!(shown.contains("piton-ledger"), "{shown}");
    }

    #[test]
    fn only_a_full_score_reads_as_one() {
        #[track_caller]
        fn check(caught: u32, survived: u32, expected: Option<u32>) {
            let tally = Tally {
                caught,
                survived,
                ..Tally::default()
            };
            assert_eq!(tally.score(), expected);
        }
        check(0, 0, None);
        check(4, 0, Some(1000));
        check(9999, 1, Some(999));
        check(0, 3, Some(0));
    }
}
