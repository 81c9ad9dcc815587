//! Owns the promises between processes: races, exclusion, and what a killed writer leaves.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use piton_ledger::{Sequence, WorkflowId};
use piton_sqlite::{SqliteOptions, SqliteStore};
use piton_store::{AppendLock, CheckpointStore, StoreError};
use support::{Place, append, assert_linked, rows, run, workflow};

const ROLE: &str = "PITON_TEST_ROLE";
const ROOT: &str = "PITON_TEST_ROOT";
const FIRST: &str = "PITON_TEST_FIRST";

/// A second process that runs the test of the same name in a role.
struct Other {
    child: Child,
    stdin: ChildStdin,
    lines: BufReader<std::process::ChildStdout>,
}

impl Other {
    fn start(test: &str, role: &str, root: &Path, first: u128) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", test, "--nocapture", "--quiet"])
            .env(ROLE, role)
            .env(ROOT, root)
            .env(FIRST, first.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the process starts");
        let stdin = child.stdin.take().expect("a pipe");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            child,
            stdin,
            lines,
        }
    }

    fn go(&mut self) {
        writeln!(self.stdin, "go").expect("the process listens");
    }

    /// Reads what the process says of itself, and skips what its test harness says.
    fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.lines.read_line(&mut line).expect("readable") == 0 {
                return None;
            }
            if let Some((_, word)) = line.trim_end().split_once("says ") {
                return Some(word.to_owned());
            }
        }
    }

    fn kill(mut self) -> Vec<String> {
        self.child.kill().expect("the process is ours");
        self.child.wait().expect("the process is ours");
        std::iter::from_fn(|| self.hear()).collect()
    }

    fn finish(mut self) {
        drop(self.stdin);
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).expect("readable");
        let status = self.child.wait().expect("the process is ours");
        assert!(status.success(), "{rest}");
    }
}

fn say(word: impl std::fmt::Display) {
    println!("says {word}");
}

fn wait_for_go() {
    std::io::stdin()
        .read_line(&mut String::new())
        .expect("the parent speaks");
}

/// The role of this process, when it is not the test's own.
fn role() -> Option<(String, SqliteStore, u128)> {
    let role = std::env::var(ROLE).ok()?;
    let root = std::env::var_os(ROOT).expect("a root");
    let options = SqliteOptions {
        busy_timeout: Duration::from_secs(60),
        ..SqliteOptions::default()
    };
    let store = SqliteStore::with_options(root, options).expect("a store");
    let first = std::env::var(FIRST)
        .expect("a number")
        .parse()
        .expect("a number");
    Some((role, store, first))
}

fn the_one() -> WorkflowId {
    workflow("w")
}

#[test]
fn first_opens_that_race_make_one_chain() {
    const PROCESSES: u128 = 16;
    const EACH: u128 = 5;
    if let Some((_, store, first)) = role() {
        say("ready");
        wait_for_go();
        return run(async {
            for number in first..first + EACH {
                append(&store, &the_one(), number).await;
            }
        });
    }
    for _ in 0..3 {
        let place = Place::new();
        let mut others: Vec<_> = (0..PROCESSES)
            .map(|index| {
                Other::start(
                    "first_opens_that_race_make_one_chain",
                    "append",
                    &place.root(),
                    1 + index * 100,
                )
            })
            .collect();
        for other in &mut others {
            assert_eq!(other.hear().as_deref(), Some("ready"));
        }
        others.iter_mut().for_each(Other::go);
        others.into_iter().for_each(Other::finish);
        run(async {
            let store = place.store();
            let rows = rows(&store, &the_one()).await;
            assert_eq!(u128::try_from(rows.len()), Ok(PROCESSES * EACH));
            assert_linked(&the_one(), &rows);
            let pin = store
                .pinned_tail(&the_one())
                .await
                .expect("readable")
                .expect("a pin");
            assert_eq!(
                Some(pin.head()),
                rows.last().and_then(|row| row.next_head.to_head())
            );
        });
    }
}

