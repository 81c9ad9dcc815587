//! Owns the way from the arguments of a process to its exit code. It knows no command.

use std::error::Error as _;
use std::ffi::OsString;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _};
use piton_ledger::StateMachine;

use crate::command::CommandLine;
use crate::console::Console;
use crate::escape;
use crate::exit::ExitStatus;
use crate::failure::Failure;

/// The command line of one workflow family.
pub struct Piton<M> {
    recorded: Option<&'static str>,
    machine: PhantomData<M>,
}

/// Runs the command line of a workflow family on the arguments and streams of this process.
pub fn main<M: StateMachine>() -> ExitCode {
    Piton::<M>::new().main()
}

impl<M: StateMachine> Piton<M> {
    /// Makes a command line without a demo.
    pub const fn new() -> Self {
        Self {
            recorded: None,
            machine: PhantomData,
        }
    }

    /// Adds the command `demo`, which plays a recorded workflow: events of one workflow as JSON
    /// lines, each with its transition id and without a chain head, one of them with
    /// `"exit_code":1` in its outcome.
    #[must_use]
    pub const fn with_demo(mut self, recorded: &'static str) -> Self {
        self.recorded = Some(recorded);
        self
    }

    /// Runs on the arguments and streams of this process.
    pub fn main(&self) -> ExitCode {
        let status = self.run(std::env::args_os(), &mut Console::of_process());
        ExitCode::from(status.code())
    }

    /// Runs on arguments, of which the first names the binary, and streams.
    ///
    /// A failure is told on the error stream; the status is the whole result.
    pub fn run<I, A>(&self, arguments: I, console: &mut Console<'_>) -> ExitStatus
    where
        I: IntoIterator<Item = A>,
        A: Into<OsString>,
    {
        let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        let binary = binary_name(arguments.first());
        let parsed = self
            .command()
            .try_get_matches_from(&arguments)
            .and_then(|matches| CommandLine::from_arg_matches(&matches));
        let outcome = match parsed {
            Ok(line) => self.execute(line, &binary, console),
            Err(error) => explain(&error, &arguments, console),
        };
        let flushed = console.flush();
        match outcome.and_then(|status| flushed.map(|()| status)) {
            Ok(status) => status,
            Err(failure) => {
                let message = escape::visible(&failure.to_string());
                console.complain(format_args!("error: {message}"));
                if let Some(advice) = failure.advice() {
                    console.complain(format_args!("  help: {advice}"));
                }
                (&failure).into()
            }
        }
    }

    fn command(&self) -> clap::Command {
        let command = CommandLine::command().after_help(ExitStatus::table());
        match self.recorded {
            Some(_) => command,
            None => command.mut_subcommand("demo", |demo| demo.hide(true)),
        }
    }

    fn execute(
        &self,
        line: CommandLine,
        binary: &str,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let mut builder = if line.walks_many() {
            tokio::runtime::Builder::new_multi_thread()
        } else {
            tokio::runtime::Builder::new_current_thread()
        };
        let runtime = builder.enable_all().build().map_err(Failure::Runtime)?;
        runtime.block_on(line.run::<M>(binary, self.recorded, console))
    }
}

impl<M: StateMachine> Default for Piton<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M> fmt::Debug for Piton<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Piton")
    }
}

fn binary_name(first: Option<&OsString>) -> String {
    first
        .and_then(|path| Path::new(path).file_stem()?.to_str())
        .unwrap_or("piton")
        .to_owned()
}

/// Writes help or version to the output, or says what is wrong with the arguments.
///
/// A value that is refused is not repeated: a store URL may hold a password, and an id anything.
fn explain(
    error: &clap::Error,
    arguments: &[OsString],
    console: &mut Console<'_>,
) -> Result<ExitStatus, Failure> {
    let kind = error.kind();
    if matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        console.text(error.render().to_string().as_bytes())?;
        return Ok(ExitStatus::Done);
    }
    let refused = error
        .source()
        .filter(|_| kind == ErrorKind::ValueValidation)
        .map(|source| match error.get(ContextKind::InvalidArg) {
            Some(argument) => {
                format!("error: {argument}: {source}\n\nFor more information, try '--help'.")
            }
            None => format!("error: {source}"),
        });
    let message = refused.unwrap_or_else(|| hide_urls(error.render().to_string(), arguments));
    for line in message.trim_end().lines() {
        console.complain(escape::visible(line));
    }
    Ok(ExitStatus::Usage)
}

/// Takes what follows `://` in an argument out of a message: a URL in the wrong place is repeated
/// by the parser of the command line.
fn hide_urls(message: String, arguments: &[OsString]) -> String {
    arguments
        .iter()
        .filter_map(|argument| {
            let text = argument.to_string_lossy();
            let (_, rest) = text.split_once("://")?;
            (!rest.is_empty()).then(|| rest.to_owned())
        })
        .fold(message, |message, secret| message.replace(&secret, "…"))
}
