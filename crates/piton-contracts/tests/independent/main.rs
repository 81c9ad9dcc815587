//! Holds the product and `docs/verify_chain.py`, which shares no code with it, to the
//! same answers: on random ledgers, on every damage of the tamper matrix, on events at the edges
//! of the format, and on the files that a crash leaves. A difference is a fault of one of the two,
//! or of `docs/chain-format.md`.

mod agree;
mod damage;
mod events;
mod ledger;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use agree::{Tally, assert_agreement, assert_agreement_on_files, essence, piton, script};
use damage::{DAMAGES, Random};
use ledger::Ledger;
use piton_cli::ExitStatus;
use piton_ledger::{VulnState, WorkflowId};
use piton_sqlite::SqliteStore;
use piton_store::{CheckpointStore, CheckpointStoreExt, ExpectedHead, seal};
use piton_testkit::strategy::arbitrary_history;
use piton_testkit::tamper::{Answer, TrueVerifier, Verify};
use piton_testkit::{MemoryHarness, TAMPERS, run, tampers};
use piton_verify::Expectations;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value;

/// Every kind of answer that rows alone can lead to.
const ANSWERS: [&str; 13] = [
    "chain_mismatch expected_head",
    "chain_mismatch next_head",
    "chain_mismatch pinned_head",
    "chain_mismatch prior_head",
    "chain_mismatch sequence",
    "chain_mismatch transition_id",
    "chain_mismatch workflow_id",
    "empty_workflow",
    "torn_write duplicate_chain_link",
    "torn_write null_event_bytes",
    "torn_write truncated_tail",
    "torn_write unparseable_event",
    "verified",
];

#[track_caller]
fn assert_every_answer(tally: &Tally, further: &[&str]) {
    let given: BTreeSet<&str> = tally.keys().map(String::as_str).collect();
    let known = ANSWERS.iter().chain(further).copied().collect();
    assert_eq!(given, known, "{tally:?}");
}

/// What the tamper matrix put before its verifier.
static RECORDED: Mutex<Vec<Ledger>> = Mutex::new(Vec::new());

fn recorded() -> std::sync::MutexGuard<'static, Vec<Ledger>> {
    RECORDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The verifier of the product, which notes what it is asked about.
struct Recorder;

impl Verify for Recorder {
    async fn verify<S: CheckpointStore>(
        store: &S,
        workflow: &WorkflowId,
        expectations: Expectations,
    ) -> Answer {
        let rows = store.collect_rows(workflow).await?;
        let pin = store.pinned_tail(workflow).await?;
        let mut ledger = Ledger::new(workflow, rows, pin);
        ledger.expectations = expectations;
        recorded().push(ledger);
        TrueVerifier::verify(store, workflow, expectations).await
    }
}

/// The matrix demands the exact verdict of each damage, so a damage that does nothing fails there.
#[test]
fn the_script_agrees_on_the_tamper_matrix() {
    let mut ledgers = Vec::new();
    let mut silent = Vec::new();
    for case in tampers::<MemoryHarness, Recorder>() {
        run((case.start)());
        let put = std::mem::take(&mut *recorded());
        if put.is_empty() {
            silent.push(case.name);
        }
        ledgers.extend(put.into_iter().map(|ledger| (case.name.to_owned(), ledger)));
    }
    // These two are about reads and ask no verifier.
    let reads = [
        "untouched_rows_and_tail_are_served_as_they_are",
        "damaged_rows_and_tail_are_served_as_they_are",
    ];
    assert_eq!(silent, reads);
    assert!(ledgers.len() > 10 * TAMPERS.len(), "{}", ledgers.len());
    assert_every_answer(&assert_agreement(&ledgers), &[]);
}

/// How many kinds of damage each random ledger gets.
const KINDS: usize = 13;

