//! Owns what a campaign counts, and how that is written down. A campaign that injected nothing
//! of a kind that it announced fails: it would have proved nothing.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use crate::plan::{Plan, Size};
use crate::report;
use crate::sweep::Tally;

/// The counts of one campaign.
#[derive(Debug)]
pub(crate) struct Evidence {
    name: &'static str,
    claim: &'static str,
    seed: u64,
    size: Size,
    minutes: u64,
    /// What was injected, by kind, and what came of it; announced kinds stand here from the start.
    injected: BTreeMap<&'static str, Tally>,
    /// How much there was to damage, and other figures.
    figures: BTreeMap<&'static str, u64>,
    not_covered: Vec<&'static str>,
}

impl Evidence {
    pub(crate) fn new(name: &'static str, claim: &'static str, plan: &Plan) -> Self {
        Self {
            name,
            claim,
            seed: plan.seed(),
            size: plan.size(),
            minutes: plan.minutes(),
            injected: BTreeMap::new(),
            figures: BTreeMap::new(),
            not_covered: Vec::new(),
        }
    }

    /// Says which kinds of damage will be injected; each must be, at least once.
    pub(crate) fn announce(&mut self, kinds: &[&'static str]) {
        for kind in kinds {
            self.injected.entry(kind).or_default();
        }
    }

    /// Counts injections of one kind, as seen on the ledger and not as intended, with what came of
    /// them.
    pub(crate) fn count(&mut self, kind: &'static str, outcome: impl Into<String>, count: u64) {
        let outcomes = self.injected.entry(kind).or_default();
        let counted = outcomes.entry(outcome.into()).or_default();
        *counted = counted.saturating_add(count);
    }

    /// Counts what a sweep has done.
    pub(crate) fn swept(&mut self, kind: &'static str, tally: Tally) {
        for (outcome, count) in tally {
            self.count(kind, outcome, count);
        }
    }

    /// Notes how much there was to damage, or another figure.
    pub(crate) fn figure(&mut self, name: &'static str, figure: u64) {
        self.figures.insert(name, figure);
    }

    /// Adds to a figure.
    pub(crate) fn add_figure(&mut self, name: &'static str, more: u64) {
        let figure = self.figures.entry(name).or_default();
        *figure = figure.saturating_add(more);
    }

    /// Says what the campaign does not show.
    pub(crate) fn not_covered(&mut self, limits: &[&'static str]) {
        self.not_covered.extend(limits);
    }

    /// Prints the counts, and writes them where the plan says.
    ///
    /// # Errors
    ///
    /// An announced kind was never injected; the files can't be written.
    pub(crate) fn finish(self, plan: &Plan) -> Result<()> {
        let json = self.json(plan.elapsed().as_secs());
        println!("{}", report::one(&json));
        if self.injected.is_empty() {
            bail!("campaign `{}` announced nothing to inject", self.name);
        }
        for (kind, outcomes) in &self.injected {
            if outcomes.values().all(|count| *count == 0) {
                bail!(
                    "campaign `{}` injected no {kind}: it shows nothing",
                    self.name
                );
            }
        }
        match plan.record() {
            None => Ok(()),
            Some(directory) => {
                fs::create_dir_all(directory).context("making the directory of evidence")?;
                let path = directory.join(format!("{}.json", self.name));
                fs::write(path, format!("{json:#}\n")).context("writing evidence")?;
                report::write_all(directory)
            }
        }
    }

    fn json(&self, seconds: u64) -> serde_json::Value {
        json!({
            "campaign": self.name,
            "claim": self.claim,
            "command": self.command(),
            "seed": self.seed,
            "date": today(),
            "machine": machine(),
            "seconds": seconds,
            "injected": self.injected,
            "figures": self.figures,
            "not_covered": self.not_covered,
        })
    }

    fn command(&self) -> String {
        let size = match self.size {
            Size::Short => " --short".to_owned(),
            Size::Long => format!(" --budget {}", self.minutes),
        };
        format!(
            "cargo xtask campaign {}{size} --seed {}",
            self.name, self.seed
        )
    }
}

fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    format!(
        "{cores} cores, {} {}",
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}
