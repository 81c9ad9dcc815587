//! Owns the child process that records, so that it can be killed in the middle.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use piton_ledger::{ChainHead, Sequence};
use serde::Deserialize;

use super::{failed, off_script};
use crate::failure::Failure;

/// `append` in a process of its own.
pub(super) struct Recorder {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// The part of an acknowledgement that the demo tells of.
#[derive(Debug, Deserialize)]
pub(super) struct Acknowledged {
    pub(super) sequence: Sequence,
    pub(super) next_head: ChainHead,
    pub(super) status: String,
}

impl Recorder {
    /// Starts this binary again, as `append` on the ledger beneath `root`.
    pub(super) fn start(root: &Path) -> Result<Self, Failure> {
        let binary = std::env::current_exe().map_err(failed("find its own binary"))?;
        let mut store = OsString::from("sqlite:");
        store.push(root);
        let mut child = Command::new(binary)
            .arg("append")
            .arg("--store")
            .arg(store)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed("start the recorder"))?;
        let input = child.stdin.take();
        match child.stdout.take() {
            Some(output) => Ok(Self {
                child,
                input,
                output: BufReader::new(output),
            }),
            None => Err(off_script("the recorder has no output")),
        }
    }

    pub(super) fn send(&mut self, line: &str) -> Result<(), Failure> {
        let input = self
            .input
            .as_mut()
            .ok_or_else(|| off_script("the recorder has no input"))?;
        writeln!(input, "{line}").map_err(failed("send an event"))
    }

    /// Waits for one acknowledgement.
    pub(super) fn hear(&mut self) -> Result<Acknowledged, Failure> {
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .map_err(failed("hear the recorder"))?;
        serde_json::from_str(&line).map_err(failed("read an acknowledgement"))
    }

    /// Kills the child as hard as the system can (SIGKILL on Unix).
    pub(super) fn kill(mut self) -> Result<(), Failure> {
        self.child.kill().map_err(failed("kill the recorder"))?;
        let status = self.child.wait().map_err(failed("await the recorder"))?;
        if status.success() {
            return Err(off_script("the recorder ended before it was killed"));
        }
        Ok(())
    }

    /// Ends the input and waits for a clean end.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        drop(self.input.take());
        let status = self.child.wait().map_err(failed("await the recorder"))?;
        if !status.success() {
            return Err(off_script("the recorder failed"));
        }
        Ok(())
    }
}

/// A demo that fails half-way leaves no process behind. Killing one that has ended is harmless.
impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
