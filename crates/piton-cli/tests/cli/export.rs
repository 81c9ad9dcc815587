//! Tests `export`: raw rows of intact chains, and nothing else on the output.

use serde_json::Value;

use crate::support::{Scratch, WORKFLOW, event_of, plan, stored, three};

#[test]
fn each_row_is_a_line_as_it_is_stored() {
    let scratch = Scratch::new();
    scratch.record(&[
        plan(1, r#"{"text":"a\u0000b, ünï, 漢字, \\\"quoted\\\""}"#),
        plan(2, "\"\u{9b}31m\u{7f}\u{202e}\""),
    ]);
    let run = scratch.run(&["export", WORKFLOW]).expect_code(0);
    assert_eq!(run.stderr, "");
    assert!(!run.stdout.contains(['\u{9b}', '\u{7f}', '\u{202e}']));
    let lines = run.json();
    let rows = stored(&scratch.root(), WORKFLOW);
    assert_eq!(lines.len(), rows.len());
    for (line, row) in lines.iter().zip(&rows) {
        let members: Vec<&String> = line.as_object().expect("an object").keys().collect();
        assert_eq!(members.len(), 7, "{line}");
        assert_eq!(line["workflow_id"], WORKFLOW);
        assert_eq!(line["sequence"], row.sequence);
        assert_eq!(line["transition_id"], row.transition_id.as_str());
        assert_eq!(line["prior_head"], row.prior_head.as_str());
        assert_eq!(line["next_head"], row.next_head.as_str());
        let event = line["event"].as_str().expect("a string");
        assert_eq!(event.as_bytes(), row.event);
        assert!(line["written_at"].is_string());
    }
}

#[test]
fn several_workflows_follow_one_another() {
    let scratch = Scratch::new();
    scratch.record_three();
    scratch.record(&[event_of("another", 1, "needs_plan", "plan_ready", "1")]);
    let all = scratch.run(&["export", "--all"]).expect_code(0);
    let workflows: Vec<Value> = all
        .json()
        .iter()
        .map(|line| line["workflow_id"].clone())
        .collect();
    assert_eq!(workflows, ["another", WORKFLOW, WORKFLOW, WORKFLOW]);
    let named = scratch.run(&["export", "another", WORKFLOW]).expect_code(0);
    assert_eq!(named.stdout, all.stdout);
    scratch.run(&["export"]).expect_code(2);
    scratch.run(&["export", "--all", WORKFLOW]).expect_code(2);
}

#[test]
fn nothing_recorded_is_no_line() {
    let scratch = Scratch::new();
    let run = scratch.run(&["export", WORKFLOW]).expect_code(0);
    assert_eq!(run.stdout, "");
    let note = "note: there is no store in this directory; look at its name\n";
    let nothing = format!("{WORKFLOW}: nothing is recorded\n");
    assert_eq!(run.stderr, format!("{note}{nothing}"));
    assert!(!scratch.root().exists());
    scratch.make_root();
    let run = scratch.run(&["export", WORKFLOW]).expect_code(0);
    assert_eq!(run.stderr, nothing);
    let run = scratch.run(&["export", "--all"]).expect_code(0);
    assert_eq!(run.stderr, "the store holds no workflow\n");
    assert!(scratch.is_root_empty());
}

#[test]
fn a_chain_that_is_not_intact_prints_nothing_of_itself() {
    let scratch = Scratch::new();
    for workflow in ["a-changed", "b-intact", "c-cut"] {
        let lines = three();
        let lines: Vec<String> = lines
            .iter()
            .map(|line| line.replace(WORKFLOW, workflow))
            .collect();
        scratch.record(&lines);
    }
    scratch.sql(
        "a-changed",
        "UPDATE checkpoint_chain SET event_bytes = x'7b' WHERE sequence = 3",
    );
    scratch.sql("c-cut", "DELETE FROM checkpoint_chain WHERE sequence = 3");
    let run = scratch.run(&["export", "--all"]).expect_code(4);
    assert_eq!(run.json().len(), 3);
    assert!(
        run.json()
            .iter()
            .all(|line| line["workflow_id"] == "b-intact")
    );
    for word in ["not exported: a-changed", "not exported: c-cut"] {
        assert!(run.stderr.contains(word), "{run:?}");
    }
    assert!(run.stderr.contains("torn write: c-cut"), "{run:?}");
    scratch.sql(
        "a-changed",
        "UPDATE checkpoint_chain SET prior_head = next_head WHERE sequence = 1",
    );
    let run = scratch.run(&["export", "--all"]).expect_code(3);
    assert!(run.stderr.contains("chain mismatch: a-changed"), "{run:?}");
    assert!(!run.stderr.contains('\u{1b}'), "{run:?}");
    let run = scratch.run(&["export", "a-changed"]).expect_code(3);
    assert_eq!(run.stdout, "");
    scratch.sql("b-intact", "PRAGMA user_version = 99");
    let run = scratch.run(&["export", "b-intact"]).expect_code(5);
    assert!(run.stderr.contains("newer"), "{run:?}");
    assert_eq!(run.stdout, "");
}
