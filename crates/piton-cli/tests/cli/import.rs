//! Tests `import`: proved line by line, skipped when present, stopped at the first line that does
//! not fit.

use serde_json::{Value, json};

use crate::support::{Run, Scratch, WORKFLOW, event_of, plan, stored, three};

/// Two ledgers: one that was exported, and an empty one.
struct Move {
    source: Scratch,
    target: Scratch,
    lines: Vec<String>,
}

impl Move {
    /// Exports three rows.
    fn of_three() -> Self {
        Self::of(&three())
    }

    fn of(events: &[String]) -> Self {
        let source = Scratch::new();
        source.record(events);
        let exported = source.run(&["export", "--all"]).expect_code(0).stdout;
        Self {
            source,
            target: Scratch::new(),
            lines: exported.lines().map(str::to_owned).collect(),
        }
    }

    fn import(&self, lines: &[String]) -> Run {
        let input = lines.join("\n");
        self.target
            .feed(&["import", "--format", "json"], input.as_bytes())
    }

    fn rows(&self) -> usize {
        if self.target.root().exists() {
            stored(&self.target.root(), WORKFLOW).len()
        } else {
            0
        }
    }

    /// Checks that a line in the second place is refused there, and the first one kept.
    #[track_caller]
    fn check_second(&self, line: &[u8], reason: &str) {
        let input = [self.lines[0].as_bytes(), b"\n", line].concat();
        let run = self.target.feed(&["import"], &input).expect_code(6);
        assert!(run.stderr.starts_with("error: line 2: "), "{run:?}");
        assert!(run.stderr.contains(reason), "{reason}: {run:?}");
        assert!(!run.stderr.contains("hunter2"), "{run:?}");
        assert!(run.stdout.contains("tail 1:"), "{run:?}");
        assert_eq!(self.rows(), 1);
    }
}

fn changed(line: &str, member: &str, value: impl Into<Value>) -> String {
    let mut line: Value = serde_json::from_str(line).expect("a line is JSON");
    line[member] = value.into();
    line.to_string()
}

#[test]
fn what_was_exported_is_what_is_there() {
    let outcome = r#"{"text":"a\u0000b, ünï, 漢字, \\\"quoted\\\"","bidi":"\u202e\u007f"}"#;
    let mut events = three();
    events.push(plan(4, outcome));
    events.push(event_of("another", 1, "needs_plan", "plan_ready", outcome));
    let moved = Move::of(&events);
    let answers = moved.import(&moved.lines).expect_code(0).json();
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0]["workflow_id"], "another");
    assert_eq!(answers[1]["copied_rows"], 4);
    assert_eq!(answers[1]["skipped_rows"], 0);
    let tail = moved.source.run(&["head", WORKFLOW]).stdout;
    assert_eq!(answers[1]["tail"], tail.trim_end());
    for workflow in ["another", WORKFLOW] {
        assert_eq!(
            stored(&moved.target.root(), workflow),
            stored(&moved.source.root(), workflow)
        );
    }
    let again = moved.target.run(&["export", "--all"]).expect_code(0).stdout;
    let strip = |lines: &mut dyn Iterator<Item = &str>| -> Vec<String> {
        lines
            .map(|line| changed(line, "written_at", Value::Null))
            .collect()
    };
    assert_eq!(
        strip(&mut again.lines()),
        strip(&mut moved.lines.iter().map(String::as_str))
    );
}

#[test]
fn the_largest_event_fits_a_line() {
    for text in ["\u{7f}".repeat(65_000), "\\u0000".repeat(10_800)] {
        let moved = Move::of(&[plan(1, &format!("\"{text}\""))]);
        moved.import(&moved.lines).expect_code(0);
        assert_eq!(
            stored(&moved.target.root(), WORKFLOW),
            stored(&moved.source.root(), WORKFLOW)
        );
    }
}

