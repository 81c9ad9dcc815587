//! Cuts the power at every moment, and opens what the disk may hold then.

mod recover;
mod scene;

use anyhow::{Result, ensure};

use crate::evidence::Evidence;
use crate::plan::Plan;

use self::recover::{EFFECTS, KINDS, Report};
use self::scene::Scenes;

/// What must never happen.
pub(crate) const CLAIM: &str = "No acknowledged append is lost to a power loss, at whatever moment \
     and with whatever part of the unsynced data on the disk: every image opens, verifies with at \
     least the acknowledged events and only appended ones, its pin never leads its rows, and the \
     workflow goes on from there. The same holds when the process was killed first, or a sync had \
     failed.";

/// What the model of the disk leaves out.
const LIMITS: &[&str] = &[
    "a disk that says it has synced and has not: no program can keep a promise on it (a test shows \
     that the campaign finds losses there)",
    "damage to synced data, or to bytes beside those being written: the bit-flip campaign has that",
    "repin and delete",
    "what the kernel and the file system do themselves: images are made from the recorded system \
     calls under the model in `piton-faultfs`, not by cutting the power of a machine",
];

pub(crate) fn run(plan: &Plan, evidence: &mut Evidence) -> Result<()> {
    evidence.announce(KINDS);
    evidence.not_covered(LIMITS);
    let scenes = Scenes::play(plan.pick(usize::MAX, 12), plan.pick(40, 4))?;
    evidence.figure("scenes", scenes.count());
    evidence.figure("moments at which the power was cut", scenes.moments());
    let report = recover::recover(&scenes, plan.pick(60_000, 1_500), plan)?;
    for ((kind, outcome), count) in &report.counted {
        evidence.count(kind, *outcome, *count);
    }
    evidence.figure("distinct images recovered", report.distinct);
    evidence.figure(
        "of these, other than what a kill at that moment leaves",
        report.differing,
    );
    evidence.figure(
        "images equal to another, not recovered twice",
        report.repeated,
    );
    ensure!(report.differing > 0, "every image held everything");
    for effect in EFFECTS {
        let images = report.effects.get(effect).copied().unwrap_or_default();
        ensure!(images > 0, "no image shows this: {effect}");
        evidence.figure(effect, images);
    }
    report.verdict()
}

impl Report {
    fn verdict(&self) -> Result<()> {
        ensure!(
            self.failures.is_empty(),
            "{} images break the claim; the first: {}",
            self.broken,
            self.failures.join("\n  ")
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use piton_faultfs::Honesty;

    use super::*;

    fn report(honesty: Honesty) -> Report {
        let plan = Plan::parse(&["--short".to_owned()]).expect("a plan").0;
        let scenes = Scenes::of_one_run(honesty).expect("scenes");
        recover::recover(&scenes, 200, &plan).expect("images can be recovered")
    }

    #[test]
    fn an_honest_disk_loses_nothing() {
        let report = report(Honesty::Honest);
        assert!(report.distinct > 100, "{}", report.distinct);
        report.verdict().expect("nothing is lost");
    }

    /// The campaign can fail: on this disk nothing is durable, and it finds that out.
    #[test]
    fn a_lying_disk_loses_acknowledged_rows() {
        let report = report(Honesty::Lying);
        assert!(report.broken > 20, "{}", report.broken);
        report.verdict().expect_err("rows are lost");
    }
}
