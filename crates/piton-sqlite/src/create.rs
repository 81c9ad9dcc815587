//! Owns the making of a workflow's database, so that a crash at any point leaves something that
//! opens. It appends no row.
//!
//! The order is: the pin, noting an empty chain; then the database, made whole under another name
//! and moved into place. So rows never exist without a pin, and a database never without its
//! table.

use std::sync::Arc;

use piton_store::{StoreError, Tail};

use crate::connection::{self, Lease, Place};
use crate::error::Call;
use crate::lock::Locked;
use crate::paths::{self, Paths};
use crate::pin::{self, Pin};
use crate::schema::{Constraints, LAYOUT_VERSION, SCHEMA, Table};
use crate::store::Inner;

/// Makes the database of a workflow that has none, and gives its pin.
pub(crate) async fn create_database(
    inner: &Arc<Inner>,
    locked: &Arc<Locked>,
    pin: &Pin,
    call: &Call<'_>,
) -> Result<Pin, StoreError> {
    let paths = &locked.paths;
    refuse_orphaned_log(paths, call)?;
    paths.settle_directory().map_err(|error| call.io(error))?;
    let pin = begin_pin(locked, pin).map_err(|error| call.io(error))?;
    remove_nascent(paths).map_err(|error| call.io(error))?;
    paths::create_private_file(&paths.nascent).map_err(|error| call.io(error))?;
    let permit = inner.vacancy(call).await?;
    let mut lease = connection::open(inner, locked, Place::Nascent, permit, call).await?;
    write_schema(&mut lease, call).await?;
    // The close moves everything from the log into the file.
    lease.close().await;
    settle(paths, call)?;
    Ok(pin)
}

/// Makes the table in a database that has none, and gives its pin.
pub(crate) async fn create_table(
    lease: &mut Lease,
    locked: &Locked,
    pin: &Pin,
    call: &Call<'_>,
) -> Result<Pin, StoreError> {
    let pin = note_empty(locked, pin).map_err(|error| call.io(error))?;
    write_schema(lease, call).await?;
    Ok(pin)
}

/// Notes an empty chain where nothing is noted.
fn note_empty(locked: &Locked, pin: &Pin) -> std::io::Result<Pin> {
    match pin {
        Pin::Absent => write_pin(locked),
        Pin::Damaged | Pin::Noted(_) => Ok(*pin),
    }
}

/// Notes an empty chain, even where that is noted already: without a database nobody knows
/// whether it is on disk.
fn begin_pin(locked: &Locked, pin: &Pin) -> std::io::Result<Pin> {
    match pin {
        Pin::Absent => write_pin(locked),
        Pin::Noted(note) if note.tail() == Tail::Empty => write_pin(locked),
        Pin::Damaged | Pin::Noted(_) => Ok(*pin),
    }
}

fn write_pin(locked: &Locked) -> std::io::Result<Pin> {
    let pin = pin::write_first(&locked.file, Tail::Empty).inspect_err(|_| {
        // Half a pin would be taken for a damaged one, though nothing was recorded yet.
        locked.file.set_len(0).ok();
    })?;
    paths::sync_directory(&locked.paths.directory)?;
    Ok(pin)
}

async fn write_schema(lease: &mut Lease, call: &Call<'_>) -> Result<(), StoreError> {
    let writer = lease.writer();
    for statement in [
        "BEGIN IMMEDIATE",
        SCHEMA,
        // The layout version of this crate.
        "PRAGMA user_version = 1",
        "COMMIT",
    ] {
        sqlx::raw_sql(statement)
            .execute(&mut writer.connection)
            .await
            .map_err(|error| call.sql(error))?;
    }
    writer.layout_version = LAYOUT_VERSION;
    writer.table = Table::WithRowid;
    writer.constraints = Constraints::Present;
    Ok(())
}

/// SQLite would replay a log onto the new database, to which it does not belong.
fn refuse_orphaned_log(paths: &Paths, call: &Call<'_>) -> Result<(), StoreError> {
    let log = paths::stamp(&paths.wal()).map_err(|error| call.io(error))?;
    if log.is_some_and(|log| log.length > 0) {
        return Err(call.unfit(
            "there is a write-ahead log without its database; restore the database or delete the workflow",
        ));
    }
    paths::remove_file(&paths.wal())
        .and_then(|()| paths::remove_file(&paths.shm()))
        .map_err(|error| call.io(error))
}

/// Removes what an interrupted creation left.
pub(crate) fn remove_nascent(paths: &Paths) -> std::io::Result<()> {
    for suffix in ["", "-journal", "-wal", "-shm"] {
        paths::remove_file(&paths::suffixed(&paths.nascent, suffix))?;
    }
    Ok(())
}

/// Makes a whole database durable and moves it into place. SQLite may swallow a failed fsync while
/// it creates a file, so it is left to this one.
fn settle(paths: &Paths, call: &Call<'_>) -> Result<(), StoreError> {
    let log = paths::stamp(&paths::suffixed(&paths.nascent, "-wal"));
    if log.map_err(|error| call.io(error))?.is_some() {
        return Err(call.unexpected("the new database could not be closed"));
    }
    let moved = std::fs::File::open(&paths.nascent)
        .and_then(|file| file.sync_all())
        .and_then(|()| std::fs::rename(&paths.nascent, &paths.database))
        .and_then(|()| paths::sync_directory(&paths.directory));
    moved.map_err(|error| call.io(error))
}
