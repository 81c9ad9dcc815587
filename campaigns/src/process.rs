//! Owns second processes from the first one's side: how they are started, heard and ended.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use piton_ledger::WorkflowId;

use crate::child::{self, Place};

/// A second process of this program, killed when it is dropped.
pub(crate) struct Second {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
    life: Life,
}

/// Whether the process still has to be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Ours,
    Reaped,
}

impl Second {
    /// Starts a role.
    ///
    /// # Errors
    ///
    /// The process can't be started.
    pub(crate) fn start(
        role: &str,
        place: &Place,
        workflow: &WorkflowId,
        rest: &[String],
    ) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([child::ARGUMENT, role, &place.argument(), workflow.as_str()])
            .args(rest)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .context("starting a second process")?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("a second process has a pipe")?;
        Ok(Self {
            child,
            stdin,
            lines: BufReader::new(stdout),
            life: Life::Ours,
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Notes that a tracer has seen the process end: its number may soon be another's.
    pub(crate) fn has_been_reaped(&mut self) {
        self.life = Life::Reaped;
    }

    /// Hears one line, none after the last.
    ///
    /// # Errors
    ///
    /// The pipe can't be read.
    pub(crate) fn hear(&mut self) -> Result<Option<String>> {
        let mut line = String::new();
        let length = self.lines.read_line(&mut line)?;
        // A line that a kill cut short was never said.
        Ok((length > 0 && line.ends_with('\n')).then(|| line.trim_end().to_owned()))
    }

    /// Hears lines up to an expected one.
    ///
    /// # Errors
    ///
    /// The process ends before.
    pub(crate) fn await_line(&mut self, expected: &str) -> Result<()> {
        while let Some(line) = self.hear()? {
            if line == expected {
                return Ok(());
            }
        }
        anyhow::bail!("a second process ended before it said `{expected}`")
    }

    /// Gives the word to begin, or to go on.
    ///
    /// # Errors
    ///
    /// The process has ended.
    pub(crate) fn give_the_word(&mut self) -> Result<()> {
        let stdin = self.stdin.as_mut().context("a second process listens")?;
        writeln!(stdin, "go").context("a second process has ended before its word")
    }

    /// Kills the process and hears the rest of what it had said.
    ///
    /// # Errors
    ///
    /// The process can't be killed.
    pub(crate) fn kill(mut self) -> Result<Vec<String>> {
        self.child.kill()?;
        self.child.wait()?;
        self.rest()
    }

    /// Stops the process where it is, and returns when it stands.
    ///
    /// # Errors
    ///
    /// It has ended.
    pub(crate) fn stop(&self) -> Result<()> {
        let process = self.process()?;
        kill(process, Signal::SIGSTOP)?;
        let status = waitpid(process, Some(WaitPidFlag::WUNTRACED))?;
        ensure!(
            matches!(status, WaitStatus::Stopped(_, _)),
            "a second process ended before it could be stopped"
        );
        Ok(())
    }

    /// Lets a stopped process go on.
    ///
    /// # Errors
    ///
    /// It has ended.
    pub(crate) fn wake(&self) -> Result<()> {
        Ok(kill(self.process()?, Signal::SIGCONT)?)
    }

    fn process(&self) -> Result<Pid> {
        Ok(Pid::from_raw(i32::try_from(self.id())?))
    }

    /// Hears the rest of what a process says that has ended.
    ///
    /// # Errors
    ///
    /// The pipe can't be read.
    pub(crate) fn rest(&mut self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        while let Some(line) = self.hear()? {
            lines.push(line);
        }
        Ok(lines)
    }

    /// Waits for the process to end well and gives the rest of what it says.
    ///
    /// # Errors
    ///
    /// It fails.
    pub(crate) fn finish(mut self) -> Result<Vec<String>> {
        drop(self.stdin.take());
        let mut text = String::new();
        self.lines.read_to_string(&mut text)?;
        let status = self.child.wait()?;
        ensure!(
            status.success(),
            "a second process ended with {status}: {text}"
        );
        Ok(text.lines().map(str::to_owned).collect())
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        if self.life == Life::Ours {
            // One that has ended already is not there to be killed.
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

/// Counts the acknowledgements among lines.
pub(crate) fn acknowledged(lines: &[String]) -> usize {
    let is_one = |line: &&String| line.starts_with("acknowledged ");
    lines.iter().filter(is_one).count()
}
