//! Owns a ledger as the original implementation wrote it, and the tests that it can be moved.

use crate::support::{Scratch, stored};

/// Its workflow.
pub(crate) const ORIGINAL: &str = "01HZZZZZZZZZZZZZZZZZZSCN001";

const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const STATES: [&str; 4] = ["needs_plan", "plan_ready", "patch_applied", "completed"];

/// The heads that the original implementation computed.
const HEADS: [&str; 3] = [
    "7893aece15da05844a38f25119b462486f50de5a8b528fc4d248959c494f681e",
    "133fd2c842882224b23fe138847ae74da12564b8257b925b93714664ce78ac3c",
    "0ef5e8322954069ec62965596f8a0620a5edb064fe4b197cf69a709f3153e6ca",
];

fn id(position: usize) -> String {
    format!("01HZZZZZZZZZZZZZSCN001A{:03}", position + 1)
}

fn event(position: usize) -> String {
    format!(
        r#"{{"transition_id":"{}","prior_state_id":"{}","next_state_id":"{}","triggering_outcome":{{"scenario":"golden"}},"evidence_digest":"blake3:{}","chain_head":"{GENESIS}","workflow_id":"{ORIGINAL}"}}"#,
        id(position),
        STATES[position],
        STATES[position + 1],
        "a".repeat(64),
    )
}

/// The columns of a table as the original made them, with or without what keeps them unique.
pub(crate) const TABLE: &str = "CREATE TABLE checkpoint_chain (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, transition_id TEXT NOT NULL UNIQUE,
    prior_head TEXT NOT NULL, next_head TEXT NOT NULL UNIQUE, event_bytes BLOB NOT NULL,
    written_at TEXT NOT NULL)";

/// Writes rows of transition id, prior head, next head and event, without a lock file.
pub(crate) fn write(
    scratch: &Scratch,
    workflow: &str,
    table: &str,
    rows: &[(String, String, String, String)],
) {
    let directory = scratch.root().join(workflow);
    std::fs::create_dir_all(&directory).expect("a directory");
    let database =
        rusqlite::Connection::open(directory.join("checkpoints.sqlite")).expect("a database");
    database.execute_batch(table).expect("the table is made");
    for (transition, prior, next, event) in rows {
        database
            .execute(
                "INSERT INTO checkpoint_chain \
                 (transition_id, prior_head, next_head, event_bytes, written_at) \
                 VALUES (?1, ?2, ?3, CAST(?4 AS BLOB), '2025-06-01T00:00:00+00:00')",
                [transition, prior, next, event],
            )
            .expect("the row is written");
    }
}

/// Writes the three rows of [`ORIGINAL`].
pub(crate) fn record(scratch: &Scratch) {
    let rows: Vec<_> = (0..HEADS.len())
        .map(|position| {
            let prior = match position.checked_sub(1) {
                Some(before) => HEADS[before],
                None => GENESIS,
            };
            let next = HEADS[position].to_owned();
            (id(position), prior.to_owned(), next, event(position))
        })
        .collect();
    write(scratch, ORIGINAL, TABLE, &rows);
}

/// Checks that a ledger holds the events byte for byte and heads of the same value.
#[track_caller]
pub(crate) fn check_moved(root: &std::path::Path) {
    let rows = stored(root, ORIGINAL);
    assert_eq!(rows.len(), HEADS.len());
    for (position, row) in rows.iter().enumerate() {
        assert_eq!(row.event, event(position).into_bytes());
        assert_eq!(row.next_head, format!("blake3:{}", HEADS[position]));
        assert_eq!(row.transition_id, id(position));
    }
}

#[test]
fn copying_keeps_bytes_and_heads() {
    let scratch = Scratch::new();
    record(&scratch);
    let source = stored(&scratch.root(), ORIGINAL);
    let target = scratch.path("copy");
    let to = format!("sqlite:{}", target.display());
    let run = scratch.run(&["copy", "--from", &scratch.url(), "--to", &to]);
    let tail = format!("3:blake3:{}", HEADS[2]);
    assert_eq!(
        run.expect_code(0).stdout,
        format!("copied: {ORIGINAL}: rows: 3, already there: 0; tail {tail}\n")
    );
    check_moved(&target);
    scratch
        .run(&["verify", ORIGINAL, "--store", &to, "--expect", &tail])
        .expect_code(0);
    assert_eq!(stored(&scratch.root(), ORIGINAL), source);
    let files = std::fs::read_dir(scratch.root().join(ORIGINAL)).expect("a directory");
    assert_eq!(files.count(), 1, "nothing is made beside the source");
}

#[test]
fn lines_keep_bytes_and_the_text_of_heads() {
    let scratch = Scratch::new();
    record(&scratch);
    let lines = scratch.run(&["export", ORIGINAL]).expect_code(0);
    for (position, line) in lines.json().iter().enumerate() {
        assert_eq!(line["event"], event(position).as_str());
        assert_eq!(line["next_head"], HEADS[position]);
        assert_eq!(line["written_at"], "2025-06-01T00:00:00+00:00");
    }
    let target = scratch.path("imported");
    let to = format!("sqlite:{}", target.display());
    scratch
        .feed(&["import", "--store", &to], lines.stdout.as_bytes())
        .expect_code(0);
    check_moved(&target);
}
