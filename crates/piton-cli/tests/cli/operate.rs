//! Tests the commands that read without verifying, and those that change what is kept.

use piton_ledger::VulnState;
use piton_sqlite::SqliteStore;
use piton_store::CheckpointStore as _;
use piton_verify::{HydrationResult, hydrate_or_fail};
use serde_json::Value;

use crate::support::{Scratch, WORKFLOW, event_of, plan, three};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime starts")
}

#[test]
fn log_shows_rows_and_says_that_it_does_not_verify() {
    let scratch = Scratch::new();
    let answers = scratch.record_three();
    let text = scratch.run(&["log", WORKFLOW]).expect_code(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert!(lines[0].starts_with("not verified"), "{text}");
    assert!(lines[2].contains("needs_plan → plan_ready"), "{text}");
    assert!(lines[4].contains("patch_applied → completed"), "{text}");
    assert!(lines[4].contains("01JZ8Q5T9V6W3X2Y1Z0ABCD003"), "{text}");
    assert!(lines[4].ends_with("{\"exit_code\":1}"), "{text}");
    let head = answers[2]["next_head"].as_str().expect("a head");
    assert!(
        lines[4].contains(&head[..19]) && !lines[4].contains(head),
        "{text}"
    );

    let rows = scratch.run(&["log", WORKFLOW, "--format", "json"]).json();
    assert_eq!(rows.len(), 3);
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(row["sequence"], index + 1);
        assert_eq!(row["verified"], false);
        assert_eq!(row["event"], "readable");
        assert_eq!(row["next_head"], answers[index]["next_head"]);
    }
}

#[test]
fn log_shows_tampered_rows_as_unreadable() {
    let scratch = Scratch::new();
    scratch.record_three();
    scratch.sql(
        WORKFLOW,
        "UPDATE checkpoint_chain SET event_bytes = x'7b', transition_id = 'x', \
         next_head = char(27) || '[31m', written_at = 'yesterday' WHERE sequence = 2",
    );
    let text = scratch.run(&["log", WORKFLOW]).expect_code(0).stdout;
    let row = text.lines().nth(3).expect("the second row");
    assert_eq!(row.matches("unreadable").count(), 4, "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    assert_eq!(text.lines().count(), 5, "the other rows are shown");
    let rows = scratch.run(&["log", WORKFLOW, "--format", "json"]).json();
    assert_eq!(rows[1]["event"], "unreadable");
    assert_eq!(rows[1]["next_head"], Value::Null);
    assert_eq!(rows[1]["transition_id"], "x");
}

#[test]
fn list_gives_one_line_a_workflow() {
    let scratch = Scratch::new();
    assert_eq!(
        scratch.run(&["list"]).expect_code(0).stdout,
        "no workflows\n"
    );
    assert_eq!(
        scratch
            .run(&["list", "--format", "json"])
            .expect_code(0)
            .stdout,
        ""
    );
    assert!(!scratch.root().exists());
    let tail = scratch.record_three()[2]["next_head"].clone();
    scratch.record(&[event_of("another", 1, "needs_plan", "plan_ready", "1")]);
    let entries = scratch
        .run(&["list", "--format", "json"])
        .expect_code(0)
        .json();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0]["workflow_id"], "another");
    assert_eq!(entries[0]["latest_state"], "plan_ready");
    assert_eq!(entries[1]["workflow_id"], WORKFLOW);
    assert_eq!(entries[1]["rows"], 3);
    assert_eq!(entries[1]["tail_chain_head"], tail);
    assert_eq!(entries[1]["latest_state"], "completed");
    assert!(entries[1]["last_written_at"].is_string());
    let text = scratch.run(&["list"]).expect_code(0).stdout;
    assert_eq!(text.lines().count(), 3);
    assert!(text.starts_with("workflow"), "{text}");

    scratch.sql("another", "PRAGMA user_version = 99");
    let run = scratch.run(&["list", "--format", "json"]).expect_code(5);
    assert_eq!(run.json()[0]["error"]["kind"], "newer_layout");
    assert_eq!(run.json().len(), 2, "the others are listed all the same");
}

#[test]
fn head_of_nothing_is_genesis() {
    let scratch = Scratch::new();
    let head = scratch.run(&["head", WORKFLOW]).expect_code(0).stdout;
    assert_eq!(head, format!("0:blake3:{}\n", "0".repeat(64)));
    scratch
        .run(&["verify", WORKFLOW, "--expect", head.trim_end()])
        .expect_code(0);
    scratch.record_three();
    scratch.sql(
        WORKFLOW,
        "UPDATE checkpoint_chain SET next_head = 'x' WHERE sequence = 3",
    );
    scratch.run(&["head", WORKFLOW]).expect_code(5);
}

