//! Tests the command line on Postgres, in a schema of its own for each test.

use serde_json::json;

use crate::original;
use crate::support::{Run, Scratch, WORKFLOW, event_of, finish, plan, stored, three};

/// A ledger in Postgres beside the one of a scratch.
struct Database {
    scratch: Scratch,
    url: String,
}

impl Database {
    fn unprepared() -> Self {
        let server = std::env::var("PITON_TEST_POSTGRES_URL").expect(
            "PITON_TEST_POSTGRES_URL names no server; run the tests with `cargo xtask test`",
        );
        let separator = if server.contains('?') { '&' } else { '?' };
        let schema = ulid::Ulid::generate().to_string().to_lowercase();
        Self {
            scratch: Scratch::new(),
            url: format!("{server}{separator}piton_schema=cli_{schema}"),
        }
    }

    #[track_caller]
    fn new() -> Self {
        let database = Self::unprepared();
        database.run(&["migrate"]).expect_code(0);
        database
    }

    fn run(&self, arguments: &[&str]) -> Run {
        self.feed(arguments, "")
    }

    fn feed(&self, arguments: &[&str], input: &str) -> Run {
        let mut command = self.scratch.command(arguments);
        let child = command.env("PITON_STORE", &self.url).spawn();
        finish(child.expect("piton starts"), input.as_bytes())
    }

    fn copy(&self, from: &str, to: &str) -> Run {
        let ends = ["copy", "--format", "json", "--from", from, "--to", to];
        self.scratch.run(&ends)
    }
}

#[test]
fn a_database_is_prepared_once_and_then_used() {
    let database = Database::unprepared();
    let early = database.run(&["list"]).expect_code(5);
    assert!(early.stderr.contains("migrate"), "{early:?}");
    for _ in 0..2 {
        let run = database.run(&["migrate"]).expect_code(0);
        assert!(run.stdout.starts_with("ready"), "{run:?}");
    }
    let lines = three().join("\n");
    let answers = database.feed(&["append"], &lines).expect_code(0).json();
    assert_eq!(answers[2]["sequence"], 3);
    let again = database.feed(&["append"], &lines).expect_code(0).json();
    assert_eq!(again[2]["status"], "already_present");
    let verdict = database.run(&["verify", "--all", "--format", "json"]);
    let verdict = verdict.expect_code(0).json().remove(0);
    assert_eq!(verdict["pin"], "matched");
    assert_eq!(verdict["verdict"]["rows"], 3);
    for arguments in [
        &["hydrate", WORKFLOW][..],
        &["log", WORKFLOW],
        &["list"],
        &["head", WORKFLOW],
    ] {
        database.run(arguments).expect_code(0);
    }
    let tail = database.run(&["head", WORKFLOW]).stdout;
    let accept = ["repin", WORKFLOW, "--accept", tail.trim_end()];
    database.run(&accept).expect_code(0);
    database.run(&["delete", WORKFLOW, "--yes"]).expect_code(0);
    assert_eq!(database.run(&["list"]).stdout, "no workflows\n");
}

#[test]
fn chains_move_there_and_back_unchanged() {
    let database = Database::new();
    let scratch = &database.scratch;
    original::record(scratch);
    scratch.record_three();
    let outcome = r#"{"text":"a\u0000b, ünï, 漢字"}"#;
    scratch.record(&[
        event_of("another", 1, "needs_plan", "plan_ready", outcome),
        event_of("another", 2, "plan_ready", "patch_applied", "1"),
    ]);
    let back = format!("sqlite:{}", scratch.path("back").display());
    for (from, to) in [
        (scratch.url().as_str(), database.url.as_str()),
        (&database.url, &back),
    ] {
        let copied = database.copy(from, to).expect_code(0).json();
        let rows: Vec<_> = copied.iter().map(|answer| &answer["copied_rows"]).collect();
        assert_eq!(rows, [&json!(3), &json!(2), &json!(3)]);
        for answer in database.copy(from, to).expect_code(0).json() {
            assert_eq!(answer["copied_rows"], 0, "{answer}");
        }
    }
    original::check_moved(&scratch.path("back"));
    for workflow in ["another", WORKFLOW] {
        assert_eq!(
            stored(&scratch.path("back"), workflow),
            stored(&scratch.root(), workflow)
        );
    }
}

#[test]
fn lines_move_there_and_back_unchanged() {
    let database = Database::new();
    let scratch = &database.scratch;
    original::record(scratch);
    scratch.record(&[plan(1, r#"{"text":"a\u0000b, ünï, 漢字"}"#), plan(2, "1")]);
    let lines = scratch.run(&["export", "--all"]).expect_code(0).stdout;
    database.feed(&["import"], &lines).expect_code(0);
    let lines = database.run(&["export", "--all"]).expect_code(0).stdout;
    let back = format!("sqlite:{}", scratch.path("back").display());
    scratch
        .feed(&["import", "--store", &back], lines.as_bytes())
        .expect_code(0);
    original::check_moved(&scratch.path("back"));
    assert_eq!(
        stored(&scratch.path("back"), WORKFLOW),
        stored(&scratch.root(), WORKFLOW)
    );
}

#[test]
fn another_chain_in_the_database_is_refused() {
    let database = Database::new();
    database.scratch.record_three();
    database.feed(&["append"], &three()[0]).expect_code(0);
    database.feed(&["append"], &plan(9, "1")).expect_code(0);
    let run = database.copy(&database.scratch.url(), &database.url);
    let refused = json!({"kind": "different_chain", "sequence": 2});
    assert_eq!(run.expect_code(6).json()[0]["refused"], refused);
    let lines = database.scratch.run(&["export", WORKFLOW]).stdout;
    let run = database.feed(&["import"], &lines).expect_code(6);
    assert!(run.stderr.contains("line 2"), "{run:?}");
    assert!(database.run(&["head", WORKFLOW]).stdout.starts_with("2:"));
}

#[test]
fn a_server_that_is_not_there_could_not_be_checked() {
    let scratch = Scratch::new();
    let url = "postgres://user:hunter2@127.0.0.1:1/db?password=swordfish";
    for arguments in [
        &["list", "--store", url][..],
        &["migrate", "--store", url],
        &["verify", WORKFLOW, "--store", url],
        &["copy", "--from", url, "--to", "memory:"],
    ] {
        let run = scratch.run(arguments).expect_code(5);
        for secret in ["hunter2", "swordfish"] {
            assert!(!run.stderr.contains(secret), "{run:?}");
            assert!(!run.stdout.contains(secret), "{run:?}");
        }
    }
}
