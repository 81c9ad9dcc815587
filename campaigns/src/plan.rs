//! Owns what a run is asked for: how much, for how long, from which seed, and where to write.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

const USAGE: &str =
    "usage: piton-campaigns [NAME] [--short] [--budget MINUTES] [--seed N] [--record DIRECTORY]";

/// The seed when none is given, so that two plain runs inject the same.
const SEED: u64 = 20_261_130;

/// How much a campaign does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// A sample of every injection, within a minute or so.
    Short,
    /// Everything that the budget allows.
    Long,
}

/// What a run is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    size: Size,
    seed: u64,
    budget: Duration,
    begun: Instant,
    record: Option<PathBuf>,
}

impl Plan {
    /// Reads a command line; also gives the campaign that it names, none for all.
    pub(crate) fn parse(arguments: &[String]) -> Result<(Self, Option<String>)> {
        let mut plan = Self {
            size: Size::Long,
            seed: SEED,
            budget: Duration::from_secs(10 * 60),
            begun: Instant::now(),
            record: None,
        };
        let mut name = None;
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .with_context(|| format!("{argument} needs a value\n{USAGE}"))
            };
            match argument.as_str() {
                "--short" => plan.size = Size::Short,
                "--seed" => plan.seed = value()?.parse().context("--seed takes a whole number")?,
                "--budget" => {
                    let minutes: u64 = value()?.parse().context("--budget takes whole minutes")?;
                    plan.budget = Duration::from_secs(minutes.saturating_mul(60));
                }
                "--record" => plan.record = Some(PathBuf::from(value()?)),
                other if other.starts_with('-') || name.is_some() => {
                    bail!("`{other}` is not understood\n{USAGE}")
                }
                other => name = Some(other.to_owned()),
            }
        }
        Ok((plan, name))
    }

    /// Gives one of two amounts.
    pub(crate) fn pick<T>(&self, long: T, short: T) -> T {
        match self.size {
            Size::Short => short,
            Size::Long => long,
        }
    }

    /// Gives a generator that depends on the seed and on the purpose alone.
    pub(crate) fn random(&self, purpose: &str) -> fastrand::Rng {
        let mixed = purpose.bytes().fold(self.seed, |mixed, byte| {
            mixed.rotate_left(7) ^ u64::from(byte)
        });
        fastrand::Rng::with_seed(mixed)
    }

    /// Gives the plan of one campaign, whose time begins now.
    pub(crate) fn begin(&self) -> Self {
        Self {
            begun: Instant::now(),
            ..self.clone()
        }
    }

    /// Gives the time at which the `nth` of `parts` of a campaign should end, counted from 1.
    /// What an earlier part leaves is the later ones'.
    pub(crate) fn end_of(&self, nth: u32, parts: u32) -> Instant {
        let share = self.budget / parts.max(1) * nth;
        self.begun.checked_add(share).unwrap_or(self.begun)
    }

    /// How many minutes a campaign may take.
    pub(crate) fn minutes(&self) -> u64 {
        self.budget.as_secs() / 60
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Where evidence is written to; nowhere unless asked for.
    pub(crate) fn record(&self) -> Option<&std::path::Path> {
        self.record.as_deref()
    }
}
