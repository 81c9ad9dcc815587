//! Walks stores beside a plain model, more often than the tests do. The walk is a test of
//! `piton-contracts`, so that a failure shrinks there; here it is run and its counts are kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::evidence::Evidence;
use crate::plan::Plan;
use crate::scratch;

/// What must never happen.
pub(crate) const CLAIM: &str = "Whatever two handles ask of a ledger in whatever order, with \
     crashes, damage, repins and deletions between, every answer, row, head, pin and verdict is \
     that of a plain model.";

/// The adapters, as the test names them, what a step of theirs is called, and how many walks there
/// are in each minute of the budget and in the short form.
const ADAPTERS: [Adapter; 3] = [
    Adapter {
        name: "memory",
        kind: "step of a walk (memory)",
        a_minute: 400,
        short: 20,
    },
    Adapter {
        name: "sqlite",
        kind: "step of a walk (SQLite)",
        a_minute: 150,
        short: 10,
    },
    Adapter {
        name: "postgres",
        kind: "step of a walk (Postgres)",
        a_minute: 10,
        short: 3,
    },
];

struct Adapter {
    name: &'static str,
    kind: &'static str,
    a_minute: u64,
    short: u64,
}

/// What the walk must have met in each adapter that can be damaged.
const MET: [&str; 5] = [
    "append: Appended",
    "retry: Present",
    "append with an expected head: Stale",
    "crash: Done",
    "append: PinContradicted",
];

pub(crate) fn run(plan: &Plan, evidence: &mut Evidence) -> Result<()> {
    evidence.announce(&ADAPTERS.each_ref().map(|adapter| adapter.kind));
    evidence.not_covered(&[
        "Calls of two handles at the same time: see the campaign `contention`.",
        "Damage to a ledger in memory, which nobody else can reach.",
        "Damage other than cut rows and altered events: see `bitflip` and `truncate`.",
    ]);
    let place = scratch::in_memory()?;
    for adapter in &ADAPTERS {
        let walks = plan.pick(
            adapter.a_minute.saturating_mul(plan.minutes()),
            adapter.short,
        );
        walk(plan, place.path(), adapter.name, walks)?;
        let path = place.path().join(format!("{}.json", adapter.name));
        let text = std::fs::read(path).context("the walk left no counts")?;
        let counts: BTreeMap<String, u64> = serde_json::from_slice(&text)?;
        let is_damaged = adapter.name != "memory";
        let is_long = walks >= adapter.a_minute;
        for met in MET.iter().filter(|_| is_damaged && is_long) {
            ensure!(
                counts.contains_key(*met),
                "{} walks of {} never met `{met}`",
                walks,
                adapter.name
            );
        }
        for (step, count) in counts {
            evidence.count(adapter.kind, step, count);
        }
        evidence.add_figure("walks", walks);
    }
    Ok(())
}

fn walk(plan: &Plan, counts: &Path, adapter: &str, walks: u64) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["test", "--quiet", "--package", "piton-contracts"])
        .args(["--test", "model", "--", "--exact"])
        .arg(format!("{adapter}_is_as_its_model"))
        .env("PITON_MODEL_CASES", walks.to_string())
        .env("PITON_MODEL_SEED", plan.seed().to_string())
        .env("PITON_MODEL_COUNTS", counts)
        .stdout(std::process::Stdio::null())
        .status()
        .context("`cargo test` could not be started")?;
    if !status.success() {
        bail!(
            "`cargo test -p piton-contracts --test model {adapter}` failed with \
             PITON_MODEL_CASES={walks} PITON_MODEL_SEED={}",
            plan.seed()
        );
    }
    Ok(())
}
