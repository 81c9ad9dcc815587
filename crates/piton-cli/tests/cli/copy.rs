//! Tests `copy`: the same chain afterwards, continued, refused, and never half believed.

use piton_sqlite::SqliteStore;
use piton_store::CheckpointStore as _;
use serde_json::{Value, json};

use crate::original;
use crate::support::{Run, Scratch, WORKFLOW, event, event_of, plan, stored, three};

/// A second ledger beside the one of a scratch.
struct Target<'a> {
    scratch: &'a Scratch,
    url: String,
}

impl<'a> Target<'a> {
    fn new(scratch: &'a Scratch) -> Self {
        let url = format!("sqlite:{}", scratch.path("copy").display());
        Self { scratch, url }
    }

    fn root(&self) -> std::path::PathBuf {
        self.scratch.path("copy")
    }

    fn copy(&self, arguments: &[&str]) -> Run {
        let from = self.scratch.url();
        let ends = ["copy", "--from", &from, "--to", &self.url];
        self.scratch.run(&[&ends, arguments].concat())
    }

    #[track_caller]
    fn copy_json(&self, code: i32) -> Vec<Value> {
        let run = self.copy(&["--format", "json"]).expect_code(code);
        assert_eq!(run.stderr, "");
        run.json()
    }

    #[track_caller]
    fn append(&self, lines: &[String]) {
        let arguments = ["append", "--store", &self.url];
        let run = self.scratch.feed(&arguments, lines.join("\n").as_bytes());
        run.expect_code(0);
    }

    /// Checks that the copy is refused, and that neither side has changed.
    #[track_caller]
    fn check_refused(&self, kind: &str, sequence: u64) {
        let written = |root| match std::path::Path::new(root).exists() {
            true => stored(std::path::Path::new(root), WORKFLOW),
            false => Vec::new(),
        };
        let (source, target) = (self.scratch.root(), self.root());
        let before = (written(&source), written(&target));
        let refused = json!({"kind": kind, "sequence": sequence});
        let run = self.copy(&["--format", "json", WORKFLOW]).expect_code(6);
        assert_eq!(
            run.json(),
            [json!({"workflow_id": WORKFLOW, "refused": refused})]
        );
        let text = self.copy(&[WORKFLOW]).expect_code(6).stdout;
        assert!(
            text.starts_with(&format!("refused: {WORKFLOW}: "))
                && text.contains(&format!("sequence {sequence}")),
            "{text}"
        );
        assert_eq!((written(&source), written(&target)), before);
    }
}

fn tail(answers: &[Value], rows: usize) -> String {
    let head = answers[rows - 1]["next_head"].as_str().expect("a head");
    format!("{rows}:{head}")
}

#[test]
fn every_workflow_is_copied_and_copied_once() {
    let scratch = Scratch::new();
    let target = Target::new(&scratch);
    let tail = tail(&scratch.record_three(), 3);
    scratch.record(&[event_of(
        "another",
        1,
        "needs_plan",
        "plan_ready",
        "\"é\\u0000\"",
    )]);
    let text = target.copy(&[]).expect_code(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("copied: another: rows: 1, already there: 0; tail 1:"));
    assert_eq!(
        lines[1],
        format!("copied: {WORKFLOW}: rows: 3, already there: 0; tail {tail}")
    );
    for workflow in ["another", WORKFLOW] {
        assert_eq!(
            stored(&target.root(), workflow),
            stored(&scratch.root(), workflow)
        );
    }
    let text = target.copy(&[WORKFLOW]).expect_code(0).stdout;
    assert_eq!(
        text,
        format!("unchanged: {WORKFLOW}: nothing to copy, rows already there: 3; tail {tail}\n")
    );
    assert_eq!(stored(&target.root(), WORKFLOW).len(), 3);
    let verify = [
        "verify",
        WORKFLOW,
        "--store",
        &target.url,
        "--expect",
        &tail,
    ];
    scratch.run(&verify).expect_code(0);
}

#[test]
fn a_chain_of_many_commits_is_copied_whole_and_continued() {
    let scratch = Scratch::new();
    let target = Target::new(&scratch);
    let lines = |numbers: std::ops::Range<u16>| -> Vec<String> {
        numbers.map(|number| plan(number, "null")).collect()
    };
    for (numbers, before) in [(0..300, 0), (300..813, 300)] {
        let new = numbers.len();
        let answers = scratch.record(&lines(numbers));
        let head = answers[new - 1]["next_head"].as_str().expect("a head");
        let copied = target.copy_json(0);
        assert_eq!(copied[0]["copied_rows"], new);
        assert_eq!(copied[0]["skipped_rows"], before);
        assert_eq!(copied[0]["tail"], format!("{}:{head}", before + new));
    }
    let rows = stored(&target.root(), WORKFLOW);
    assert_eq!(rows.len(), 813);
    assert_eq!(rows, stored(&scratch.root(), WORKFLOW));
}