/// Records random histories and gives them as they lie on the disk, with their lock files.
fn record(root: &Path, count: usize) -> Vec<Ledger> {
    let mut runner = TestRunner::deterministic();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let store = SqliteStore::open(root).expect("a store");
    let mut ledgers = Vec::new();
    for number in 0..count {
        let workflow: WorkflowId = format!("w{number:03}").parse().expect("a workflow id");
        let history = arbitrary_history(workflow.clone(), 8).new_tree(&mut runner);
        for event in history.expect("a history").current() {
            let sealed = seal::<VulnState>(&event).expect("sealable");
            let appended = runtime.block_on(store.append(&sealed, ExpectedHead::Any));
            appended.expect("an append");
        }
        let rows = runtime
            .block_on(store.collect_rows(&workflow))
            .expect("rows");
        let lock = std::fs::read(root.join(workflow.as_str()).join("checkpoints.lock"));
        let mut ledger = Ledger::new(&workflow, rows, None);
        ledger.lock = Some(lock.expect("a lock file"));
        ledger.layout = piton_sqlite::LAYOUT_VERSION;
        ledgers.push(ledger);
    }
    runtime.block_on(store.close()).expect("the store closes");
    ledgers
}

#[test]
fn the_script_agrees_on_random_ledgers() {
    let place = tempfile::tempdir().expect("a directory");
    let ledgers = record(place.path(), 200);
    assert_intact(place.path(), ledgers.len());
}

#[test]
fn the_script_agrees_on_damaged_copies_of_random_ledgers() {
    let place = tempfile::tempdir().expect("a directory");
    let ledgers = record(place.path(), 60);
    let mut random = Random(1);
    let mut damaged = Vec::new();
    let mut injections: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, intact) in ledgers.iter().enumerate() {
        // So many kinds for each ledger that each kind meets about twenty.
        for (name, damage) in DAMAGES.iter().cycle().skip(number * KINDS).take(KINDS) {
            let mut ledger = intact.clone();
            if damage(&mut ledger, &mut random).is_none() {
                continue;
            }
            let what = format!("{name} of {}", intact.workflow);
            assert!(ledger != *intact, "{what} changes nothing");
            *injections.entry(*name).or_default() += 1;
            damaged.push((what, ledger));
        }
    }
    let rare: Vec<_> = DAMAGES
        .iter()
        .filter(|(name, _)| injections.get(name).is_none_or(|count| *count < 10))
        .collect();
    assert!(rare.is_empty(), "{injections:?}");
    assert_every_answer(&assert_agreement(&damaged), &["error"]);
}

/// Holds both to each other on a whole store, and on its export as `piton export` prints it.
fn assert_intact(root: &Path, count: usize) {
    let store = format!("--store=sqlite:{}", root.display());
    let arguments = |rest: &[&str]| {
        let rest = rest.iter().map(|&argument| argument.to_owned());
        rest.chain([store.clone()]).collect::<Vec<_>>()
    };
    let export = root.join("export.jsonl");
    let (_, lines) = piton(&arguments(&["export", "--all"]));
    std::fs::write(&export, lines).expect("an export");
    let (_, lines) = piton(&arguments(&["verify", "--all", "--format=json"]));
    let product = answers(&lines);
    assert_eq!(product.len(), count);
    for (path, pin) in [(root, "matched"), (&export, "none")] {
        let output = script()
            .arg("--json")
            .arg(path)
            .output()
            .expect("Python starts");
        assert!(output.status.success(), "{output:?}");
        let script = answers(&String::from_utf8(output.stdout).expect("text"));
        let expected: Vec<Value> = product
            .iter()
            .map(|answer| {
                assert_eq!(answer["verdict"]["kind"], "verified");
                let mut answer = answer.clone();
                answer["pin"] = pin.into();
                answer
            })
            .collect();
        assert_eq!(script, expected);
    }
}

fn answers(lines: &str) -> Vec<Value> {
    let read = |line| essence(&serde_json::from_str(line).expect("JSON"));
    lines.lines().map(read).collect()
}

#[test]
fn the_script_agrees_on_what_only_sqlite_can_hold() {
    let place = tempfile::tempdir().expect("a directory");
    let ledgers = record(place.path(), 12);
    let longest = ledgers.iter().max_by_key(|ledger| ledger.rows.len());
    let longest = longest.expect("ledgers");
    let tally = assert_agreement(&damage::by_every_statement(longest));
    assert!(tally.len() > 5, "{tally:?}");
}

