//! Owns how failures of SQLite and of the system become the port's errors. It hides the driver.

use std::io;
use std::time::Duration;

use piton_ledger::WorkflowId;
use piton_store::{Retry, StoreError};

use crate::scan::ScanError;

/// `SQLITE_BUSY`: another writer outlasted the time-out.
const BUSY: u32 = 5;
/// `SQLITE_CANTOPEN`
const CANNOT_OPEN: u32 = 14;
/// `SQLITE_IOERR_SHORT_READ`: the file is shorter than the database.
const SHORT_READ: u32 = 522;
/// A tail moved between its reading and the insert: the column that must not be null was null.
const NOT_NULL: u32 = 1299;
/// The row id is taken: `SQLITE_CONSTRAINT_PRIMARYKEY` and `SQLITE_CONSTRAINT_ROWID`.
const KEY_TAKEN: [u32; 2] = [1555, 2579];
/// `SQLITE_CONSTRAINT_UNIQUE`
const UNIQUE: u32 = 2067;

/// What went wrong in the driver; private, so that no signature shows it.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct DriverError(sqlx::Error);

/// What went wrong in the engine during a scan; private as well.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct EngineError(rusqlite::Error);

/// The engine answered in a way that its documentation excludes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct UnexpectedAnswer(&'static str);

/// What a failed insert means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InsertFailure {
    /// The tail has moved.
    Stale,
    /// A transition id or a head is taken.
    Taken,
    /// Anything else.
    Engine,
}

/// What is being done, to which workflow: the context of every error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    /// What is being done.
    pub(crate) action: &'static str,
    /// To which workflow.
    pub(crate) workflow: &'a WorkflowId,
    /// How long the call may wait for others.
    pub(crate) busy_timeout: Duration,
}

impl Call<'_> {
    /// Wraps what the driver said.
    pub(crate) fn sql(&self, error: sqlx::Error) -> StoreError {
        match code(&error) {
            Some(code) if primary(code) == BUSY => self.busy(),
            _ => self.engine(retry_of(&error), DriverError(error)),
        }
    }

    /// Wraps what a scan said.
    pub(crate) fn scan(&self, error: ScanError) -> StoreError {
        let error = match error {
            ScanError::Driver(error) => return self.sql(error),
            ScanError::Engine(error) => error,
        };
        let code = error
            .sqlite_error()
            .and_then(|error| u32::try_from(error.extended_code).ok());
        match code {
            Some(code) if primary(code) == BUSY => self.busy(),
            _ => self.engine(code.map_or(Retry::Helps, retry_of_code), EngineError(error)),
        }
    }

    /// Wraps what the system said.
    pub(crate) fn io(&self, error: io::Error) -> StoreError {
        self.engine(retry_of_io(&error), error)
    }

    /// Says that another writer did not let go in time.
    pub(crate) fn busy(&self) -> StoreError {
        StoreError::Busy {
            workflow: self.workflow.clone(),
            waited: self.busy_timeout,
        }
    }

    /// Says that the place can't hold a ledger.
    pub(crate) fn unfit(&self, reason: impl Into<String>) -> StoreError {
        StoreError::Unfit {
            action: self.action,
            workflow: Some(self.workflow.clone()),
            reason: reason.into(),
        }
    }

    /// Says that the engine did something it should not.
    pub(crate) fn unexpected(&self, what: &'static str) -> StoreError {
        self.engine(Retry::IsUseless, UnexpectedAnswer(what))
    }

    /// Says that the stored column of the last row is not what it should be.
    pub(crate) fn unreadable(&self, column: &'static str) -> StoreError {
        StoreError::UnreadableColumn {
            workflow: self.workflow.clone(),
            column,
        }
    }

    /// Wraps a failure together with whether trying again can help.
    pub(crate) fn engine(
        &self,
        retry: Retry,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> StoreError {
        StoreError::Engine {
            action: self.action,
            workflow: Some(self.workflow.clone()),
            retry,
            source: Box::new(source),
        }
    }
}

/// Wraps a failure of the system that concerns no single workflow.
pub(crate) fn io_of_store(action: &'static str, error: io::Error) -> StoreError {
    StoreError::Engine {
        action,
        workflow: None,
        retry: retry_of_io(&error),
        source: Box::new(error),
    }
}

/// Wraps a failure of the driver that concerns no single workflow.
pub(crate) fn sql_of_store(action: &'static str, error: sqlx::Error) -> StoreError {
    StoreError::Engine {
        action,
        workflow: None,
        retry: retry_of(&error),
        source: Box::new(DriverError(error)),
    }
}

/// Classifies the failure of an insert by its extended code.
pub(crate) fn classify(error: &sqlx::Error) -> InsertFailure {
    match code(error) {
        Some(NOT_NULL) => InsertFailure::Stale,
        Some(UNIQUE) => InsertFailure::Taken,
        Some(other) if KEY_TAKEN.contains(&other) => InsertFailure::Stale,
        Some(_) | None => InsertFailure::Engine,
    }
}

/// `SQLITE_READONLY_RECOVERY`, `SQLITE_READONLY_CANTLOCK`, `SQLITE_READONLY_DIRECTORY`
const READONLY_PASSING: [u32; 3] = [264, 520, 1544];

/// Whether a file could not be opened, which a reader that raced a writer may see.
pub(crate) fn is_cannot_open(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| primary(code) == CANNOT_OPEN || READONLY_PASSING.contains(&code))
}

/// The extended code.
fn code(error: &sqlx::Error) -> Option<u32> {
    error.as_database_error()?.code()?.parse().ok()
}

/// The low byte of an extended code is the primary code.
fn primary(code: u32) -> u32 {
    code & 0xff
}

fn retry_of(error: &sqlx::Error) -> Retry {
    match code(error) {
        Some(code) => retry_of_code(code),
        None => system(error).map_or(Retry::Helps, retry_of_io),
    }
}

fn retry_of_code(code: u32) -> Retry {
    match (code, primary(code)) {
        // PERM, READONLY, CORRUPT, FULL, CANTOPEN, SCHEMA's kin and NOTADB ask for a remedy first.
        (SHORT_READ, _) | (_, 1 | 3 | 8 | 11 | 13 | 14 | 19 | 20 | 23 | 26) => Retry::IsUseless,
        _ => Retry::Helps,
    }
}

fn system(error: &sqlx::Error) -> Option<&io::Error> {
    if let sqlx::Error::Io(error) = error {
        Some(error)
    } else {
        None
    }
}

fn retry_of_io(error: &io::Error) -> Retry {
    // Kinds are an open set, and all others may pass.
    let needs_remedy = [
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::ReadOnlyFilesystem,
        io::ErrorKind::StorageFull,
        io::ErrorKind::QuotaExceeded,
        io::ErrorKind::NotADirectory,
        io::ErrorKind::InvalidInput,
        io::ErrorKind::InvalidFilename,
        io::ErrorKind::FileTooLarge,
    ]
    .contains(&error.kind());
    if needs_remedy {
        Retry::IsUseless
    } else {
        Retry::Helps
    }
}
