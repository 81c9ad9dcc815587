//! Owns a connection that writes: how it is opened and checked, and who has it while a statement
//! runs. It writes no row.

use std::sync::Arc;
use std::time::Duration;

use piton_store::StoreError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};
use tokio::sync::oneshot;

use crate::error::Call;
use crate::lock::Locked;
use crate::paths::{self, Paths, Stamp};
use crate::pool::{Kept, Permit};
use crate::row::StoredTail;
use crate::schema::{Constraints, LAYOUT_VERSION, Table};
use crate::store::Inner;

/// Older releases can lose rows when a write-ahead log is reset.
const OLDEST_SQLITE: [u32; 3] = [3, 51, 3];

/// An open connection and what is known of its database.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) connection: SqliteConnection,
    permit: Permit,
    files: Files,
    pub(crate) layout_version: i64,
    pub(crate) table: Table,
    pub(crate) constraints: Constraints,
    /// The tail that this connection wrote or read last, as a guess; the insert proves it.
    pub(crate) tail: Option<StoredTail>,
}

/// The files that a connection has open: it must not write to them once others stand in their
/// place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Files {
    database: Option<Stamp>,
    wal: Option<Stamp>,
    shm: Option<Stamp>,
}

impl Files {
    fn read(paths: &Paths) -> std::io::Result<Self> {
        Ok(Self {
            database: paths::stamp(&paths.database)?,
            wal: paths::stamp(&paths.wal())?,
            shm: paths::stamp(&paths.shm())?,
        })
    }

    /// Whether all three still are the same; a log never shrinks while it is in use.
    fn still_stand(&self, now: &Self) -> bool {
        let same = |before: &Option<Stamp>, now: &Option<Stamp>| match (before, now) {
            (Some(before), Some(now)) => before.is_same_file(now),
            (None, _) | (_, None) => false,
        };
        same(&self.database, &now.database)
            && same(&self.shm, &now.shm)
            && same(&self.wal, &now.wal)
            && self.wal.map(|wal| wal.length) <= now.wal.map(|wal| wal.length)
    }
}

impl Writer {
    /// Whether the files that the connection has open are those at the paths.
    pub(crate) fn is_current(&self, paths: &Paths) -> std::io::Result<bool> {
        Ok(self.files.still_stand(&Files::read(paths)?))
    }

    /// Notes how the files stand now.
    pub(crate) fn refresh(&mut self, paths: &Paths) -> std::io::Result<()> {
        self.files = Files::read(paths)?;
        Ok(())
    }

    /// Notes how the log stands after a write; the other files have just been compared.
    pub(crate) fn refresh_log(&mut self, paths: &Paths) -> std::io::Result<()> {
        if self.files.shm.is_none() || self.files.wal.is_none() {
            self.refresh(paths)?;
            return paths::sync_directory(&paths.directory);
        }
        self.files.wal = paths::stamp(&paths.wal())?;
        Ok(())
    }

    /// Closes the connection after what it is doing, and gives back the right to hold one.
    pub(crate) async fn close(self) -> Result<Permit, sqlx::Error> {
        self.connection.close().await?;
        Ok(self.permit)
    }
}

impl Kept for Writer {
    async fn make_room(self: Box<Self>) -> Option<Permit> {
        self.close().await.ok()
    }
}

/// A connection in use. Unless it is [finished](Lease::finish) it is closed, and the append lock
/// is held until whatever statement was running has ended: a caller may drop its future at any
/// time, and the engine's thread goes on.
#[derive(Debug)]
pub(crate) struct Lease {
    writer: Option<Box<Writer>>,
    locked: Arc<Locked>,
    inner: Arc<Inner>,
}

impl Lease {
    pub(crate) fn new(inner: &Arc<Inner>, locked: &Arc<Locked>, writer: Box<Writer>) -> Self {
        Self {
            writer: Some(writer),
            locked: Arc::clone(locked),
            inner: Arc::clone(inner),
        }
    }

    /// Gives the connection.
    ///
    /// # Panics
    ///
    /// Never: the writer leaves only with the lease.
    pub(crate) fn writer(&mut self) -> &mut Writer {
        self.writer
            .as_mut()
            .expect("the writer leaves only with the lease")
    }

    /// Keeps the connection for the next call: nothing runs on it, and nothing is wrong with it.
    pub(crate) fn finish(mut self) {
        if let Some(writer) = self.writer.take() {
            self.inner.pool.put_back(&self.locked.workflow, writer);
        }
    }

