//! Tests `verify` and `hydrate`: verdicts, exit codes and their JSON.

use serde_json::Value;

use crate::support::{Scratch, WORKFLOW, event_of, plan, three};

/// Checks that both commands say the same of a ledger that was tampered with.
#[track_caller]
fn check(scratch: &Scratch, code: i32, expected: &[(&str, Value)], pin: &str) {
    let run = scratch.run(&["verify", WORKFLOW, "--format", "json"]);
    let answer = run.expect_code(code).json().remove(0);
    assert_eq!(answer["workflow_id"], WORKFLOW);
    assert_eq!(answer["pin"], pin, "{answer}");
    for (name, value) in expected {
        assert_eq!(&answer["verdict"][*name], value, "{answer}");
    }
    let run = scratch.run(&["hydrate", WORKFLOW]);
    let result = run.expect_code(code).json().remove(0);
    let kind = if code == 0 {
        "hydrated"
    } else {
        "failed_unrecoverable"
    };
    assert_eq!(result["kind"], kind);
    if code != 0 {
        assert_eq!(result["reason"], "checkpoint_integrity");
        let error = &result["error"];
        assert_eq!(
            error["error_id"],
            "workflows.checkpoint_integrity_violation"
        );
    }
    let text = scratch.run(&["verify", WORKFLOW]).expect_code(code).stdout;
    let verdict = match code {
        0 => ["intact", "empty"],
        3 => ["chain mismatch", "chain mismatch"],
        _ => ["torn write", "torn write"],
    };
    assert!(verdict.iter().any(|word| text.starts_with(word)), "{text}");
    assert_eq!(code != 0, text.contains("\n  do: "), "{text}");
}

#[test]
fn an_intact_chain_is_verified() {
    let scratch = Scratch::new();
    let tail = scratch.record_three()[2]["next_head"].clone();
    let expected = [
        ("kind", "verified".into()),
        ("tail_chain_head", tail),
        ("rows", 3.into()),
        ("events", Value::Null),
    ];
    check(&scratch, 0, &expected, "matched");
}

#[test]
fn nothing_recorded_is_intact_and_creates_nothing() {
    let scratch = Scratch::new();
    check(&scratch, 0, &[("kind", "empty_workflow".into())], "none");
    assert!(!scratch.root().exists());
    let text = scratch.run(&["verify", WORKFLOW]).stdout;
    assert!(text.contains("nothing is recorded"), "{text}");
}

#[test]
fn a_changed_event_is_a_mismatch() {
    let scratch = Scratch::new();
    scratch.record_three();
    scratch.sql(
        WORKFLOW,
        "UPDATE checkpoint_chain SET event_bytes = CAST(replace(CAST(event_bytes AS TEXT), \
         '\"exit_code\":1', '\"exit_code\":0') AS BLOB) WHERE sequence = 3",
    );
    let expected = [
        ("kind", "chain_mismatch".into()),
        ("divergence_index", 2.into()),
        ("cause", "next_head".into()),
        (
            "offending_transition_id",
            "01JZ8Q5T9V6W3X2Y1Z0ABCD003".into(),
        ),
    ];
    check(&scratch, 3, &expected, "matched");
}

#[test]
fn a_cut_event_is_torn() {
    let scratch = Scratch::new();
    scratch.record_three();
    scratch.sql(
        WORKFLOW,
        "UPDATE checkpoint_chain SET event_bytes = substr(event_bytes, 1, 40) WHERE sequence = 2",
    );
    let expected = [
        ("kind", "torn_write".into()),
        ("reason", "unparseable_event".into()),
        ("offending_sequence", 2.into()),
    ];
    check(&scratch, 4, &expected, "unchecked");
}

#[test]
fn a_lost_tail_is_torn_and_nothing_grows_on_it() {
    let scratch = Scratch::new();
    scratch.record_three();
    scratch.sql(WORKFLOW, "DELETE FROM checkpoint_chain WHERE sequence = 3");
    let expected = [
        ("kind", "torn_write".into()),
        ("reason", "truncated_tail".into()),
        ("offending_sequence", 3.into()),
    ];
    check(&scratch, 4, &expected, "contradicted");
    let append = scratch.feed(&["append"], plan(4, "1").as_bytes());
    assert_eq!(append.expect_code(4).stdout, "");

    let run = scratch.run(&["verify", WORKFLOW, "--ignore-pin", "--format", "json"]);
    assert_eq!(run.expect_code(0).json()[0]["pin"], "ignored");
    let run = scratch.run(&["verify", WORKFLOW, "--ignore-pin"]);
    assert!(run.expect_code(0).stdout.contains("ignored"));
}

