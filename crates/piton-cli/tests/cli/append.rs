//! Tests `append`: what is filled in, what is acknowledged, what is refused.

use std::io::{BufRead as _, BufReader, Write as _};

use serde_json::Value;

use crate::support::{
    Scratch, WORKFLOW, event_of, finish, plan, three, with_member, without_member,
};

fn status(acknowledgement: &Value) -> &str {
    acknowledgement["status"].as_str().expect("a status")
}

#[test]
fn each_event_is_acknowledged_with_its_place_in_the_chain() {
    let scratch = Scratch::new();
    let answers = scratch.record_three();
    assert_eq!(answers.len(), 3);
    for (index, answer) in answers.iter().enumerate() {
        assert_eq!(answer["workflow_id"], WORKFLOW);
        assert_eq!(answer["sequence"], index + 1);
        assert_eq!(status(answer), "appended");
        let head = answer["next_head"].as_str().expect("a head");
        assert!(head.starts_with("blake3:") && head.len() == 71);
    }
    let tail = scratch.run(&["head", WORKFLOW]).expect_code(0).stdout;
    let head = answers[2]["next_head"].as_str().expect("a head");
    assert_eq!(tail, format!("3:{head}\n"));
}

#[test]
fn a_missing_head_is_that_of_the_tail() {
    let scratch = Scratch::new();
    let answers = scratch.record_three();
    let rows = scratch
        .run(&["verify", WORKFLOW, "--events", "--format", "json"])
        .expect_code(0)
        .json();
    let events = rows[0]["verdict"]["events"].as_array().expect("events");
    let genesis = format!("blake3:{}", "0".repeat(64));
    assert_eq!(events[0]["chain_head"], genesis.as_str());
    assert_eq!(events[1]["chain_head"], answers[0]["next_head"]);
    assert_eq!(events[2]["chain_head"], answers[1]["next_head"]);
}

#[test]
fn a_line_sent_again_is_already_present() {
    let scratch = Scratch::new();
    let first = scratch.record_three();
    let second = scratch.record_three();
    for (first, second) in first.iter().zip(&second) {
        assert_eq!(status(second), "already_present");
        assert_eq!(second["sequence"], first["sequence"]);
        assert_eq!(second["next_head"], first["next_head"]);
    }
    assert_eq!(second.len(), 3);
}

