//! Tests the demo and the recorded remediation that it plays.

use crate::support::Scratch;

const REMEDIATION: &str = include_str!("../../demo/remediation.jsonl");
const WORKFLOW: &str = "remediate-GHSA-xvch-5gv4-984h";

#[test]
fn the_demo_ends_as_told_and_leaves_nothing() {
    let scratch = Scratch::new();
    let temporary = scratch.path("tmp");
    std::fs::create_dir(&temporary).expect("a directory");
    let mut command = scratch.command(&["demo"]);
    let child = command
        .env("TMPDIR", &temporary)
        .spawn()
        .expect("piton starts");
    let run = crate::support::finish(child, b"").expect_code(0);
    for step in [
        "1. a child process records",
        "(SIGKILL)",
        "3. the whole chain is recomputed: intact",
        "4. a second child resumes",
        "5. the finished chain is intact: 6 events, each once, in order; completed",
        "secrets replaced before they reached the disk: 1",
        "6. in a copy one bit of event 3 is flipped",
        "chain_mismatch: divergence_index=2 transition_id=01K3Q11GZ8A4D6H0M2Q9T7X3RC cause=next_head",
        "8. the original is still intact",
        "done:",
    ] {
        assert!(run.stdout.contains(step), "no {step:?} in {}", run.stdout);
    }
    assert_eq!(run.stderr, "");
    let left = std::fs::read_dir(&temporary).expect("it is there").count();
    assert_eq!(left, 0, "the demo left something behind");
    assert!(
        !scratch.root().exists(),
        "the demo touched the user's ledger"
    );
}

#[test]
fn the_recorded_remediation_can_be_appended() {
    let scratch = Scratch::new();
    let run = scratch.feed(&["append"], REMEDIATION.as_bytes());
    assert_eq!(run.expect_code(0).json().len(), 6);
    let hydrated = scratch.run(&["hydrate", WORKFLOW]).expect_code(0).json();
    assert_eq!(hydrated[0]["latest_state_kind"], "completed");
    let states: Vec<&str> = hydrated[0]["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|event| event["next_state_id"].as_str().expect("a state"))
        .collect();
    let expected = [
        "plan_ready",
        "patch_applied",
        "gate_failed_retryable",
        "plan_ready",
        "patch_applied",
        "completed",
    ];
    assert_eq!(states, expected);
}

#[test]
fn a_demo_that_cannot_work_says_so() {
    let scratch = Scratch::new();
    let mut command = scratch.command(&["demo"]);
    let nowhere = scratch.path("nowhere");
    let child = command
        .env("TMPDIR", nowhere)
        .spawn()
        .expect("piton starts");
    let run = crate::support::finish(child, b"").expect_code(1);
    assert!(
        run.stderr.starts_with("error: the demo did not go as told"),
        "{run:?}"
    );
}
