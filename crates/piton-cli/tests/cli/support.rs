//! Owns what the tests of the binary share: a scratch ledger, runs of `piton`, and events.
//! It asserts nothing about any command.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The workflow of most tests.
pub(crate) const WORKFLOW: &str = "remediate-1";

/// What one run of the binary gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Gives the output, one JSON value a line.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("each line is JSON"))
            .collect()
    }

    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}

/// A ledger in a directory of its own.
pub(crate) struct Scratch {
    directory: TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("ledger")
    }

    /// Makes the directory of a store that holds nothing yet.
    pub(crate) fn make_root(&self) {
        std::fs::create_dir(self.root()).expect("the scratch directory can be written to");
    }

    pub(crate) fn is_root_empty(&self) -> bool {
        std::fs::read_dir(self.root())
            .expect("the root is there")
            .next()
            .is_none()
    }

    pub(crate) fn url(&self) -> String {
        format!("sqlite:{}", self.root().display())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Gives the binary with the ledger in its environment and no terminal settings.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_piton"));
        command
            .args(arguments)
            .current_dir(self.directory.path())
            .env("PITON_STORE", self.url())
            .env_remove("NO_COLOR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.feed(arguments, b"")
    }

    pub(crate) fn feed(&self, arguments: &[&str], input: &[u8]) -> Run {
        let child = self.command(arguments).spawn().expect("piton starts");
        finish(child, input)
    }

    /// Appends lines and expects them to be taken.
    #[track_caller]
    pub(crate) fn record(&self, lines: &[String]) -> Vec<Value> {
        let run = self.feed(&["append"], lines.join("\n").as_bytes());
        run.expect_code(0).json()
    }

    /// Records plan, patch and completion of [`WORKFLOW`].
    #[track_caller]
    pub(crate) fn record_three(&self) -> Vec<Value> {
        self.record(&three())
    }

    /// Runs SQL on the database of a workflow, behind Piton's back.
    pub(crate) fn sql(&self, workflow: &str, statements: &str) {
        let path = self.root().join(workflow).join("checkpoints.sqlite");
        let database = rusqlite::Connection::open(path).expect("the database opens");
        database
            .execute_batch(statements)
            .expect("the statements run");
    }
}

/// One row as SQLite holds it, without the time of its writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredRow {
    pub(crate) sequence: i64,
    pub(crate) transition_id: String,
    pub(crate) prior_head: String,
    pub(crate) next_head: String,
    pub(crate) event: Vec<u8>,
}

/// Reads the rows of a workflow, behind Piton's back.
pub(crate) fn stored(root: &Path, workflow: &str) -> Vec<StoredRow> {
    let path = root.join(workflow).join("checkpoints.sqlite");
    let database = rusqlite::Connection::open(path).expect("the database opens");
    let mut statement = database
        .prepare(
            "SELECT sequence, transition_id, prior_head, next_head, event_bytes \
             FROM checkpoint_chain ORDER BY sequence",
        )
        .expect("the statement is sound");
    let rows = statement
        .query_map([], |row| {
            Ok(StoredRow {
                sequence: row.get(0)?,
                transition_id: row.get(1)?,
                prior_head: row.get(2)?,
                next_head: row.get(3)?,
                event: row.get(4)?,
            })
        })
        .expect("the rows can be read");
    rows.map(|row| row.expect("the row can be read")).collect()
}

/// Writes all input and waits; a child that stops reading early is no fault of the test.
pub(crate) fn finish(mut child: Child, input: &[u8]) -> Run {
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input);
    }
    let output = child.wait_with_output().expect("piton ends");
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("the output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("the errors are UTF-8"),
    }
}

/// The three events of [`Scratch::record_three`].
pub(crate) fn three() -> Vec<String> {
    vec![
        event(1, "needs_plan", "plan_ready", r#"{"plan":"raise it"}"#),
        event(2, "plan_ready", "patch_applied", r#"{"files":["a"]}"#),
        event(3, "patch_applied", "completed", r#"{"exit_code":1}"#),
    ]
}

/// One event without a chain head.
pub(crate) fn event(number: u16, prior: &str, next: &str, outcome: &str) -> String {
    event_of(WORKFLOW, number, prior, next, outcome)
}

pub(crate) fn event_of(
    workflow: &str,
    number: u16,
    prior: &str,
    next: &str,
    outcome: &str,
) -> String {
    let transition = format!("01JZ8Q5T9V6W3X2Y1Z0ABCD{number:03}");
    let evidence = "a".repeat(64);
    format!(
        r#"{{"workflow_id":"{workflow}","transition_id":"{transition}","prior_state_id":"{prior}","next_state_id":"{next}","triggering_outcome":{outcome},"evidence_digest":"blake3:{evidence}"}}"#
    )
}

/// A plan with this outcome.
pub(crate) fn plan(number: u16, outcome: &str) -> String {
    event(number, "needs_plan", "plan_ready", outcome)
}

/// Puts a member first into an object.
pub(crate) fn with_member(object: &str, member: &str) -> String {
    object.replacen('{', &format!("{{{member},"), 1)
}

/// Takes a member with a text value out of an object.
pub(crate) fn without_member(object: &str, name: &str) -> String {
    let start = object
        .find(&format!("\"{name}\":"))
        .expect("the member is there");
    let length = object[start..].find(',').expect("it is not the last") + 1;
    format!("{}{}", &object[..start], &object[start + length..])
}