#[test]
fn a_pinned_row_with_another_head_stops_appends() {
    let scratch = Scratch::new();
    scratch.record_three();
    let head = "f".repeat(64);
    scratch.sql(
        WORKFLOW,
        &format!("UPDATE checkpoint_chain SET next_head = 'blake3:{head}' WHERE sequence = 3"),
    );
    let append = scratch.feed(&["append"], plan(4, "1").as_bytes());
    assert_eq!(append.expect_code(3).stdout, "");
}

#[test]
fn an_expected_tail_is_held_against_the_chain() {
    let scratch = Scratch::new();
    let lines = three();
    scratch.record(&lines[..2]);
    let tail = scratch.run(&["head", WORKFLOW]).expect_code(0).stdout;
    let tail = tail.trim_end();
    scratch.record(&lines[2..]);
    let later = scratch.run(&["head", WORKFLOW]).expect_code(0).stdout;
    for command in ["verify", "hydrate"] {
        scratch
            .run(&[command, WORKFLOW, "--expect", tail])
            .expect_code(0);
        let other = tail.replacen("2:", "3:", 1);
        scratch
            .run(&[command, WORKFLOW, "--expect", &other])
            .expect_code(3);
        let beyond = later.trim_end().replacen("3:", "4:", 1);
        scratch
            .run(&[command, WORKFLOW, "--expect", &beyond])
            .expect_code(4);
        scratch
            .run(&[command, WORKFLOW, "--expect", "3"])
            .expect_code(2);
    }
    scratch
        .run(&["verify", WORKFLOW, "another", "--expect", tail])
        .expect_code(2);
    scratch
        .run(&["verify", "--all", "--expect", tail])
        .expect_code(2);
    scratch.run(&["verify"]).expect_code(2);
}

#[test]
fn events_are_given_on_demand() {
    let scratch = Scratch::new();
    scratch.record_three();
    let run = scratch.run(&["verify", WORKFLOW, "--events", "--format", "json"]);
    let answer = run.expect_code(0).json().remove(0);
    assert_eq!(answer["verdict"]["kind"], "verified");
    let events = answer["verdict"]["events"].as_array().expect("events");
    assert_eq!(events.len(), 3);
    assert_eq!(events[2]["triggering_outcome"]["exit_code"], 1);
    scratch
        .run(&["verify", WORKFLOW, "--events"])
        .expect_code(2);
}

#[test]
fn what_cannot_be_checked_is_neither_intact_nor_tampered() {
    let scratch = Scratch::new();
    scratch.record_three();
    scratch.sql(WORKFLOW, "PRAGMA user_version = 99");
    for command in [&["verify", "--format", "json"][..], &["hydrate"]] {
        let run = scratch.run(&[command, &[WORKFLOW]].concat());
        let answer = run.expect_code(5).json().remove(0);
        assert_eq!(answer["workflow_id"], WORKFLOW);
        assert_eq!(answer["error"]["kind"], "newer_layout");
        assert_eq!(answer["error"]["retry"], false);
        assert!(answer["error"]["message"].is_string());
        assert_eq!(answer["verdict"], Value::Null);
    }
    let text = scratch.run(&["verify", WORKFLOW]).expect_code(5).stdout;
    assert!(text.starts_with("could not check"), "{text}");
    let run = scratch.run(&["hydrate", WORKFLOW, "--format", "text"]);
    assert!(run.expect_code(5).stderr.starts_with("error: "));
}

