//! Owns the recorded counts and what a difference means. It counts nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

/// How far a count may be from the recorded one, in percent: another patch of the C library or
/// another valgrind moves it by less.
const TOLERANCE: u64 = 3;

const RECORD: &str = "`cargo xtask instructions --record`";

/// Instructions by work, each for one event.
pub(super) type Counts = BTreeMap<String, u64>;

/// The file: what was counted, by the architecture on which it was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Recorded(BTreeMap<String, Record>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    /// Another compiler makes other code.
    compiler: String,
    instructions: Counts,
}

impl Recorded {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("{} can't be read", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is malformed", path.display()))
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        fs::write(path, text + "\n")?;
        eprintln!("recorded in {}", path.display());
        Ok(())
    }

    /// Replaces the record of one architecture.
    pub(super) fn with(mut self, platform: &str, compiler: &str, counts: &Counts) -> Self {
        let record = Record {
            compiler: compiler.to_owned(),
            instructions: counts.clone(),
        };
        self.0.insert(platform.to_owned(), record);
        self
    }

    #[cfg(test)]
    pub(super) fn counts(&self) -> impl Iterator<Item = &Counts> {
        self.0.values().map(|record| &record.instructions)
    }

    /// Prints each count beside the recorded one, and refuses a difference beyond the tolerance:
    /// more is a loss, and less has to be recorded before it can be lost again unseen.
    pub(super) fn compare(&self, platform: &str, compiler: &str, counts: &Counts) -> Result<()> {
        let Some(record) = self.0.get(platform) else {
            bail!("no instructions are recorded for {platform}; {RECORD} does that");
        };
        if record.compiler != compiler {
            bail!(
                "the record is of Rust {}, and this is {compiler}, which makes other code; {RECORD} \
                 counts anew",
                record.compiler
            );
        }
        if !record.instructions.keys().eq(counts.keys()) {
            bail!("the record is of other work; {RECORD} counts anew");
        }
        println!("| work | instructions | recorded |");
        println!("| --- | ---: | ---: |");
        let mut worse = Vec::new();
        let mut better = Vec::new();
        for ((work, counted), recorded) in counts.iter().zip(record.instructions.values()) {
            println!("| {work} | {counted} | {recorded} |");
            let slack = recorded * TOLERANCE / 100;
            if *counted > recorded + slack {
                worse.push(work.as_str());
            } else if *counted < recorded - slack {
                better.push(work.as_str());
            }
        }
        if !worse.is_empty() {
            bail!(
                "more instructions than recorded, by more than {TOLERANCE} %: {}; find the reason, \
                 or record it as the price of something with {RECORD}",
                worse.join(", ")
            );
        }
        if !better.is_empty() {
            bail!(
                "fewer instructions than recorded, by more than {TOLERANCE} %: {}; {RECORD} keeps \
                 the gain",
                better.join(", ")
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(seal: u64) -> Counts {
        BTreeMap::from([("link".to_owned(), 1_000), ("seal".to_owned(), seal)])
    }

    fn check(counted: &Counts, platform: &str, compiler: &str, expected: Option<&str>) {
        let recorded = Recorded::default().with("x86_64", "1.95.0", &counts(10_000));
        let answer = recorded.compare(platform, compiler, counted);
        match (answer, expected) {
            (Ok(()), None) => {}
            (Err(error), Some(part)) => {
                let message = error.to_string();
                assert!(message.contains(part), "{message}");
                assert!(message.contains("--record"), "{message}");
            }
            (answer, expected) => panic!("{answer:?}, not {expected:?}"),
        }
    }

    #[test]
    fn what_is_within_the_tolerance_passes() {
        for seal in [9_700, 10_000, 10_300] {
            check(&counts(seal), "x86_64", "1.95.0", None);
        }
    }

    #[test]
    fn more_and_less_are_refused() {
        check(
            &counts(10_301),
            "x86_64",
            "1.95.0",
            Some("more instructions"),
        );
        check(
            &counts(9_699),
            "x86_64",
            "1.95.0",
            Some("fewer instructions"),
        );
    }

    #[test]
    fn what_does_not_compare_is_refused() {
        check(&counts(10_000), "aarch64", "1.95.0", Some("aarch64"));
        check(&counts(10_000), "x86_64", "1.96.0", Some("1.96.0"));
        let fewer = BTreeMap::from([("link".to_owned(), 1_000)]);
        check(&fewer, "x86_64", "1.95.0", Some("other work"));
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("instructions.json");
        let recorded = Recorded::default().with("x86_64", "1.95.0", &counts(10_000));
        recorded.write(&path).expect("it is written");
        assert_eq!(Recorded::read(&path).expect("it reads"), recorded);
    }
}