#[test]
fn the_script_agrees_on_what_is_an_event() {
    let ledgers = events::ledgers();
    let tally = assert_agreement(&ledgers);
    for kind in ["verified", "torn_write unparseable_event"] {
        assert!(tally[kind] > 200, "{tally:?}");
    }
}

/// The bytes with one part of them replaced by another.
fn replaced(bytes: &[u8], part: &[u8], by: &[u8]) -> Vec<u8> {
    let at = bytes.windows(part.len()).position(|window| window == part);
    let mut bytes = bytes.to_vec();
    let at = at.expect("it is there");
    bytes.splice(at..at + part.len(), by.iter().copied());
    bytes
}

/// What a killed writer leaves: a database, perhaps empty, and a log that holds its newest rows.
#[test]
fn the_script_agrees_on_what_a_crash_leaves() {
    let place = tempfile::tempdir().expect("a directory");
    let root = place.path().join("live");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let workflow: WorkflowId = "w".parse().expect("a workflow id");
    let store = SqliteStore::open(&root).expect("a store");
    for event in piton_testkit::history::first(&workflow, 6) {
        let appended = runtime.block_on(store.append(&event, ExpectedHead::Any));
        appended.expect("an append");
    }
    let live = root.join("w");
    let file = |name: &str| std::fs::read(live.join(name)).expect("a file");
    let (database, lock) = (file("checkpoints.sqlite"), file("checkpoints.lock"));
    let log = file("checkpoints.sqlite-wal");
    assert!(log.len() > 6 * 4096, "the rows are in the log");
    let mut homes = Vec::new();
    let mut leave = |what: &str, database: &[u8], log: &[u8], journal: &[u8]| {
        let home = place.path().join(homes.len().to_string()).join("w");
        std::fs::create_dir_all(&home).expect("a directory");
        for (name, bytes) in [
            ("checkpoints.sqlite", database),
            ("checkpoints.sqlite-wal", log),
            ("checkpoints.sqlite-journal", journal),
            ("checkpoints.lock", &lock),
        ] {
            if !bytes.is_empty() {
                std::fs::write(home.join(name), bytes).expect("a file");
            }
        }
        homes.push((what.to_owned(), home));
    };
    leave("the whole log", &database, &log, b"");
    leave("no log", &database, b"", b"");
    leave("no database", b"", &log, b"");
    leave("neither", b"", b"", b"");
    leave("a journal", &database, &log, b"journal");
    leave("a damaged database", &database[..100], b"", b"");
    leave("no database at all", b"this is no database", b"", b"");
    // SQLite quotes a name that it can't read, in a message that is then no UTF-8.
    let named = replaced(&database, b"tablecheckpoint", b"table\x8fheckpoint");
    let broken = replaced(
        &named,
        b"CREATE TABLE checkpoint",
        b"CREATE TABLE (heckpoint",
    );
    leave("a schema that is no text", &broken, b"", b"");
    for part in 1..40 {
        let length = log.len() * part / 40;
        leave(
            &format!("{length} bytes of the log"),
            &database,
            &log[..length],
            b"",
        );
        let mut damaged = log.clone();
        damaged[length] ^= 1;
        leave(
            &format!("a flipped bit at {length}"),
            &database,
            &damaged,
            b"",
        );
    }
    let tally = assert_agreement_on_files(&homes);
    for kind in ["verified", "torn_write truncated_tail", "error"] {
        assert!(tally.contains_key(kind), "{tally:?}");
    }
    runtime.block_on(store.close()).expect("the store closes");
}

#[test]
fn the_exit_codes_are_the_promised_ones() {
    let place = tempfile::tempdir().expect("a directory");
    let ledgers = record(place.path(), 4);
    let home = |at: usize| place.path().join(ledgers[at].workflow.as_str());
    let change = |at: usize, statement: &str| {
        let database = rusqlite::Connection::open(home(at).join("checkpoints.sqlite"));
        let changed = database.expect("a database").execute(statement, ());
        assert_ne!(changed.expect("a statement"), 0);
    };
    change(
        1,
        "UPDATE checkpoint_chain SET event_bytes = event_bytes || ' '",
    );
    change(2, "DELETE FROM checkpoint_chain");
    std::fs::remove_file(home(3).join("checkpoints.lock")).expect("a lock file");
    let check = |paths: &[&Path], expected: i32| {
        let output = script().args(paths).output().expect("Python starts");
        assert_eq!(output.status.code(), Some(expected), "{output:?}");
    };
    let [intact, mismatch, torn, unpinned] = [0, 1, 2, 3].map(home);
    check(&[&intact], 0);
    check(&[&mismatch], 3);
    check(&[&torn], 4);
    check(&[&unpinned], 5);
    check(&[&intact, &unpinned], 5);
    check(&[&intact, &unpinned, &torn], 4);
    check(&[place.path()], 3);
    check(&[&place.path().join("nothing")], 5);
    check(&[], 2);
}