#[test]
fn only_what_is_named_is_copied() {
    let scratch = Scratch::new();
    let target = Target::new(&scratch);
    scratch.record_three();
    scratch.record(&[event_of("another", 1, "needs_plan", "plan_ready", "1")]);
    target.copy(&["another"]).expect_code(0);
    assert!(target.root().join("another").is_dir());
    assert!(!target.root().join(WORKFLOW).exists());
}

#[test]
fn a_copy_that_was_cut_off_is_continued() {
    let scratch = Scratch::new();
    let target = Target::new(&scratch);
    let lines = three();
    scratch.record(&lines[..2]);
    target.copy(&[]).expect_code(0);
    let tail = tail(&scratch.record(&lines), 3);
    assert_eq!(
        target.copy_json(0),
        [json!({"workflow_id": WORKFLOW, "copied_rows": 1, "skipped_rows": 2, "tail": tail})]
    );
    assert_eq!(
        stored(&target.root(), WORKFLOW),
        stored(&scratch.root(), WORKFLOW)
    );
}

#[test]
fn long_chains_are_copied_whole() {
    let scratch = Scratch::new();
    let target = Target::new(&scratch);
    let lines: Vec<String> = (1..=230).map(|number| plan(number, "1")).collect();
    scratch.record(&lines[..117]);
    target.copy(&[]).expect_code(0);
    scratch.record(&lines);
    assert_eq!(target.copy_json(0)[0]["copied_rows"], 113);
    assert_eq!(
        stored(&target.root(), WORKFLOW),
        stored(&scratch.root(), WORKFLOW)
    );
}

#[test]
fn another_chain_is_refused_where_the_two_part() {
    let scratch = Scratch::new();
    let target = Target::new(&scratch);
    scratch.record_three();
    target.append(&[plan(9, "1")]);
    target.check_refused("different_chain", 1);
}

#[test]
fn a_chain_that_parts_later_is_refused_there() {
    let scratch = Scratch::new();
    let target = Target::new(&scratch);
    scratch.record_three();
    let lines = three();
    target.append(&[
        lines[0].clone(),
        event(2, "plan_ready", "patch_applied", "0"),
    ]);
    target.check_refused("different_chain", 2);
    target.append(&[plan(4, "1"), plan(5, "1")]);
    target.check_refused("different_chain", 2);
}

#[test]
fn a_longer_chain_is_refused() {
    let scratch = Scratch::new();
    let target = Target::new(&scratch);
    target.append(&three());
    scratch.make_root();
    let source = target.copy(&[WORKFLOW]).expect_code(6).stdout;
    assert!(source.contains("goes on at sequence 1"), "{source}");
    assert!(scratch.is_root_empty());
    scratch.record(&three()[..2]);
    target.check_refused("longer_chain", 3);
}

#[test]
fn nothing_is_copied_of_nothing() {
    let scratch = Scratch::new();
    let target = Target::new(&scratch);
    scratch.make_root();
    let run = target.copy(&[]).expect_code(0);
    assert_eq!(run.stdout, "");
    assert_eq!(run.stderr, "the source holds no workflow\n");
    let run = target.copy(&[WORKFLOW]).expect_code(0);
    assert_eq!(run.stdout, format!("empty: {WORKFLOW}: nothing to copy\n"));
    assert!(!target.root().exists() && scratch.is_root_empty());
}

#[test]
fn a_tampered_source_is_refused_and_the_others_are_copied() {
    let scratch = Scratch::new();
    let target = Target::new(&scratch);
    for workflow in ["a-cut", "b-changed", "c-intact"] {
        scratch.record(&[
            event_of(workflow, 1, "needs_plan", "plan_ready", "1"),
            event_of(workflow, 2, "plan_ready", "patch_applied", "1"),
        ]);
    }
    scratch.sql("a-cut", "DELETE FROM checkpoint_chain WHERE sequence = 2");
    scratch.sql(
        "b-changed",
        "UPDATE checkpoint_chain SET event_bytes = CAST(replace(CAST(event_bytes AS TEXT), \
         'outcome\":1', 'outcome\":2') AS BLOB) WHERE sequence = 2",
    );
    let answers = target.copy_json(3);
    assert_eq!(answers[0]["side"], "source");
    assert_eq!(answers[0]["verdict"]["reason"], "truncated_tail");
    assert_eq!(answers[1]["verdict"]["divergence_index"], 1);
    assert_eq!(answers[2]["copied_rows"], 2);
    for refused in ["a-cut", "b-changed"] {
        assert!(!target.root().join(refused).exists(), "{refused}");
    }
    let run = target.copy(&["a-cut", "c-intact"]).expect_code(4);
    assert!(
        run.stdout
            .starts_with("not copied: a-cut: the source is not intact; nothing was written\n"),
        "{run:?}"
    );
}

