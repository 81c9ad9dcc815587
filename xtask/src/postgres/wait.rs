//! Waiting for a server to become ready: bounded, and over at once when it can't.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};

use super::parent::Parent;

/// The longest that one server may take.
const LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
/// How often a port that was free may turn out to be taken.
const ATTEMPTS: u32 = 3;
/// How much of a log an error shows.
const LOG_LINES: usize = 20;

/// Waits until `is_ready`.
///
/// # Errors
///
/// When the process ends, the time is over or the parent is gone, before that.
pub(super) fn until_ready(
    parent: &Parent,
    child: &mut Child,
    mut is_ready: impl FnMut(&Child) -> bool,
) -> Result<()> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            bail!("it ended with {status}");
        }
        if is_ready(child) {
            return Ok(());
        }
        if start.elapsed() > LIMIT {
            bail!("it was not ready after {} s", LIMIT.as_secs());
        }
        if !parent.is_there_after(PAUSE) {
            bail!("the command that it was for has ended");
        }
    }
}

/// Calls `start` with a free port, and again with another if somebody else took that one.
///
/// # Errors
///
/// The last error of `start`.
pub(super) fn on_free_port<T>(mut start: impl FnMut(u16) -> Result<T>) -> Result<T> {
    let mut attempt = 1;
    loop {
        let port = free_port()?;
        match start(port) {
            Err(_) if attempt < ATTEMPTS && is_taken(port) => attempt += 1,
            outcome => return outcome,
        }
    }
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
    Ok(listener.local_addr()?.port())
}

fn is_taken(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_err()
}

/// Adds what a server said last to the reason why it is of no use.
pub(super) fn with_log(error: &anyhow::Error, server: &str, log: &Path) -> anyhow::Error {
    let text = fs::read_to_string(log).unwrap_or_default();
    anyhow!(
        "{server} did not start: {error:#}; its log ends with\n{}",
        tail(&text)
    )
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(LOG_LINES);
    lines[from..].join("\n")
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_ends_is_not_waited_for() {
        let (reader, _writer) = io::pipe().expect("a pipe is made");
        let mut child = Command::new("false").spawn().expect("false starts");
        let error = until_ready(&Parent::watch(reader), &mut child, |_| false)
            .expect_err("it never gets ready");
        assert!(error.to_string().contains("exit status: 1"), "{error}");
    }

    #[test]
    fn a_wait_ends_with_the_parent() {
        let (reader, writer) = io::pipe().expect("a pipe is made");
        drop(writer);
        let mut child = Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("cat starts");
        let waited = until_ready(&Parent::watch(reader), &mut child, |_| false);
        child.kill().expect("cat is ours");
        child.wait().expect("cat is ours");
        let error = waited.expect_err("nobody needs it any more");
        assert!(error.to_string().contains("has ended"), "{error}");
    }

    #[test]
    fn a_port_that_somebody_took_is_changed_for_another() {
        let mut seen = Vec::new();
        let mut blockers = Vec::new();
        let port = on_free_port(|port| {
            seen.push(port);
            if seen.len() < 3 {
                blockers.push(TcpListener::bind((Ipv4Addr::LOCALHOST, port))?);
                bail!("taken");
            }
            Ok(port)
        });
        assert_eq!(port.ok(), seen.last().copied());
        assert_eq!(seen.len(), 3);
    }

    #[test]
    fn a_failure_on_a_free_port_stands() {
        let mut calls = 0;
        let outcome: Result<()> = on_free_port(|_| {
            calls += 1;
            bail!("another reason")
        });
        assert!(outcome.is_err());
        assert_eq!(calls, 1);
    }

    #[test]
    fn ports_that_are_always_taken_are_given_up() {
        let mut blockers = Vec::new();
        let outcome: Result<()> = on_free_port(|port| {
            blockers.push(TcpListener::bind((Ipv4Addr::LOCALHOST, port))?);
            bail!("taken")
        });
        assert!(outcome.is_err());
        assert_eq!(blockers.len(), 3);
    }

    #[test]
    fn the_end_of_a_log_is_shown() {
        let text: String = (1..=30).map(|line| format!("line {line}\n")).collect();
        let shown = tail(&text);
        assert!(shown.starts_with("line 11\n"), "{shown}");
        assert!(shown.ends_with("line 30"), "{shown}");
        assert_eq!(tail("one\n"), "one");
    }
}