#[test]
fn a_lock_ends_with_its_process() {
    if let Some((_, store, _)) = role() {
        return run(async {
            let mut lock = store.lock(&the_one()).await.expect("free");
            lock.append(
                &support::event(&the_one(), 1),
                piton_store::ExpectedHead::Any,
            )
            .await
            .expect("appended");
            say("locked");
            wait_for_go();
        });
    }
    let place = Place::new();
    let mut other = Other::start("a_lock_ends_with_its_process", "lock", &place.root(), 0);
    assert_eq!(other.hear().as_deref(), Some("locked"));
    run(async {
        let impatient = place.impatient_store();
        let error = impatient.lock(&the_one()).await.expect_err("held");
        assert!(
            matches!(error, StoreError::Busy { waited, .. } if waited == Duration::from_millis(50)),
            "{error}"
        );
        assert_eq!(
            rows(&impatient, &the_one()).await.len(),
            1,
            "a read needs no lock"
        );

        // One that waits gets the lock when the holder dies.
        let store = place.store();
        let id = the_one();
        let waiter = append(&store, &id, 2);
        let killer = async { other.kill() };
        let (appended, _) = futures_util::future::join(waiter, killer).await;
        assert_eq!(appended.sequence.to_u64(), 2);
        assert_linked(&id, &rows(&store, &id).await);
    });
}

#[test]
fn a_killed_writer_loses_nothing_it_acknowledged() {
    if let Some((_, store, first)) = role() {
        return run(async {
            for number in first.. {
                let appended = append(&store, &the_one(), number).await;
                say(format!("{}:{}", appended.sequence, appended.head));
            }
        });
    }
    let place = Place::new();
    for round in 0..6u128 {
        let mut other = Other::start(
            "a_killed_writer_loses_nothing_it_acknowledged",
            "append",
            &place.root(),
            1 + round * 1_000_000,
        );
        let mut acknowledged: Vec<String> =
            (0..10 + round * 3).filter_map(|_| other.hear()).collect();
        acknowledged.extend(other.kill().into_iter().filter(|line| line.len() > 70));
        run(async {
            let store = place.store();
            let started = Instant::now();
            let rows = rows(&store, &the_one()).await;
            assert_linked(&the_one(), &rows);
            for line in &acknowledged {
                let (sequence, head) = line.split_once(':').expect("a tail");
                let index = sequence.parse::<usize>().expect("a sequence") - 1;
                assert_eq!(rows[index].next_head.as_text(), Some(head));
            }
            let pin = store
                .pinned_tail(&the_one())
                .await
                .expect("readable")
                .expect("a pin");
            let pinned = pin.sequence().map_or(0, Sequence::to_u64);
            let count = u64::try_from(rows.len()).expect("small");
            assert!(pinned <= count, "the pin never leads");
            assert!(pinned >= u64::try_from(acknowledged.len()).expect("small"));
            let appended = append(&store, &the_one(), 999_000_000 + round).await;
            assert_eq!(appended.sequence.to_u64(), count + 1);
            assert!(started.elapsed() < Duration::from_secs(5));
            store.close().await.expect("the store closes");
        });
    }
}

/// A process that dies while it makes the ledger leaves something that opens.
#[test]
fn a_first_append_that_is_killed_leaves_a_ledger_that_opens() {
    if let Some((_, store, first)) = role() {
        say("ready");
        wait_for_go();
        return run(async {
            append(&store, &the_one(), first).await;
        });
    }
    for step in 0..24u32 {
        let place = Place::new();
        let mut other = Other::start(
            "a_first_append_that_is_killed_leaves_a_ledger_that_opens",
            "append",
            &place.root(),
            1,
        );
        assert_eq!(other.hear().as_deref(), Some("ready"));
        other.go();
        // Spins for a while that differs from step to step, so that the kill falls anywhere.
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_micros(250) * step {
            std::hint::spin_loop();
        }
        other.kill();
        run(async {
            let store = place.store();
            let before = rows(&store, &the_one()).await.len();
            store.pinned_tail(&the_one()).await.expect("no damage");
            append(&store, &the_one(), 1).await;
            append(&store, &the_one(), 2).await;
            let rows = rows(&store, &the_one()).await;
            assert_eq!(rows.len(), 2, "{before} before");
            assert_linked(&the_one(), &rows);
        });
    }
}