    /// Closes the connection and waits until that is done.
    pub(crate) async fn close(mut self) -> Option<Permit> {
        self.abandon()?.await.ok()
    }

    /// Closes the connection in a thread that holds the append lock until then.
    fn abandon(&mut self) -> Option<oneshot::Receiver<Permit>> {
        let writer = self.writer.take()?;
        let locked = Arc::clone(&self.locked);
        let (sender, receiver) = oneshot::channel();
        let close = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            if let Ok(runtime) = runtime
                && let Ok(permit) = runtime.block_on(writer.close())
            {
                drop(locked);
                sender.send(permit).ok();
            }
        };
        // Without a thread the connection is closed all the same, only nobody waits for it.
        std::thread::Builder::new()
            .name("piton-close".to_owned())
            .spawn(close)
            .ok()
            .map(|_| receiver)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// Opens a database for writing and checks everything that an append leans on.
///
/// The caller holds the append lock, since first opens that race fail in ways that no time-out
/// covers.
pub(crate) async fn open(
    inner: &Arc<Inner>,
    locked: &Arc<Locked>,
    place: Place,
    permit: Permit,
    call: &Call<'_>,
) -> Result<Lease, StoreError> {
    let file = match place {
        Place::Database => &locked.paths.database,
        Place::Nascent => &locked.paths.nascent,
    };
    let before = paths::stamp(file).map_err(|error| call.io(error))?;
    let options = match place {
        Place::Database => options(call),
        // It becomes durable as a whole, before it is moved into place.
        Place::Nascent => options(call).pragma("synchronous", "OFF"),
    };
    let connection = options
        .filename(file)
        .connect()
        .await
        .map_err(|error| call.sql(error))?;
    let writer = Box::new(Writer {
        connection,
        permit,
        files: Files {
            database: before,
            wal: None,
            shm: None,
        },
        layout_version: 0,
        table: Table::Absent,
        constraints: Constraints::Missing,
        tail: None,
    });
    let mut lease = Lease::new(inner, locked, writer);
    match check(&mut lease, place, before, call).await {
        Ok(()) => Ok(lease),
        Err(error) => {
            lease.close().await;
            Err(error)
        }
    }
}

async fn check(
    lease: &mut Lease,
    place: Place,
    before: Option<Stamp>,
    call: &Call<'_>,
) -> Result<(), StoreError> {
    let locked = Arc::clone(&lease.locked);
    let writer = lease.writer();
    check_engine(&mut writer.connection, call).await?;
    let layout = inspect(&mut writer.connection)
        .await
        .map_err(|error| call.sql(error))?;
    if let Some(reason) = layout.fault {
        return Err(call.unfit(reason));
    }
    if layout.version > LAYOUT_VERSION {
        return Err(newer(call, layout.version));
    }
    if layout.triggers == Triggers::Present {
        return Err(call.unfit("its database has triggers, which could change what is written"));
    }
    check_index(&mut writer.connection, layout.constraints, call).await?;
    // Only now, since to change the journal mode is to write.
    set_journal_mode(&mut writer.connection, call).await?;
    writer.layout_version = layout.version;
    writer.table = layout.table;
    writer.constraints = layout.constraints;
    if place == Place::Nascent {
        return Ok(());
    }
    check_settings(&mut writer.connection, call).await?;
    writer
        .refresh(&locked.paths)
        .map_err(|error| call.io(error))?;
    // SQLite syncs the directory when it begins a log, and doesn't say so when that fails; and
    // whoever made the database may have been killed before its name was durable.
    paths::sync_directory(&locked.paths.directory).map_err(|error| call.io(error))?;
    match (before, writer.files.database) {
        (Some(before), Some(after)) if before.is_same_file(&after) => Ok(()),
        (_, _) => Err(call.unfit("the database was replaced while it was being opened")),
    }
}

/// Which file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The workflow's database.
    Database,
    /// A database that is being made.
    Nascent,
}

/// What every connection has in common.
pub(crate) fn options(call: &Call<'_>) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .create_if_missing(false)
        .busy_timeout(busy_timeout(call))
        .pragma("synchronous", "FULL")
        // On systems whose plain fsync stops at the drive's cache.
        .pragma("fullfsync", "ON")
        .pragma("checkpoint_fullfsync", "ON")
        // A ledger has no views or triggers of ours, so none may call functions.
        .pragma("trusted_schema", "OFF")
        .disable_statement_logging()
}

