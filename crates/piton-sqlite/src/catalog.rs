//! Owns the listing, counting and deleting of workflows. It reads no payload but the last.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use piton_ledger::WorkflowId;
use piton_store::{StoreError, Tail, WorkflowCatalog, WorkflowStats};

use crate::connection;
use crate::create;
use crate::error::io_of_store;
use crate::glance::{self, Ends};
use crate::lock::{Locked, SqliteLock};
use crate::paths::{self, Paths};
use crate::pin::{self, Pin};
use crate::reader::{self, Reader};
use crate::row;
use crate::store::SqliteStore;

impl WorkflowCatalog for SqliteStore {
    async fn list(&self) -> Result<Vec<WorkflowId>, StoreError> {
        self.inner.refuse_when_closed()?;
        list(&self.inner.root).map_err(|error| io_of_store("listing the workflows", error))
    }

    async fn stats(&self, workflow: &WorkflowId) -> Result<WorkflowStats, StoreError> {
        let call = self.inner.call("counting", workflow);
        self.inner.refuse_when_closed()?;
        let mut stats = WorkflowStats {
            workflow_id: workflow.clone(),
            rows: 0,
            first_written_at: None,
            last_row: None,
        };
        let Ends {
            rows,
            first_written_at,
            last,
        } = match glance::ends(&Paths::new(&self.inner.root, workflow), &call) {
            Some(ends) => ends,
            None => {
                let Some(mut reader) = reader::open(&self.inner.root, &call).await? else {
                    return Ok(stats);
                };
                let counted = count(&mut reader).await;
                reader.close().await;
                counted.map_err(|error| call.sql(error))?
            }
        };
        stats.rows = rows;
        stats.first_written_at = first_written_at.and_then(|time| time.as_text().map(Box::from));
        stats.last_row = last;
        Ok(stats)
    }

    async fn delete(&self, workflow: &WorkflowId) -> Result<(), StoreError> {
        let call = self.inner.call("deletion", workflow);
        self.inner.refuse_when_closed()?;
        let paths = Paths::new(&self.inner.root, workflow);
        if paths.inspect(&call)?.is_none() {
            return Err(unknown(workflow));
        }
        if !paths.lock.exists() && !is_recorded(&paths.directory).map_err(|error| call.io(error))? {
            return Err(unknown(workflow));
        }
        let Some(lock) = SqliteLock::acquire_now(&self.inner, workflow, paths)? else {
            return Err(StoreError::Busy {
                workflow: workflow.clone(),
                waited: Duration::ZERO,
            });
        };
        if let Some(writer) = self.inner.pool.take(workflow) {
            // What a failed close leaves behind is deleted like all else.
            writer.close().await.ok();
        }
        let paths = &lock.locked().paths;
        let recorded = is_recorded(&paths.directory).map_err(|error| call.io(error))?;
        forget(lock.locked()).map_err(|error| call.io(error))?;
        remove(paths).map_err(|error| call.io(error))?;
        drop(lock);
        if recorded {
            Ok(())
        } else {
            Err(unknown(workflow))
        }
    }
}

fn unknown(workflow: &WorkflowId) -> StoreError {
    StoreError::UnknownWorkflow {
        workflow: workflow.clone(),
    }
}

fn list(root: &Path) -> std::io::Result<Vec<WorkflowId>> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut workflows = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(Ok(workflow)) = name.to_str().map(str::parse::<WorkflowId>) else {
            continue;
        };
        let kind = entry.file_type()?;
        // A symbolic link is refused by every other call, and must not be passed over in silence.
        if kind.is_symlink() || (kind.is_dir() && is_recorded(&entry.path())?) {
            workflows.push(workflow);
        }
    }
    workflows.sort();
    Ok(workflows)
}

/// Whether a directory holds a ledger: a database, its log, or a lock file with a pin.
fn is_recorded(directory: &Path) -> std::io::Result<bool> {
    if paths::stamp(&directory.join(paths::DATABASE))?.is_some() {
        return Ok(true);
    }
    let has_pin = paths::stamp(&directory.join(paths::LOCK))?.is_some_and(|lock| lock.length > 0);
    let has_log = paths::stamp(&directory.join(paths::LOG))?.is_some_and(|log| log.length > 0);
    Ok(has_pin || has_log)
}

async fn count(reader: &mut Reader) -> Result<Ends, sqlx::Error> {
    let Some(statements) = row::statements(reader.layout.table) else {
        return Ok(Ends::default());
    };
    let connection = &mut reader.connection;
    let rows: i64 = connection::scalar(connection, "SELECT count(*) FROM checkpoint_chain").await?;
    let first = row::one(connection, statements.first).await?;
    let last = row::one(connection, statements.last).await?;
    // A count is never negative.
    Ok(Ends {
        rows: u64::try_from(rows).unwrap_or(0),
        first_written_at: first.map(|row| row.written_at),
        last,
    })
}

/// Notes an empty chain, so that whoever reads while the rows go does not miss them.
fn forget(locked: &Locked) -> std::io::Result<()> {
    let before = pin::read(&locked.file)?;
    match before {
        Pin::Absent => Ok(()),
        Pin::Damaged | Pin::Noted(_) => pin::replace(&locked.file, &before, Tail::Empty).map(drop),
    }
}

/// Removes the database first and the lock file last, so that what an interruption leaves can be
/// deleted again.
fn remove(paths: &Paths) -> std::io::Result<()> {
    paths::remove_file(&paths.database)?;
    for leftover in ["-wal", "-shm", "-journal"] {
        paths::remove_file(&paths::suffixed(&paths.database, leftover))?;
    }
    create::remove_nascent(paths)?;
    paths::sync_directory(&paths.directory)?;
    paths::remove_file(&paths.lock)?;
    let ended = match fs::remove_dir(&paths.directory) {
        Ok(()) => paths::sync_directory(&paths.root),
        // What is not of the ledger stays.
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
            paths::sync_directory(&paths.directory)
        }
        Err(error) => Err(error),
    };
    match ended {
        // With the lock file gone, another deletion may have ended the directory.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        ended => ended,
    }
}