#[test]
fn a_damaged_pin_cannot_be_checked_and_can_be_replaced() {
    let scratch = Scratch::new();
    scratch.record_three();
    let lock = scratch.root().join(WORKFLOW).join("checkpoints.lock");
    let length = std::fs::read(&lock).expect("the lock file is there").len();
    std::fs::write(&lock, vec![0xff; length]).expect("it is writable");
    let run = scratch.run(&["verify", WORKFLOW, "--format", "json"]);
    assert_eq!(run.expect_code(5).json()[0]["error"]["kind"], "pin_damaged");
    scratch
        .run(&["verify", WORKFLOW, "--ignore-pin"])
        .expect_code(0);
    let tail = scratch.run(&["head", WORKFLOW]).expect_code(0).stdout;
    let accept = ["repin", WORKFLOW, "--accept", tail.trim_end()];
    let run = scratch.run(&accept).expect_code(0);
    assert!(run.stdout.contains("pin before: damaged"), "{run:?}");
    scratch.run(&["verify", WORKFLOW]).expect_code(0);
}

#[test]
fn verdicts_come_in_the_order_of_the_workflows() {
    let scratch = Scratch::new();
    // The first chain takes longest, so that those after it are done before.
    let names: Vec<String> = (10..40).map(|number| format!("w{number}")).collect();
    for (workflow, rows) in names.iter().zip([150].into_iter().chain([1; 29])) {
        let lines = (0..rows).map(|n| event_of(workflow, n, "needs_plan", "plan_ready", "1"));
        scratch.record(&lines.collect::<Vec<_>>());
    }
    for form in [&[][..], &["--events"]] {
        let arguments = [&["verify", "--all", "--format", "json"], form].concat();
        let answers = scratch.run(&arguments).expect_code(0).json();
        let told = answers.iter().map(|answer| answer["workflow_id"].as_str());
        assert!(told.eq(names.iter().map(|name| Some(name.as_str()))));
        assert!(
            answers
                .iter()
                .all(|answer| answer["verdict"]["kind"] == "verified")
        );
    }
    let named = ["verify", "w11", "w10", "--format", "json"];
    let answers = scratch.run(&named).expect_code(0).json();
    assert_eq!(
        (&answers[0]["workflow_id"], &answers[1]["workflow_id"]),
        (&"w11".into(), &"w10".into())
    );
}

#[test]
fn all_gives_the_worst_of_its_verdicts() {
    let scratch = Scratch::new();
    scratch.make_root();
    scratch.run(&["verify", "--all"]).expect_code(0);
    for workflow in ["a-intact", "b-unchecked", "c-torn", "d-mismatch"] {
        let event = |number, prior, next| event_of(workflow, number, prior, next, "1");
        scratch.record(&[
            event(1, "needs_plan", "plan_ready"),
            event(2, "plan_ready", "patch_applied"),
        ]);
    }
    scratch.run(&["verify", "--all"]).expect_code(0);
    scratch.sql("b-unchecked", "PRAGMA user_version = 99");
    scratch.run(&["verify", "--all"]).expect_code(5);
    scratch.sql("c-torn", "DELETE FROM checkpoint_chain WHERE sequence = 2");
    scratch.run(&["verify", "--all"]).expect_code(4);
    scratch.sql(
        "d-mismatch",
        "UPDATE checkpoint_chain SET transition_id = '01JZ8Q5T9V6W3X2Y1Z0ABCD009' WHERE sequence = 1",
    );
    let run = scratch
        .run(&["verify", "--all", "--format", "json"])
        .expect_code(3);
    let kinds: Vec<Value> = run
        .json()
        .iter()
        .map(|answer| answer["verdict"]["kind"].clone())
        .collect();
    let expected = ["verified", "", "torn_write", "chain_mismatch"];
    let expected = expected.map(|kind| match kind {
        "" => Value::Null,
        kind => kind.into(),
    });
    assert_eq!(kinds, expected);
    let named = ["verify", "a-intact", "c-torn", "b-unchecked"];
    scratch.run(&named).expect_code(4);
}

#[test]
fn hydrate_hands_over_events_and_state() {
    let scratch = Scratch::new();
    let answers = scratch.record(&three()[..2]);
    let run = scratch.run(&["hydrate", WORKFLOW]).expect_code(0);
    let result = run.json().remove(0);
    assert_eq!(result["kind"], "hydrated");
    assert_eq!(result["latest_state_kind"], "patch_applied");
    assert_eq!(result["tail_chain_head"], answers[1]["next_head"]);
    assert_eq!(result["events"].as_array().map(Vec::len), Some(2));
    let text = scratch.run(&["hydrate", WORKFLOW, "--format", "text"]);
    assert!(
        text.expect_code(0)
            .stdout
            .starts_with("hydrated: remediate-1: patch_applied")
    );
}