/// SQLite counts milliseconds in a C integer.
fn busy_timeout(call: &Call<'_>) -> Duration {
    let longest = Duration::from_millis(i32::MAX.unsigned_abs().into());
    call.busy_timeout.min(longest)
}

/// Refuses an engine that is known to lose rows.
async fn check_engine(
    connection: &mut SqliteConnection,
    call: &Call<'_>,
) -> Result<(), StoreError> {
    let version: String = scalar(connection, "SELECT sqlite_version()")
        .await
        .map_err(|error| call.sql(error))?;
    if is_sound(&version) {
        Ok(())
    } else {
        Err(call.unfit(format!(
            "SQLite {version} can lose rows; 3.51.3 or newer is needed"
        )))
    }
}

fn is_sound(version: &str) -> bool {
    let numbers: Option<Vec<u32>> = version.split('.').map(|part| part.parse().ok()).collect();
    numbers.is_some_and(|numbers| numbers.as_slice() >= OLDEST_SQLITE.as_slice())
}

/// Sets the journal mode and reads it back, since a file system may decline it.
async fn set_journal_mode(
    connection: &mut SqliteConnection,
    call: &Call<'_>,
) -> Result<(), StoreError> {
    let engine = |error| call.sql(error);
    let mode: String = scalar(connection, "PRAGMA journal_mode=WAL")
        .await
        .map_err(engine)?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(call.unfit(format!(
            "its file system declines write-ahead logging (journal mode is {mode}); use a local one"
        )));
    }
    Ok(())
}

/// Reads back what makes a commit durable and a wait patient.
async fn check_settings(
    connection: &mut SqliteConnection,
    call: &Call<'_>,
) -> Result<(), StoreError> {
    let engine = |error| call.sql(error);
    let synchronous: i64 = scalar(connection, "PRAGMA synchronous")
        .await
        .map_err(engine)?;
    if synchronous != 2 {
        return Err(call.unfit("SQLite declines synchronous=FULL"));
    }
    let wait: i64 = scalar(connection, "PRAGMA busy_timeout")
        .await
        .map_err(engine)?;
    if u128::try_from(wait).ok() != Some(busy_timeout(call).as_millis()) {
        return Err(call.unfit("SQLite declines the busy time-out"));
    }
    Ok(())
}

/// What a database says of its own layout.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) version: i64,
    pub(crate) table: Table,
    pub(crate) constraints: Constraints,
    /// Why nobody can trust what the tables seem to hold.
    pub(crate) fault: Option<&'static str>,
    /// Whether a trigger could change what an append writes.
    pub(crate) triggers: Triggers,
}

/// Whether a database runs statements of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Triggers {
    Absent,
    Present,
}

/// As bytes: the driver's thread dies of a name or declared type that is not UTF-8.
const SCHEMA_TEXTS: &str =
    "SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(sql AS BLOB) FROM sqlite_schema";

const TABLE: &str = "SELECT type, wr FROM pragma_table_list \
     WHERE schema = 'main' AND name = 'checkpoint_chain' COLLATE NOCASE";

const CONSTRAINTS: &str = "SELECT \
     EXISTS (SELECT 1 FROM pragma_index_list('checkpoint_chain') AS list \
         WHERE list.\"unique\" AND NOT list.partial \
         AND (SELECT group_concat(name) FROM pragma_index_info(list.name)) = 'transition_id') \
     AND EXISTS (SELECT 1 FROM pragma_table_info('checkpoint_chain') \
         WHERE name = 'prior_head' AND \"notnull\") \
     AND (SELECT group_concat(name) FROM pragma_table_info('checkpoint_chain') WHERE pk) = 'sequence'";

/// Reads a database's layout.
pub(crate) async fn inspect(connection: &mut SqliteConnection) -> Result<Layout, sqlx::Error> {
    let (fault, triggers) = read_schema(connection).await?;
    if fault.is_some() {
        return Ok(Layout {
            version: 0,
            table: Table::Absent,
            constraints: Constraints::Missing,
            fault,
            triggers,
        });
    }
    let version = scalar(connection, "PRAGMA user_version").await?;
    let row: Option<SqliteRow> = sqlx::query(TABLE).fetch_optional(&mut *connection).await?;
    let table = match row {
        None => Table::Absent,
        Some(row) => match (row.try_get(0)?, row.try_get(1)?) {
            ("table", 0i64) => Table::WithRowid,
            (_, _) => Table::WithoutRowid,
        },
    };
    let constraints = match scalar::<Option<i64>>(connection, CONSTRAINTS).await? {
        Some(1) if table == Table::WithRowid => Constraints::Present,
        Some(_) | None => Constraints::Missing,
    };
    Ok(Layout {
        version,
        table,
        constraints,
        fault,
        triggers,
    })
}