#[test]
fn a_tampered_destination_is_not_grown() {
    let scratch = Scratch::new();
    let target = Target::new(&scratch);
    let lines = three();
    scratch.record(&lines[..2]);
    target.copy(&[]).expect_code(0);
    scratch.record(&lines);
    let path = target.root().join(WORKFLOW).join("checkpoints.sqlite");
    let database = rusqlite::Connection::open(path).expect("the database opens");
    database
        .execute_batch("UPDATE checkpoint_chain SET prior_head = next_head WHERE sequence = 2")
        .expect("the statement runs");
    let answers = target.copy_json(3);
    assert_eq!(answers[0]["side"], "destination");
    assert_eq!(answers[0]["verdict"]["cause"], "prior_head");
    assert_eq!(stored(&target.root(), WORKFLOW).len(), 2);
}

#[test]
fn one_transition_twice_in_a_source_is_refused() {
    let scratch = Scratch::new();
    let target = Target::new(&scratch);
    let head = |prior: &str, event: &str| {
        blake3::hash(format!("{prior}\u{1e}{event}").as_bytes())
            .to_hex()
            .to_string()
    };
    let genesis = "0".repeat(64);
    let member = format!("{{\"chain_head\":\"{genesis}\",");
    let check = |workflow: &str, second_outcome: &str| {
        let event = |outcome: &str| {
            event_of(workflow, 1, "needs_plan", "plan_ready", outcome).replacen('{', &member, 1)
        };
        let (one, two) = (event("1"), event(second_outcome));
        let first = head(&genesis, &one);
        let second = head(&first, &two);
        let id = "01JZ8Q5T9V6W3X2Y1Z0ABCD001".to_owned();
        let rows = [
            (id.clone(), genesis.clone(), first.clone(), one),
            (id, first, second, two),
        ];
        let table = original::TABLE.replace(" UNIQUE", "");
        original::write(&scratch, workflow, &table, &rows);
        scratch.run(&["verify", workflow]).expect_code(0);
        let run = target.copy(&["--format", "json", workflow]).expect_code(6);
        let refused = json!({"kind": "repeated_transition", "sequence": 2});
        assert_eq!(run.json()[0]["refused"], refused);
        assert_eq!(stored(&target.root(), workflow).len(), 1);
    };
    check("same", "1");
    check("other", "2");
}

#[test]
fn a_destination_that_is_locked_could_not_be_checked() {
    let scratch = Scratch::new();
    let target = Target::new(&scratch);
    scratch.record_three();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime starts");
    runtime.block_on(async {
        let store = SqliteStore::open(target.root()).expect("the store opens");
        let workflow = WORKFLOW.parse().expect("an id");
        let lock = store.lock(&workflow).await.expect("the lock is free");
        let quickly = ["--busy-timeout", "20ms", "--format", "json"];
        let run = target.copy(&quickly).expect_code(5);
        assert_eq!(run.json()[0]["side"], "destination");
        assert_eq!(run.json()[0]["error"]["kind"], "busy");
        assert_eq!(run.json()[0]["error"]["retry"], true);
        drop(lock);
    });
    assert_eq!(target.copy_json(0)[0]["copied_rows"], 3);
}

#[test]
fn memory_can_be_a_destination() {
    let scratch = Scratch::new();
    let tail = tail(&scratch.record_three(), 3);
    let run = scratch.run(&["copy", "--from", &scratch.url(), "--to", "memory:"]);
    assert_eq!(
        run.expect_code(0).stdout,
        format!("copied: {WORKFLOW}: rows: 3, already there: 0; tail {tail}\n")
    );
    scratch.run(&["copy", "--to", "memory:"]).expect_code(2);
}

#[test]
fn a_ledger_copied_onto_itself_is_unchanged() {
    let scratch = Scratch::new();
    scratch.record_three();
    let url = scratch.url();
    let run = scratch.run(&["copy", "--from", &url, "--to", &url]);
    assert!(run.expect_code(0).stdout.starts_with("unchanged: "));
}
