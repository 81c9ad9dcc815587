//! Owns `migrate`: it prepares a store that has to be prepared. It moves no row.

use crate::command::Context;
use crate::console::Console;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::store::{Migrated, StoreArgument};

/// Prepare the schema of a Postgres store; other stores prepare themselves
///
/// Run it once for a new database and after each upgrade, with a role that may create tables; the
/// commands that append need no such role. Running it again, or several times at once, is safe.
#[derive(Debug, clap::Args)]
pub(crate) struct Migrate {
    #[command(flatten)]
    store: StoreArgument,
}

impl Migrate {
    pub(crate) async fn run(
        self,
        context: Context<'_>,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let line = match self.store.migrate(context.busy_timeout).await? {
            Migrated::Ready => "ready: the schema is that of this version",
            Migrated::NothingToDo => "nothing to do: this store prepares itself",
        };
        console.line(line)?;
        Ok(ExitStatus::Done)
    }
}
