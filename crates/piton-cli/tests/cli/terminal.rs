//! Tests what reaches a terminal: colour, disarmed text, and a reader that goes away.

use std::io::Write as _;
use std::process::Stdio;

use piton_cli::{Colour, Console, ExitStatus, Piton};
use piton_ledger::VulnState;

use crate::support::{Scratch, WORKFLOW, finish, plan};

#[test]
fn no_colour_where_there_is_no_terminal() {
    let scratch = Scratch::new();
    scratch.record_three();
    for no_color in [None, Some(""), Some("1")] {
        let mut command = scratch.command(&["verify", WORKFLOW]);
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        let run = finish(command.spawn().expect("piton starts"), b"");
        assert!(!run.expect_code(0).stdout.contains('\u{1b}'));
    }
}

#[test]
fn colour_is_for_the_verdict() {
    let mut output = Vec::new();
    let mut console =
        Console::new(std::io::empty(), &mut output, std::io::sink()).with_colour(Colour::Always);
    let arguments = ["piton", "verify", "--store", "memory:", WORKFLOW];
    let status = Piton::<VulnState>::new().run(arguments, &mut console);
    drop(console);
    assert_eq!(status, ExitStatus::Done);
    let text = String::from_utf8(output).expect("UTF-8");
    assert!(text.starts_with("\u{1b}[32mempty\u{1b}[0m: "), "{text}");
}

#[test]
fn text_of_events_cannot_steer_a_terminal() {
    let scratch = Scratch::new();
    let outcome = "\"\\u001b[2J\u{9b}31m\u{7f}\u{202e}\u{2066}end\"";
    scratch.record(&[plan(1, outcome)]);
    let hazards = ['\u{1b}', '\u{9b}', '\u{7f}', '\u{202e}', '\u{2066}'];
    for arguments in [
        &["log", WORKFLOW][..],
        &["log", WORKFLOW, "--format", "json"],
        &["hydrate", WORKFLOW],
        &["verify", WORKFLOW, "--events", "--format", "json"],
        &["list"],
    ] {
        let run = scratch.run(arguments).expect_code(0);
        assert!(!run.stdout.contains(hazards), "{run:?}");
    }
    let log = scratch.run(&["log", WORKFLOW]).stdout;
    assert!(
        log.contains("\\u{9b}31m\\u{7f}\\u{202e}\\u{2066}end"),
        "{log}"
    );
    let rows = scratch.run(&["log", WORKFLOW, "--format", "json"]).json();
    let text = rows[0]["triggering_outcome"].as_str().expect("a string");
    assert_eq!(text, "\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{2066}end");
    let sealed = scratch.feed(&["seal"], plan(1, outcome).as_bytes());
    assert!(!sealed.stdout.contains(hazards), "{sealed:?}");
}

/// Runs with an output whose reader is gone before the command starts.
#[track_caller]
fn check_closed(scratch: &Scratch, arguments: &[&str], input: &str, code: i32) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = scratch.command(arguments);
    let mut child = command.stdout(writer).spawn().expect("piton starts");
    drop(command);
    let mut stdin = child.stdin.take().expect("an input");
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let run = finish(child, b"").expect_code(code);
    assert_eq!(run.stderr, "", "a closed pipe is met in silence");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let scratch = Scratch::new();
    scratch.record_three();
    for arguments in [
        &["log", WORKFLOW][..],
        &["list"],
        &["head", WORKFLOW],
        &["verify", WORKFLOW],
        &["hydrate", WORKFLOW],
        &["export", WORKFLOW],
        &["completions", "bash"],
        &["--help"],
    ] {
        check_closed(&scratch, arguments, "", 0);
    }
    scratch.sql(WORKFLOW, "DELETE FROM checkpoint_chain WHERE sequence = 3");
    check_closed(&scratch, &["verify", WORKFLOW], "", 4);
}

#[test]
fn append_stops_when_nobody_hears_its_answers() {
    let scratch = Scratch::new();
    let lines = format!("{}\n{}\n", plan(1, "1"), plan(2, "2"));
    check_closed(&scratch, &["append"], &lines, 1);
    let head = scratch.run(&["head", WORKFLOW]).stdout;
    assert!(head.starts_with("1:"), "{head}");
}

#[test]
fn an_output_that_fails_is_told() {
    let scratch = Scratch::new();
    scratch.record_three();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("the system has a device that is always full");
    let mut command = scratch.command(&["log", WORKFLOW]);
    let child = command
        .stdout(Stdio::from(full))
        .spawn()
        .expect("piton starts");
    let run = finish(child, b"").expect_code(1);
    assert!(
        run.stderr.starts_with("error: the output can't be written"),
        "{run:?}"
    );
}
