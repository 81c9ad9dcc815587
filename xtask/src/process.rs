//! Runs one child process in the foreground and keeps its exit code.
//!
//! It must not decide what a failure means: callers do.

use std::fmt;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result};
use xshell::Cmd;

/// A child process that ran and did not succeed.
#[derive(Debug)]
pub(crate) struct CommandFailed {
    command: String,
    /// `None` when a signal ended it.
    code: Option<i32>,
}

impl CommandFailed {
    /// The child's own exit code; `None` when a signal ended it.
    pub(crate) fn code(&self) -> Option<i32> {
        self.code
    }

    /// The code to end with: the child's own where it fits a process exit code.
    pub(crate) fn exit_code(&self) -> ExitCode {
        self.code
            .and_then(|code| u8::try_from(code).ok())
            .filter(|code| *code != 0)
            .map_or(ExitCode::FAILURE, ExitCode::from)
    }
}

impl fmt::Display for CommandFailed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(formatter, "`{}` exited with code {code}", self.command),
            None => write!(formatter, "`{}` was ended by a signal", self.command),
        }
    }
}

impl std::error::Error for CommandFailed {}

/// Runs `command` with the terminal's output and without input, and prints it first.
///
/// # Errors
///
/// [`CommandFailed`] when it does not succeed; another error when it can't be started.
pub(crate) fn run(command: Cmd<'_>) -> Result<()> {
    run_reading(command, Stdio::null())
}

/// Like [`run`], with this program's own input.
pub(crate) fn run_with_input(command: Cmd<'_>) -> Result<()> {
    run_reading(command, Stdio::inherit())
}

fn run_reading(command: Cmd<'_>, input: Stdio) -> Result<()> {
    let shown = command.to_string();
    eprintln!("$ {shown}");
    let status = Command::from(command)
        .stdin(input)
        .status()
        .with_context(|| format!("`{shown}` could not be started"))?;
    if status.success() {
        return Ok(());
    }
    Err(CommandFailed {
        command: shown,
        code: status.code(),
    }
    .into())
}

#[cfg(test)]
mod tests {
    use xshell::{Shell, cmd};

    use super::*;

    fn failure(script: &str) -> CommandFailed {
        let shell = Shell::new().expect("the working directory is readable");
        run(cmd!(shell, "sh -c {script}"))
            .expect_err("the script fails")
            .downcast()
            .expect("a started command fails as CommandFailed")
    }

    #[test]
    fn a_success_is_ok() {
        let shell = Shell::new().expect("the working directory is readable");
        run(cmd!(shell, "true")).expect("true succeeds");
    }

    #[test]
    fn the_exit_code_is_the_childs_own() {
        let failed = failure("exit 100");
        assert_eq!(
            format!("{:?}", failed.exit_code()),
            format!("{:?}", ExitCode::from(100))
        );
        assert!(failed.to_string().ends_with("exited with code 100"));
    }

    #[test]
    fn a_signal_is_a_failure() {
        let failed = failure("kill -9 $$");
        assert_eq!(
            format!("{:?}", failed.exit_code()),
            format!("{:?}", ExitCode::FAILURE)
        );
        assert!(failed.to_string().ends_with("was ended by a signal"));
    }

    #[test]
    fn a_missing_program_is_named() {
        let shell = Shell::new().expect("the working directory is readable");
        let error = run(cmd!(shell, "piton-no-such-program")).expect_err("it does not exist");
        assert!(error.to_string().contains("piton-no-such-program"));
        assert!(error.downcast_ref::<CommandFailed>().is_none());
    }
}