#[test]
fn repin_accepts_the_tail_alone() {
    let scratch = Scratch::new();
    let zero = format!("0:blake3:{}", "0".repeat(64));
    scratch
        .run(&["repin", WORKFLOW, "--accept", &zero])
        .expect_code(6);
    assert!(!scratch.root().exists());
    let lines = three();
    scratch.record(&lines[..2]);
    let shorter = scratch.run(&["head", WORKFLOW]).stdout;
    scratch.record(&lines[2..]);
    let repin = |tail: &str| scratch.run(&["repin", WORKFLOW, "--accept", tail.trim_end()]);
    let refused = repin(&shorter).expect_code(6);
    assert!(
        refused.stderr.contains("the tail of the chain is 3:"),
        "{refused:?}"
    );

    scratch.sql(WORKFLOW, "DELETE FROM checkpoint_chain WHERE sequence = 3");
    scratch.run(&["verify", WORKFLOW]).expect_code(4);
    let accepted = repin(&shorter).expect_code(0);
    assert!(accepted.stdout.contains("given up"), "{accepted:?}");
    assert!(accepted.stdout.contains("pin before: 3:"), "{accepted:?}");
    scratch.run(&["verify", WORKFLOW]).expect_code(0);

    scratch.sql(
        WORKFLOW,
        "UPDATE checkpoint_chain SET prior_head = next_head WHERE sequence = 2",
    );
    repin(&shorter).expect_code(3);
    scratch.sql(
        WORKFLOW,
        "UPDATE checkpoint_chain SET event_bytes = x'7b' WHERE sequence = 2",
    );
    repin(&shorter).expect_code(4);
    scratch.run(&["repin", WORKFLOW]).expect_code(2);
    scratch
        .run(&["repin", WORKFLOW, "--accept", "0:x"])
        .expect_code(2);
}

#[test]
fn delete_needs_a_yes() {
    let scratch = Scratch::new();
    scratch.record_three();
    let refused = scratch.run(&["delete", WORKFLOW]).expect_code(2);
    assert!(refused.stderr.contains("--yes"), "{refused:?}");
    scratch.run(&["verify", WORKFLOW]).expect_code(0);
    scratch.run(&["delete", WORKFLOW, "--yes"]).expect_code(0);
    assert!(!scratch.root().join(WORKFLOW).exists());
    let unknown = scratch.run(&["delete", WORKFLOW, "--yes"]).expect_code(6);
    assert!(
        unknown.stderr.contains("nothing is recorded"),
        "{unknown:?}"
    );
}

#[test]
fn a_held_lock_keeps_writers_out_and_readers_in() {
    let scratch = Scratch::new();
    scratch.record_three();
    runtime().block_on(async {
        let store = SqliteStore::open(scratch.root()).expect("the store opens");
        let workflow = WORKFLOW.parse().expect("an id");
        let lock = store.lock(&workflow).await.expect("the lock is free");
        let quickly = ["--busy-timeout", "20ms"];
        let append = [&["append"][..], &quickly].concat();
        let busy = scratch
            .feed(&append, plan(4, "1").as_bytes())
            .expect_code(5);
        assert!(
            busy.stderr.contains("line 1") && busy.stderr.contains("help: try again"),
            "{busy:?}"
        );
        scratch
            .run(&[&["delete", WORKFLOW, "--yes"][..], &quickly].concat())
            .expect_code(5);
        scratch.run(&["verify", WORKFLOW]).expect_code(0);
        scratch.run(&["log", WORKFLOW]).expect_code(0);
        drop(lock);
        scratch
            .feed(&append, plan(4, "1").as_bytes())
            .expect_code(0);
    });
}

#[test]
fn the_command_hydrates_what_the_library_does() {
    let scratch = Scratch::new();
    scratch.record_three();
    let printed = scratch.run(&["hydrate", WORKFLOW]).expect_code(0).stdout;
    runtime().block_on(async {
        let store = SqliteStore::open(scratch.root()).expect("the store opens");
        let workflow = WORKFLOW.parse().expect("an id");
        let result: HydrationResult<VulnState> = hydrate_or_fail(&store, &workflow)
            .await
            .expect("the store is readable");
        let text = serde_json::to_string(&result).expect("it serialises");
        assert_eq!(printed, format!("{text}\n"));
    });
}

