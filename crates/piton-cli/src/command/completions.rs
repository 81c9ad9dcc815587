//! Owns `completions`: a script for a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::command::{CommandLine, Context};
use crate::console::Console;
use crate::exit::ExitStatus;
use crate::failure::Failure;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(
        self,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut CommandLine::command(),
            context.binary,
            &mut script,
        );
        console.text(&script)?;
        Ok(ExitStatus::Done)
    }
}