async fn read_schema(
    connection: &mut SqliteConnection,
) -> Result<(Option<&'static str>, Triggers), sqlx::Error> {
    let mut fault = None;
    let mut triggers = Triggers::Absent;
    for row in sqlx::query(SCHEMA_TEXTS).fetch_all(connection).await? {
        let texts: [Option<Vec<u8>>; 3] = [row.try_get(0)?, row.try_get(1)?, row.try_get(2)?];
        let is_text = |text: &Vec<u8>| std::str::from_utf8(text).is_ok();
        if !texts.iter().flatten().all(is_text) {
            fault = Some("its schema is damaged; restore it from a backup");
        }
        let [kind, name, _] = texts.map(Option::unwrap_or_default);
        match kind.as_slice() {
            b"trigger" => triggers = Triggers::Present,
            b"view" if name.eq_ignore_ascii_case(b"checkpoint_chain") => {
                fault = Some("a view stands where its table should be");
            }
            _ => {}
        }
    }
    Ok((fault, triggers))
}

/// Makes durable what is committed, although nobody may have waited until it was: a process that is
/// killed between a write and its sync leaves a commit that the next one finds in the kernel's
/// memory.
///
/// The log is written anew, byte for byte, because what a failed sync has left in doubt no later
/// sync makes certain. To move it into the database would not help: what of the log is on disk
/// would hide newer pages there.
pub(crate) async fn settle(
    connection: &mut SqliteConnection,
    paths: &Paths,
    call: &Call<'_>,
) -> Result<(), StoreError> {
    // Under SQLite's own lock, in case somebody writes without the append lock.
    for_effect(connection, "BEGIN IMMEDIATE", call).await?;
    // SQLite takes no lock on the log, so to close it here ends none.
    let written = match paths::rewrite(&paths.wal()) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    };
    for_effect(connection, "ROLLBACK", call).await?;
    written.map_err(|error| call.io(error))
}

async fn for_effect(
    connection: &mut SqliteConnection,
    statement: &'static str,
    call: &Call<'_>,
) -> Result<(), StoreError> {
    let done = sqlx::raw_sql(statement).execute(connection).await;
    done.map(drop).map_err(|error| call.sql(error))
}

/// Refuses a table whose rows the unique index does not find: an append would record a repeated
/// transition as a new one.
async fn check_index(
    connection: &mut SqliteConnection,
    constraints: Constraints,
    call: &Call<'_>,
) -> Result<(), StoreError> {
    if constraints == Constraints::Missing {
        return Ok(());
    }
    let lost: i64 = scalar(connection, LOST_IN_INDEX)
        .await
        .map_err(|error| call.sql(error))?;
    if lost == 0 {
        Ok(())
    } else {
        Err(call
            .unfit("its index of transition ids is damaged; verify it and copy it to a new store"))
    }
}

/// The plus sign keeps SQLite from finding the row by its sequence instead.
const LOST_IN_INDEX: &str = "SELECT EXISTS (SELECT 1 FROM checkpoint_chain AS listed NOT INDEXED \
     WHERE NOT EXISTS (SELECT 1 FROM checkpoint_chain AS found \
         WHERE found.transition_id = listed.transition_id AND +found.sequence = listed.sequence))";

/// Asks for an answer. A driver whose thread has died gives no rows instead of an error, so
/// whoever was given none must know that the connection is alive.
pub(crate) async fn confirm(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    scalar::<i64>(connection, "SELECT 1").await.map(drop)
}

pub(crate) fn newer(call: &Call<'_>, found: i64) -> StoreError {
    StoreError::NewerLayout {
        workflow: call.workflow.clone(),
        found,
        newest: LAYOUT_VERSION,
    }
}

/// Reads the one value that a statement gives.
pub(crate) async fn scalar<T>(
    connection: &mut SqliteConnection,
    statement: &'static str,
) -> Result<T, sqlx::Error>
where
    T: for<'r> sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
{
    sqlx::query(statement)
        .fetch_one(connection)
        .await?
        .try_get(0)
}
