//! Owns what the command `piton` prints: its help, and scripts of commands on prepared ledgers.

mod ledger;
mod session;

use session::Session;

/// The ledgers of every script: intact, tampered with in three ways, and one never written to.
const EACH: [&str; 5] = ["intact", "changed", "cut", "newer", "empty"];

/// Gives the help of the command and of each of its subcommands.
pub(crate) fn help() -> String {
    let mut session = Session::new();
    session.run(&["--help"]);
    let (_, list) = session
        .text()
        .split_once("Commands:\n")
        .expect("the help lists the commands");
    let names: Vec<String> = list
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|name| name != "help")
        .collect();
    assert!(names.len() > 10, "{names:?}");
    for name in &names {
        session.run(&[name, "--help"]);
    }
    session.into_text()
}

/// Gives what the commands print for people.
pub(crate) fn text() -> String {
    let mut session = Session::with_ledgers();
    session.run(&["list"]);
    for workflow in EACH {
        session.run(&["log", workflow]);
        session.run(&["head", workflow]);
        session.run(&["verify", workflow]);
        session.run(&["hydrate", workflow, "--format", "text"]);
    }
    session.run(&["verify", "--all"]);
    session.run(&["verify", "cut", "--ignore-pin"]);
    let tail = session.tail_of("cut");
    session.run(&["repin", "cut", "--accept", &tail]);
    session.run(&["copy", "--from", "$STORE", "--to", "$OTHER"]);
    session.run(&["copy", "--from", "$STORE", "--to", "$OTHER", "intact"]);
    session.run(&["migrate"]);
    session.run(&["delete", "cut", "--yes"]);
    session.into_text()
}

/// Gives what the commands print for programs.
pub(crate) fn json() -> String {
    let mut session = Session::with_ledgers();
    session.run(&["list", "--format", "json"]);
    for workflow in EACH {
        session.run(&["log", workflow, "--format", "json"]);
        session.run(&["verify", workflow, "--format", "json"]);
        session.run(&["verify", workflow, "--events", "--format", "json"]);
        session.run(&["hydrate", workflow]);
        session.run(&["export", workflow]);
    }
    session.run(&[
        "copy", "--from", "$STORE", "--to", "$OTHER", "--format", "json",
    ]);
    // Last, since these rows are written now.
    let next = ledger::line(
        "intact",
        4,
        "patch_applied",
        "gate_failed_retryable",
        "[1.0]",
    );
    session.feed(&["append"], &next);
    session.feed(&["append"], &next);
    session.feed(
        &["seal"],
        &ledger::line(
            "sealed",
            1,
            "needs_plan",
            "plan_ready",
            r#"{"api_token":"hunter2"}"#,
        ),
    );
    session.into_text()
}

/// Gives what the commands say when they refuse, and that they exit with the code they promise.
pub(crate) fn refusals() -> String {
    let mut session = Session::with_ledgers();
    let intact_tail = session.tail_of("intact");
    let changed_tail = session.tail_of("changed");
    let event =
        |prior: &str, next: &str, outcome: &str| ledger::line("intact", 9, prior, next, outcome);
    let planned = |outcome: &str| event("needs_plan", "plan_ready", outcome);
    session.run(&[]);
    session.run(&["frobnicate"]);
    session.run(&["log", "../escape"]);
    session.run(&["log", "CON"]);
    session.run(&["list", "--store", "ftp://user:hunter2@example.org"]);
    session.run(&["verify"]);
    session.run(&["verify", "intact", "--events"]);
    session.run(&["verify", "intact", "empty", "--expect", &intact_tail]);
    session.run(&["hydrate", "intact", "--expect", "3"]);
    session.run(&["list", "--busy-timeout", "soon"]);
    session.feed(&["append"], "{");
    session.feed(&["append"], "[]");
    session.feed(&["append"], &planned(r#"{"a":1,"a":2}"#));
    session.feed(&["append"], &event("needs_plan", "completed", "1"));
    session.feed(&["append"], &event("completed", "needs_plan", "1"));
    session.feed(
        &["append"],
        &event("gate_failed_retryable", "needs_plan", "1"),
    );
    session.feed(
        &["append"],
        &planned(&format!("\"{}\"", "x".repeat(65_536))),
    );
    session.feed(&["append"], &planned("1").replace("intact", "a b"));
    session.feed(&["append"], &planned("1").replace("intact", "$TOKEN"));
    session.feed(
        &["append"],
        &ledger::line("intact", 1, "needs_plan", "plan_ready", "2"),
    );
    session.feed(&["append", "--fenced"], &planned("1"));
    session.feed(
        &["append", "--fenced"],
        &ledger::after_genesis(&planned("1")),
    );
    session.feed(&["append"], &planned("1").replace("intact", "cut"));
    session.feed(&["append"], &planned("1").replace("intact", "newer"));
    session.feed(&["import"], "{}");
    session.run(&["export", "changed"]);
    session.run(&["repin", "changed", "--accept", &changed_tail]);
    session.run(&["repin", "intact", "--accept", &changed_tail]);
    session.run(&["delete", "intact"]);
    session.run(&["delete", "empty", "--yes"]);
    session.run(&["copy", "--from", "$STORE", "--to", "$OTHER", "changed"]);
    session.run(&["verify", "--all", "--store", "sqlite:$DIRECTORY/absent"]);
    session.into_text()
}
