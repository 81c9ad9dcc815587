//! Owns the grammar of the command line: one module a command, and what they share.

mod append;
mod completions;
mod copy;
mod delete;
mod demo;
mod export;
mod head;
mod hydrate;
mod import;
mod list;
mod log;
mod migrate;
mod repin;
mod seal;
mod verify;

use std::num::NonZero;
use std::thread;

use clap::{Parser, Subcommand, ValueEnum};
use piton_ledger::StateMachine;

use crate::console::Console;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::store::BusyTimeout;

/// Tamper-evident, replay-safe checkpoint ledger for long-running workflows
#[derive(Debug, Parser)]
#[command(name = "piton", version, propagate_version = true)]
pub(crate) struct CommandLine {
    /// How long to wait for another writer: seconds, or milliseconds as in `500ms`
    #[arg(long, global = true, value_name = "TIME", default_value = "5")]
    busy_timeout: BusyTimeout,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Append(append::Append),
    Verify(verify::Verify),
    Hydrate(hydrate::Hydrate),
    Log(log::Log),
    List(list::List),
    Head(head::Head),
    Repin(repin::Repin),
    Delete(delete::Delete),
    Seal(seal::Seal),
    Copy(copy::Copy),
    Export(export::Export),
    Import(import::Import),
    Migrate(migrate::Migrate),
    Demo(demo::Demo),
    Completions(completions::Completions),
}

/// What every command may need besides its own arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    /// The name that the binary was called by.
    pub(crate) binary: &'a str,
    /// How long to wait for another writer.
    pub(crate) busy_timeout: BusyTimeout,
    /// The recorded workflow that the demo plays.
    pub(crate) recorded: Option<&'static str>,
}

/// How much is read at once.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

impl CommandLine {
    /// Whether there may be work for more than one core.
    pub(crate) fn walks_many(&self) -> bool {
        match &self.command {
            Command::Verify(command) => command.walks_many(),
            Command::List(_) => true,
            Command::Append(_)
            | Command::Hydrate(_)
            | Command::Log(_)
            | Command::Head(_)
            | Command::Repin(_)
            | Command::Delete(_)
            | Command::Seal(_)
            | Command::Copy(_)
            | Command::Export(_)
            | Command::Import(_)
            | Command::Migrate(_)
            | Command::Demo(_)
            | Command::Completions(_) => false,
        }
    }

    pub(crate) async fn run<M: StateMachine>(
        self,
        binary: &str,
        recorded: Option<&'static str>,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let context = Context {
            binary,
            busy_timeout: self.busy_timeout,
            recorded,
        };
        match self.command {
            Command::Append(command) => command.run::<M>(context, console).await,
            Command::Verify(command) => command.run::<M>(context, console).await,
            Command::Hydrate(command) => command.run::<M>(context, console).await,
            Command::Log(command) => command.run::<M>(context, console).await,
            Command::List(command) => command.run::<M>(context, console).await,
            Command::Head(command) => command.run(context, console).await,
            Command::Repin(command) => command.run::<M>(context, console).await,
            Command::Delete(command) => command.run(context, console).await,
            Command::Seal(command) => command.run::<M>(console),
            Command::Copy(command) => command.run::<M>(context, console).await,
            Command::Export(command) => command.run::<M>(context, console).await,
            Command::Import(command) => command.run::<M>(context, console).await,
            Command::Migrate(command) => command.run(context, console).await,
            Command::Demo(command) => command.run::<M>(context, console).await,
            Command::Completions(command) => command.run(context, console),
        }
    }
}