#[test]
fn an_import_that_was_cut_off_is_continued() {
    let moved = Move::of_three();
    moved.import(&moved.lines[..2]).expect_code(0);
    let answer = moved.import(&moved.lines).expect_code(0).json().remove(0);
    assert_eq!(answer["copied_rows"], 1);
    assert_eq!(answer["skipped_rows"], 2);
    let input = moved.lines.join("\n");
    let again = moved.target.feed(&["import"], input.as_bytes());
    let text = again.expect_code(0).stdout;
    assert!(
        text.starts_with(&format!(
            "unchanged: {WORKFLOW}: nothing to copy, rows already there: 3; tail 3:"
        )),
        "{text}"
    );
    let shorter = moved.import(&moved.lines[..1]).expect_code(0).json();
    assert_eq!(shorter[0]["skipped_rows"], 1);
    assert_eq!(moved.rows(), 3);
}

#[test]
fn a_changed_line_is_refused_there() {
    let moved = Move::of_three();
    let line = &moved.lines[1];
    let parsed: Value = serde_json::from_str(line).expect("a line is JSON");
    let event = parsed["event"].as_str().expect("a string");
    let third: Value = serde_json::from_str(&moved.lines[2]).expect("a line is JSON");
    let check = |member: &str, value: Value, reason: &str| {
        let changed = changed(line, member, value);
        moved.check_second(changed.as_bytes(), reason);
    };
    let link = "does not link";
    check("event", event.replace("\"a\"", "\"b\"").into(), link);
    check("event", event.replacen('{', "{ ", 1).into(), link);
    check("event", third["event"].clone(), link);
    check("next_head", parsed["prior_head"].clone(), link);
    check("next_head", "hunter2".into(), link);
    check("prior_head", parsed["next_head"].clone(), link);
    check("transition_id", third["transition_id"].clone(), link);
    check("sequence", 3.into(), "which has sequence 2");
    check("sequence", 1.into(), "which has sequence 2");
    check("sequence", i64::MIN.into(), "which has sequence 2");
    check("event", "".into(), "the event of the row: ");
    check("event", "hunter2".into(), "the event of the row: ");
    let illegal = event.replace("patch_applied", "needs_plan");
    check("event", illegal.into(), "the event of the row: ");
    moved.check_second(moved.lines[0].as_bytes(), "which has sequence 2");
    moved.check_second(moved.lines[2].as_bytes(), "which has sequence 2");
    moved.import(&moved.lines).expect_code(0);
}

#[test]
fn a_row_of_another_workflow_is_refused() {
    let moved = Move::of_three();
    let foreign = changed(&moved.lines[0], "workflow_id", "another");
    let run = moved.import(&[foreign]).expect_code(6);
    assert!(
        run.stderr.contains("line 1: the row does not link"),
        "{run:?}"
    );
    let late = moved.import(&moved.lines[1..]).expect_code(6);
    assert!(late.stderr.contains("which has sequence 1"), "{late:?}");
    assert!(!moved.target.root().exists(), "no trace is left");
}

#[test]
fn hostile_lines_are_refused_without_an_echo() {
    let moved = Move::of_three();
    let line = moved.lines[1].as_str();
    let check = |line: &str, reason: &str| moved.check_second(line.as_bytes(), reason);
    let without = |name: &str| {
        let mut line: Value = serde_json::from_str(line).expect("a line is JSON");
        line.as_object_mut().expect("an object").remove(name);
        line.to_string()
    };
    let first = |member: &str| line.replacen('{', &format!("{{{member},"), 1);
    check("hunter2", "syntax error");
    check("{\"workflow_id\":", "syntax error");
    check(&format!("{line}x"), "syntax error");
    check(&format!("{line}{line}"), "syntax error");
    check("[1]", "not a row");
    check("null", "not a row");
    check(&"[".repeat(100_000), "not a row");
    check(&without("event"), "not a row");
    check(&without("workflow_id"), "not a row");
    check(&first("\"hunter2\":1"), "not a row");
    check(&first("\"sequence\":2"), "not a row");
    check(
        &changed(line, "event", json!({"a": "hunter2"})),
        "not a row",
    );
    check(&changed(line, "event", Value::Null), "not a row");
    check(&changed(line, "sequence", "2"), "not a row");
    check(&changed(line, "sequence", 2.5), "not a row");
    check(&changed(line, "sequence", u64::MAX), "not a row");
    check(&changed(line, "workflow_id", "../hunter2"), "not a row");
    check(&changed(line, "written_at", json!([])), "not a row");
    check(&first("\"event\":\"\\ud800\""), "");
    check(
        &format!("{{\"event\":\"{}\"}}", "x".repeat(1 << 20)),
        "longer",
    );
    moved.check_second(b"{\"event\":\"\xff\"}", "not UTF-8");
    moved.import(&moved.lines).expect_code(0);
}