#[test]
fn another_event_under_a_recorded_id_is_a_conflict() {
    let scratch = Scratch::new();
    scratch.record_three();
    let run = scratch
        .feed(&["append"], plan(1, r#"{"plan":"another"}"#).as_bytes())
        .expect_code(6);
    assert!(run.stderr.contains("different content"), "{run:?}");
    assert_eq!(run.stdout, "");
}

#[test]
fn missing_transition_ids_are_minted_and_ascend() {
    let scratch = Scratch::new();
    let line = without_member(&plan(1, "1"), "transition_id");
    let answers = scratch.record(&[line.clone(), line]);
    let ids: Vec<&str> = answers
        .iter()
        .map(|answer| answer["transition_id"].as_str().expect("an id"))
        .collect();
    assert!(ids[0].len() == 26 && ids[0] < ids[1], "{ids:?}");
    assert!(answers.iter().all(|answer| status(answer) == "appended"));
}

#[test]
fn a_broken_line_keeps_the_lines_before_it() {
    let scratch = Scratch::new();
    let mut lines = three();
    lines.insert(2, "{\"workflow_id\":".to_owned());
    lines.push(plan(4, "1"));
    let run = scratch.feed(&["append"], lines.join("\n").as_bytes());
    let run = run.expect_code(6);
    assert_eq!(run.json().len(), 2);
    assert!(run.stderr.starts_with("error: line 3: "), "{run:?}");
    let log = scratch.run(&["log", WORKFLOW, "--format", "json"]);
    assert_eq!(log.expect_code(0).json().len(), 2);
}

#[test]
fn each_answer_comes_before_the_next_line_is_read() {
    let scratch = Scratch::new();
    let mut child = scratch.command(&["append"]).spawn().expect("piton starts");
    let mut input = child.stdin.take().expect("an input");
    let mut output = BufReader::new(child.stdout.take().expect("an output"));
    for line in three() {
        writeln!(input, "{line}").expect("piton reads");
        let mut answer = String::new();
        output.read_line(&mut answer).expect("piton answers");
        assert!(answer.contains("\"appended\""), "{answer}");
    }
    drop(input);
    assert!(child.wait().expect("piton ends").success());
}

#[test]
fn blank_lines_are_skipped_and_a_file_is_read() {
    let scratch = Scratch::new();
    let file = scratch.path("events.jsonl");
    let text = format!("\n{}\r\n \t\n\n{}", plan(1, "1"), plan(2, "2"));
    std::fs::write(&file, text).expect("the file is written");
    let name = file.to_str().expect("UTF-8");
    let run = scratch.run(&["append", name]).expect_code(0);
    assert_eq!(run.json().len(), 2);
    scratch.run(&["append", "no-such-file"]).expect_code(2);
}

#[test]
fn a_fence_refuses_a_stale_head() {
    let scratch = Scratch::new();
    let tail = scratch.record_three()[2]["next_head"].clone();
    let stale = with_member(
        &plan(4, "1"),
        &format!("\"chain_head\":\"blake3:{}\"", "0".repeat(64)),
    );
    let run = scratch.feed(&["append", "--fenced"], stale.as_bytes());
    let run = run.expect_code(6);
    assert!(run.stderr.contains("stale head"), "{run:?}");
    let bare = scratch.feed(&["append", "--fenced"], plan(4, "1").as_bytes());
    assert!(bare.expect_code(6).stderr.contains("chain_head is missing"));
    let fresh = with_member(&plan(4, "1"), &format!("\"chain_head\":{tail}"));
    let run = scratch.feed(&["append", "--fenced"], fresh.as_bytes());
    assert_eq!(run.expect_code(0).json()[0]["sequence"], 4);
    let unfenced = scratch.feed(&["append"], stale.replace("D004", "D005").as_bytes());
    assert_eq!(unfenced.expect_code(0).json()[0]["sequence"], 5);
}

/// Refused input leaves no trace on disk, and is not repeated.
#[track_caller]
fn check_refused(line: &[u8], reason: &str) {
    let scratch = Scratch::new();
    let run = scratch.feed(&["append"], line).expect_code(6);
    assert_eq!(run.stdout, "");
    assert!(run.stderr.starts_with("error: line 1: "), "{run:?}");
    assert!(run.stderr.contains(reason), "{run:?}");
    assert!(!run.stderr.contains("hunter2"), "{run:?}");
    let left = std::fs::read_dir(scratch.root()).map_or(0, Iterator::count);
    assert_eq!(left, 0, "a refused event left something on disk");
    let dry = scratch.feed(&["seal"], line).expect_code(6);
    assert_eq!(dry.stderr, run.stderr, "a dry run tells the same");
}

#[test]
fn hostile_json_is_refused() {
    let check = |line: &str, reason: &str| check_refused(line.as_bytes(), reason);
    let nested = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    check(&plan(1, &nested), "nesting too deep");
    check(&plan(1, r#""hunter2\ud800""#), "lone surrogate");
    check(&plan(1, r#"{"a":"hunter2","a":2}"#), "duplicate object key");
    check(&plan(1, r#"{"a":1,"\u0061":2}"#), "duplicate object key");
    check(&plan(1, "1e999"), "number too large");
    check(&plan(1, "NaN"), "syntax error");
    check(&plan(1, "123456789012345678901"), "integer outside 64 bits");
    check("[1]", "not one JSON object");
    check("{}", "is missing");
    check("{} {}", "not one JSON object");
    check("\"hunter2\"", "not one JSON object");
    let double = with_member(&plan(1, "1"), r#""evidence_digest":"hunter2""#);
    check(&double, "evidence_digest appears twice");
    let double = with_member(
        &plan(1, "1"),
        &format!("\"transition_id\":\"{}\"", "0".repeat(26)),
    );
    check(&double, "transition_id appears twice");
    check(
        &with_member(&plan(1, "1"), r#""hunter2":1"#),
        "does not have",
    );
    check(
        &with_member(&plan(1, "1"), r#""chain_head":null"#),
        "not a string",
    );
    let mut bytes = plan(1, "\"x\"").into_bytes();
    let at = bytes.iter().position(|byte| *byte == b'x').expect("there");
    bytes[at] = 0xff;
    check_refused(&bytes, "not UTF-8");
}

#[test]
fn oversized_events_are_refused() {
    let padding = |length: usize| format!("\"{}\"", "x".repeat(length));
    let frame = {
        let scratch = Scratch::new();
        let sealed = scratch.feed(&["seal"], plan(1, "\"\"").as_bytes());
        let size = sealed.expect_code(0).json()[0]["size_bytes"].as_u64();
        usize::try_from(size.expect("a size")).expect("it is small")
    };
    let most = 65_536 - frame;
    check_refused(
        plan(1, &padding(most + 1)).as_bytes(),
        "workflows.checkpoint_payload_too_large",
    );
    check_refused(
        plan(1, &padding(2 * 1024 * 1024)).as_bytes(),
        "longer than 1048576 bytes",
    );
    Scratch::new().record(&[plan(1, &padding(most))]);
}

#[test]
fn moves_that_may_not_be_recorded_are_refused() {
    let check = |prior: &str, next: &str, reason: &str| {
        check_refused(event_of(WORKFLOW, 1, prior, next, "1").as_bytes(), reason);
    };
    check("needs_plan", "completed", "illegal edge");
    check("completed", "needs_plan", "nothing can");
    check(
        "gate_failed_retryable",
        "needs_plan",
        "not a semantic boundary",
    );
    check(
        "needs_plan",
        "hunter2",
        "not a state of the vulnerability ledger",
    );
}

#[test]
fn hostile_ids_are_refused_as_input() {
    let long = "a".repeat(129);
    let hostile = [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\\\b",
        "/etc/x",
        "CON",
        "com1.txt",
        "a b",
        "-a",
        "a.",
        "\\u0000",
        "\\u202ea",
        "é",
        &long,
        "x'; DROP TABLE checkpoint_chain; --",
    ];
    for id in hostile {
        let line = event_of(id, 1, "needs_plan", "plan_ready", "1");
        check_refused(line.as_bytes(), "workflow id");
    }
    let secret = format!("ghp_{}", "aB3dE5fG7h".repeat(4));
    let line = event_of(&secret[..40], 1, "needs_plan", "plan_ready", "1");
    check_refused(line.as_bytes(), "looks like a secret");
}

#[test]
fn hostile_ids_are_usage_errors_as_arguments() {
    let scratch = Scratch::new();
    for id in ["", "..", "../x", "a/b", "NUL", "\u{1b}[31mx", "\u{202e}x"] {
        for command in [
            &["verify"][..],
            &["hydrate"],
            &["log"],
            &["head"],
            &["delete", "--yes"],
        ] {
            let run = scratch.run(&[command, &["--", id]].concat()).expect_code(2);
            assert!(!run.stderr.contains(['\u{1b}', '\u{202e}']), "{run:?}");
            assert!(run.stderr.contains("a workflow id"), "{run:?}");
        }
    }
    assert!(!scratch.root().exists());
}

#[test]
fn two_processes_share_one_workflow() {
    let scratch = Scratch::new();
    let lines = |first: u16| -> String {
        (first..first + 25)
            .map(|number| plan(number, "1") + "\n")
            .collect()
    };
    let spawn = || scratch.command(&["append"]).spawn().expect("piton starts");
    let (left, right) = (spawn(), spawn());
    let (left, right) = std::thread::scope(|scope| {
        let left = scope.spawn(move || finish(left, lines(0).as_bytes()));
        let right = finish(right, lines(100).as_bytes());
        (left.join().expect("it ends"), right)
    });
    let mut sequences: Vec<u64> = [left, right]
        .into_iter()
        .flat_map(|run| run.expect_code(0).json())
        .map(|answer| answer["sequence"].as_u64().expect("a sequence"))
        .collect();
    sequences.sort_unstable();
    assert_eq!(sequences, (1..=50).collect::<Vec<u64>>());
    scratch.run(&["verify", WORKFLOW]).expect_code(0);
}

#[test]
fn secrets_do_not_reach_the_disk() {
    let scratch = Scratch::new();
    scratch.record(&[plan(1, r#"{"npm_token":"hunter2"}"#)]);
    let directory = scratch.root().join(WORKFLOW);
    for entry in std::fs::read_dir(directory).expect("the ledger is there") {
        let bytes = std::fs::read(entry.expect("readable").path()).expect("readable");
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"));
    }
}