#[test]
fn seal_shows_what_would_be_persisted() {
    let scratch = Scratch::new();
    let line = plan(1, r#"{"b": 1.0, "api_key": "hunter2", "a": "\u0041"}"#);
    let sealed = scratch
        .feed(&["seal"], line.as_bytes())
        .expect_code(0)
        .json()
        .remove(0);
    let bytes = sealed["bytes"].as_str().expect("text");
    assert!(
        bytes.contains(r#"{"a":"A","api_key":"<REDACTED>","b":1}"#),
        "{bytes}"
    );
    assert_eq!(sealed["size_bytes"], bytes.len());
    assert_eq!(sealed["redactions"].as_array().map(Vec::len), Some(1));
    assert_eq!(sealed["redactions"][0]["count"], 1);
    let digest = piton_ledger::BlobDigest::from_bytes(*blake3::hash(bytes.as_bytes()).as_bytes());
    assert_eq!(sealed["digest"], digest.to_string().as_str());
    assert!(!scratch.root().exists());
    let recorded = scratch.record(&[line]);
    assert_eq!(recorded[0]["next_head"], sealed["next_head"]);
    let broken = scratch.feed(&["seal"], format!("{}\n{{", plan(2, "1")).as_bytes());
    let broken = broken.expect_code(6);
    assert_eq!(broken.json().len(), 1);
    assert!(broken.stderr.contains("line 2"), "{broken:?}");
}

#[test]
fn completions_name_every_command() {
    let scratch = Scratch::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = scratch.run(&["completions", shell]).expect_code(0).stdout;
        for command in [
            "append", "verify", "hydrate", "log", "list", "head", "repin", "delete", "copy",
            "export", "import", "migrate",
        ] {
            assert!(script.contains(command), "{shell} lacks {command}");
        }
    }
    scratch.run(&["completions", "tcsh"]).expect_code(2);
}

#[test]
fn the_store_is_chosen_by_url() {
    let scratch = Scratch::new();
    scratch.record_three();
    let memory = scratch.feed(&["append", "--store", "memory:"], plan(1, "1").as_bytes());
    assert_eq!(memory.expect_code(0).json()[0]["sequence"], 1);
    let memory = scratch.run(&["list", "--store", "memory:"]).expect_code(0);
    assert_eq!(memory.stdout, "no workflows\n");
    let url = scratch.url();
    let mut command = scratch.command(&["head", "--store", &url, WORKFLOW]);
    let child = command
        .env_remove("PITON_STORE")
        .spawn()
        .expect("piton starts");
    assert!(
        crate::support::finish(child, b"")
            .expect_code(0)
            .stdout
            .starts_with("3:")
    );
    let mut command = scratch.command(&["append"]);
    let child = command
        .env_remove("PITON_STORE")
        .spawn()
        .expect("piton starts");
    crate::support::finish(child, plan(1, "1").as_bytes()).expect_code(0);
    assert!(
        scratch.path(".piton").join(WORKFLOW).is_dir(),
        "the default place"
    );
    for url in [
        "mysql://user:hunter2@host/db",
        "postgres:user:hunter2@host/db",
        "hunter2",
        "sqlite:",
        "memory:hunter2",
    ] {
        let run = scratch.run(&["list", "--store", url]).expect_code(2);
        assert!(run.stderr.starts_with("error: --store"), "{run:?}");
        assert!(!run.stderr.contains("hunter2"), "{run:?}");
    }
}

#[test]
fn a_url_in_the_wrong_place_is_not_repeated() {
    let scratch = Scratch::new();
    let url = "postgres://user:hunter2@host/db?password=swordfish";
    let option = format!("--stroe={url}");
    for arguments in [
        &[url][..],
        &["list", url],
        &["list", &option],
        &["export", url],
        &["copy", "--from", "sqlite:a", "--to", "sqlite:b", url],
        &["copy", "--from", url],
        &["verify", "--format", url],
    ] {
        let run = scratch.run(arguments).expect_code(2);
        assert!(run.stderr.starts_with("error: "), "{run:?}");
        for secret in ["hunter2", "swordfish"] {
            assert!(!run.stderr.contains(secret), "{run:?}");
        }
    }
    let mut command = scratch.command(&["list", "--help"]);
    let child = command
        .env("PITON_STORE", url)
        .spawn()
        .expect("piton starts");
    let help = crate::support::finish(child, b"").expect_code(0).stdout;
    assert!(
        help.contains("PITON_STORE") && !help.contains("hunter2"),
        "{help}"
    );
}

#[test]
fn a_store_that_prepares_itself_needs_no_migration() {
    let scratch = Scratch::new();
    for url in [scratch.url().as_str(), "memory:"] {
        let run = scratch.run(&["migrate", "--store", url]).expect_code(0);
        assert!(run.stdout.starts_with("nothing to do"), "{run:?}");
    }
    assert!(!scratch.root().exists());
}

#[test]
fn help_tells_the_exit_codes() {
    let scratch = Scratch::new();
    let help = scratch.run(&["--help"]).expect_code(0).stdout;
    for status in piton_cli::ExitStatus::ALL {
        let line = format!("  {}  {}", status.code(), status.meaning());
        assert!(help.contains(&line), "{help}");
    }
    scratch.run(&["--version"]).expect_code(0);
    scratch.run(&[]).expect_code(2);
    scratch.run(&["verfy"]).expect_code(2);
    for wrong in ["1.5", "-1", "soon"] {
        let argument = format!("--busy-timeout={wrong}");
        scratch.run(&["list", &argument]).expect_code(2);
    }
}

#[test]
fn a_place_where_nothing_can_be_made_is_a_store_that_could_not_be_checked() {
    let scratch = Scratch::new();
    let arguments = ["append", "--store", "sqlite:/proc/piton"];
    let run = scratch.feed(&arguments, three()[0].as_bytes());
    run.expect_code(5);
}

#[test]
fn a_store_that_is_not_there_is_not_called_intact() {
    let scratch = Scratch::new();
    scratch.record(&three());
    let nowhere = format!("sqlite:{}", scratch.path("nowhere").display());
    for command in ["verify", "export"] {
        let run = scratch
            .run(&[command, "--all", "--store", &nowhere])
            .expect_code(5);
        assert!(run.stderr.contains("no store"), "{run:?}");
    }
    let elsewhere = format!("sqlite:{}", scratch.path("elsewhere").display());
    scratch
        .run(&["copy", "--from", &nowhere, "--to", &elsewhere])
        .expect_code(5);
    assert!(!scratch.path("elsewhere").exists());
    // One workflow's directory is easily taken for the store.
    let workflow = format!("sqlite:{}", scratch.root().join(WORKFLOW).display());
    let run = scratch
        .run(&["verify", "--all", "--store", &workflow])
        .expect_code(5);
    assert!(run.stderr.contains("directory above"), "{run:?}");
    scratch
        .run(&["list", "--store", "sqlite://.piton"])
        .expect_code(2);
    scratch
        .run(&["list", "--store", "sqlite:~/ledgers"])
        .expect_code(2);
    // A workflow that nobody recorded is an empty chain all the same.
    // The first hydration comes before the store is made, but so does one with a mistyped name.
    for arguments in [
        &["verify", "unknown"][..],
        &["hydrate", "unknown"],
        &["hydrate", "unknown", "--format", "text"],
        &["head", "unknown"],
        &["log", "unknown"],
        &["list"],
        &["export", "unknown"],
    ] {
        let run = scratch.run(&[arguments, &["--store", &nowhere]].concat());
        assert!(
            run.stderr.contains("there is no store in this directory"),
            "{run:?}"
        );
        run.expect_code(0);
        // Nothing is said of a store that is there, or of an engine that has no directory.
        let present = scratch.run(arguments);
        assert!(!present.stderr.contains("there is no store"), "{present:?}");
        present.expect_code(0);
        let memory = scratch.run(&[arguments, &["--store", "memory:"]].concat());
        assert!(!memory.stderr.contains("there is no store"), "{memory:?}");
    }
}

/// The README's way to back a ledger up while somebody appends, and its reason.
#[test]
fn a_backup_takes_the_lock_file_first() {
    let scratch = Scratch::new();
    let events = three();
    let files = ["checkpoints.lock", "checkpoints.sqlite"];
    let backup = |name: &str, order: [&str; 2]| {
        let place = scratch.path(name).join(WORKFLOW);
        std::fs::create_dir_all(&place).expect("writable");
        scratch.record(&events[..1]);
        for (step, file) in order.into_iter().enumerate() {
            let from = scratch.root().join(WORKFLOW).join(file);
            if file == files[1] {
                let to = place.join(file).display().to_string();
                rusqlite::Connection::open(from)
                    .and_then(|database| database.execute("VACUUM INTO ?1", [to]))
                    .expect("a copy");
            } else {
                std::fs::copy(from, place.join(file)).expect("a copy");
            }
            // Somebody appends between the two copies.
            scratch.record(&events[step + 1..=step + 1]);
        }
        let store = format!("sqlite:{}", scratch.path(name).display());
        let run = scratch.run(&["verify", "--all", "--store", &store]);
        scratch.run(&["delete", WORKFLOW, "--yes"]).expect_code(0);
        run
    };
    backup("right", files).expect_code(0);
    let [lock, database] = files;
    backup("wrong", [database, lock]).expect_code(4);
}