#[test]
fn a_store_with_another_chain_is_refused_where_they_part() {
    let moved = Move::of_three();
    moved.target.record(&[three()[0].clone(), plan(9, "1")]);
    let run = moved.import(&moved.lines).expect_code(6);
    assert!(
        run.stderr
            .contains("line 2: the destination holds another chain")
            && run.stderr.contains("sequence 2"),
        "{run:?}"
    );
    assert_eq!(run.json()[0]["skipped_rows"], 1);
    assert_eq!(moved.rows(), 2);
}

#[test]
fn a_transition_that_is_recorded_otherwise_is_refused() {
    let moved = Move::of_three();
    let line = plan(1, "\"hunter2\"");
    moved.target.record(&[line]);
    let run = moved.import(&moved.lines).expect_code(6);
    assert!(
        run.stderr
            .contains("line 1: the destination holds another chain"),
        "{run:?}"
    );
    assert_eq!(run.stdout, "");
    assert_eq!(moved.rows(), 1);
}

#[test]
fn a_damaged_store_is_not_grown() {
    let moved = Move::of_three();
    moved.import(&moved.lines[..2]).expect_code(0);
    moved.target.sql(
        WORKFLOW,
        "UPDATE checkpoint_chain SET prior_head = next_head WHERE sequence = 2",
    );
    let run = moved.import(&moved.lines).expect_code(3);
    assert!(run.stderr.contains("line 1: "), "{run:?}");
    moved
        .target
        .sql(WORKFLOW, "DELETE FROM checkpoint_chain WHERE sequence = 2");
    moved.import(&moved.lines).expect_code(4);
    assert_eq!(moved.rows(), 1);
}

#[test]
fn lines_of_several_workflows_may_be_mixed() {
    let mut events = three();
    events.extend(three().iter().map(|line| line.replace(WORKFLOW, "another")));
    let moved = Move::of(&events);
    let (first, second) = moved.lines.split_at(3);
    let mixed: Vec<String> = first
        .iter()
        .zip(second)
        .flat_map(|(one, two)| [one.clone(), two.clone()])
        .collect();
    let answers = moved.import(&mixed).expect_code(0).json();
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().all(|answer| answer["copied_rows"] == 3));
    for workflow in ["another", WORKFLOW] {
        assert_eq!(
            stored(&moved.target.root(), workflow),
            stored(&moved.source.root(), workflow)
        );
    }
}

#[test]
fn files_and_memory_serve_too() {
    let moved = Move::of_three();
    let file = moved.source.path("rows.jsonl");
    std::fs::write(&file, moved.lines.join("\n")).expect("a file");
    let file = file.to_str().expect("a path in UTF-8");
    let arguments = ["import", "--store", "memory:", file];
    let text = moved.target.run(&arguments).expect_code(0).stdout;
    assert!(text.contains("rows: 3, already there: 0"), "{text}");
    assert_eq!(moved.import(&[]).expect_code(0).stdout, "");
    assert!(!moved.target.root().exists());
    moved.target.run(&["import", "no-such-file"]).expect_code(2);
}