/// What `piton import` takes, and nothing else, is an intact chain to the script.
#[test]
fn the_script_agrees_on_what_is_an_export() {
    let place = tempfile::tempdir().expect("a directory");
    record(place.path(), 3);
    let store = format!("--store=sqlite:{}", place.path().display());
    let (_, export) = piton(&["export".to_owned(), "--all".to_owned(), store]);
    let path = place.path().join("lines.jsonl");
    let check = |what: &str, lines: &str, code: i32| {
        std::fs::write(&path, lines).expect("a file");
        let file = path.display().to_string();
        let (status, _) = piton(&["import".to_owned(), "--store=memory:".to_owned(), file]);
        assert_eq!(status == ExitStatus::Done, code == 0, "{what}: {status:?}");
        let output = script().arg(&path).output().expect("Python starts");
        assert_eq!(output.status.code(), Some(code), "{what}: {output:?}");
    };
    let lines: Vec<&str> = export.lines().collect();
    assert!(lines.len() > 5, "{export}");
    let without_time = |line: &&str| {
        let (before, _) = line.rsplit_once(",\"written_at\"").expect("a time");
        format!("{before}}}\n")
    };
    let mut mixed = lines.clone();
    mixed.sort_by_key(|line| line.split("\"sequence\":").nth(1).map(str::to_owned));
    let swapped = [&[lines[1], lines[0]], &lines[2..]].concat();
    check("as it is", &export, 0);
    check("blank lines", &export.replace('\n', "\n \r\n\n"), 0);
    check("no last line feed", export.trim_end(), 0);
    check(
        "no times",
        &lines.iter().map(without_time).collect::<String>(),
        0,
    );
    check("workflows mixed", &mixed.join("\n"), 0);
    check("two lines swapped", &swapped.join("\n"), 3);
    check(
        "a line short of a brace",
        &export.trim_end()[..export.len() - 2],
        5,
    );
    check("a line of no object", &format!("{export}[]\n"), 5);
    check(
        "a further member",
        &export.replacen('{', "{\"more\":1,", 1),
        5,
    );
    check(
        "a member twice",
        &export.replacen('{', "{\"sequence\":1,", 1),
        5,
    );
    check(
        "a number as text",
        &export.replacen("\"sequence\":1", "\"sequence\":\"1\"", 1),
        3,
    );
    check(
        "no workflow id",
        &export.replacen("\"workflow_id\":\"w000\"", "\"workflow_id\":\"\"", 1),
        5,
    );
    check("a byte order mark", &format!("\u{feff}{export}"), 5);
    check("a line missing", &lines[1..].join("\n"), 3);
}

/// An auditor's look leaves no trace.
#[test]
fn the_script_creates_and_changes_nothing() {
    let place = tempfile::tempdir().expect("a directory");
    record(place.path(), 3);
    let look = || -> BTreeMap<_, _> {
        let homes = std::fs::read_dir(place.path()).expect("a directory");
        homes
            .flat_map(|home| std::fs::read_dir(home.expect("an entry").path()).expect("files"))
            .map(|file| {
                let path = file.expect("an entry").path();
                let times = path.metadata().and_then(|found| found.modified());
                (
                    path.clone(),
                    (
                        std::fs::read(&path).expect("a file"),
                        times.expect("a time"),
                    ),
                )
            })
            .collect()
    };
    let before = look();
    assert_eq!(before.len(), 6, "a database and a lock file each");
    assert!(
        script()
            .arg(place.path())
            .output()
            .expect("Python starts")
            .status
            .success()
    );
    assert!(look() == before);
}
