//! Owns store URLs and the choice of an engine at run time: the only place that erases a store.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use piton_memory::MemoryStore;
use piton_postgres::{PostgresOptions, PostgresStore};
use piton_sqlite::{SqliteOptions, SqliteStore};
use piton_store::{AnyStore, CheckpointStore as _, StoreError};

use crate::console::Console;
use crate::failure::Failure;

/// Where a ledger lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    /// `memory:`, which ends with the process.
    Memory,
    /// `sqlite:DIR`, one directory a workflow.
    Sqlite(PathBuf),
    /// `postgres://…` or `postgresql://…`.
    Postgres(PostgresUrl),
}

/// The URL of a Postgres database. It may hold a password, so it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PostgresUrl(String);

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostgresUrl(…)")
    }
}

/// The text is not a store URL. The text itself is not repeated: it may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StoreUrlError {
    /// The scheme is missing or unknown.
    #[error("a store is `sqlite:DIR`, `postgres://…` or `memory:`; other schemes are not known")]
    UnknownScheme,
    /// `sqlite:` names no directory.
    #[error("`sqlite:` needs a directory after the colon")]
    NoDirectory,
    /// `sqlite:` is followed by what a shell or a browser would have to resolve.
    #[error("`sqlite:` takes a plain directory after the colon, without `//` and without `~`")]
    NotPlain,
    /// `postgres:` names no server.
    #[error("a Postgres store is `postgres://USER@HOST/DATABASE`")]
    NoServer,
    /// Something follows `memory:`.
    #[error("nothing follows `memory:`")]
    AfterMemory,
}

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(text: &str) -> Result<Self, StoreUrlError> {
        match text.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("memory", _)) => Err(StoreUrlError::AfterMemory),
            Some(("sqlite", "")) => Err(StoreUrlError::NoDirectory),
            Some(("sqlite", directory))
                if directory.starts_with("//") || directory.starts_with('~') =>
            {
                Err(StoreUrlError::NotPlain)
            }
            Some(("sqlite", directory)) => Ok(Self::Sqlite(directory.into())),
            Some(("postgres" | "postgresql", rest)) => match rest.strip_prefix("//") {
                Some(server) if !server.is_empty() => {
                    Ok(Self::Postgres(PostgresUrl(text.to_owned())))
                }
                Some(_) | None => Err(StoreUrlError::NoServer),
            },
            Some(_) | None => Err(StoreUrlError::UnknownScheme),
        }
    }
}

/// The time that is waited for another writer: seconds, or a number with `s` or `ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BusyTimeout(pub(crate) Duration);

/// The text is not a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a time is a whole number of seconds, such as `5` or `5s`, or of milliseconds, such as `500ms`"
)]
pub(crate) struct BusyTimeoutError;

impl FromStr for BusyTimeout {
    type Err = BusyTimeoutError;

    fn from_str(text: &str) -> Result<Self, BusyTimeoutError> {
        let (digits, unit): (&str, fn(u64) -> Duration) =
            if let Some(digits) = text.strip_suffix("ms") {
                (digits, Duration::from_millis)
            } else {
                (text.strip_suffix('s').unwrap_or(text), Duration::from_secs)
            };
        // 32 bits of seconds keep every later sum of times in range; `parse` takes a plus sign.
        if digits.starts_with('+') {
            return Err(BusyTimeoutError);
        }
        let number: u32 = digits.parse().map_err(|_| BusyTimeoutError)?;
        Ok(Self(unit(number.into())))
    }
}

/// Which store a command works on.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct StoreArgument {
    /// The ledger: `sqlite:DIR`, `postgres://…`, or `memory:`, which ends with the process
    #[arg(
        long,
        value_name = "URL",
        env = "PITON_STORE",
        hide_env_values = true,
        default_value = "sqlite:.piton"
    )]
    store: StoreUrl,
}

/// What a migration came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Migrated {
    /// The schema is that of this version.
    Ready,
    /// The store has no schema to prepare.
    NothingToDo,
}

impl StoreArgument {
    pub(crate) fn open(&self, busy_timeout: BusyTimeout) -> Result<AnyStore, StoreError> {
        open_store(&self.store, busy_timeout)
    }

    /// Opens a store to read one workflow after another. One that is not there is empty, as every
    /// unknown workflow is; but its name may be wrong, and that is said.
    pub(crate) fn open_to_read(
        &self,
        busy_timeout: BusyTimeout,
        console: &mut Console<'_>,
    ) -> Result<AnyStore, StoreError> {
        if is_missing(&self.store) {
            console.complain(format_args!("note: {NO_STORE}"));
        }
        self.open(busy_timeout)
    }

    /// Opens a store as [`open_present`] does.
    pub(crate) fn open_present(&self, busy_timeout: BusyTimeout) -> Result<AnyStore, StoreError> {
        open_present(&self.store, busy_timeout)
    }

    /// Prepares a store whose schema is not prepared by the first append.
    pub(crate) async fn migrate(&self, busy_timeout: BusyTimeout) -> Result<Migrated, Failure> {
        match &self.store {
            StoreUrl::Memory | StoreUrl::Sqlite(_) => Ok(Migrated::NothingToDo),
            StoreUrl::Postgres(url) => {
                let store = connect(url, busy_timeout)?;
                let migrated = store.migrate().await;
                store.close().await?;
                migrated?;
                Ok(Migrated::Ready)
            }
        }
    }
}

/// Opens the engine that a URL names.
pub(crate) fn open_store(
    url: &StoreUrl,
    busy_timeout: BusyTimeout,
) -> Result<AnyStore, StoreError> {
    match url {
        StoreUrl::Memory => Ok(AnyStore::new(
            MemoryStore::new().with_busy_timeout(busy_timeout.0),
        )),
        StoreUrl::Sqlite(directory) if directory.join("checkpoints.sqlite").exists() => Err(unfit(
            "this is the directory of one workflow; name the directory above it",
        )),
        StoreUrl::Sqlite(directory) => {
            let options = SqliteOptions {
                busy_timeout: busy_timeout.0,
                ..SqliteOptions::default()
            };
            Ok(AnyStore::new(SqliteStore::with_options(
                directory, options,
            )?))
        }
        StoreUrl::Postgres(url) => Ok(AnyStore::new(connect(url, busy_timeout)?)),
    }
}

/// Opens a store that a command takes everything from: one that is not there has a wrong name.
pub(crate) fn open_present(
    url: &StoreUrl,
    busy_timeout: BusyTimeout,
) -> Result<AnyStore, StoreError> {
    if is_missing(url) {
        return Err(unfit(NO_STORE));
    }
    open_store(url, busy_timeout)
}

const NO_STORE: &str = "there is no store in this directory; look at its name";

fn is_missing(url: &StoreUrl) -> bool {
    match url {
        StoreUrl::Sqlite(directory) => !directory.exists(),
        StoreUrl::Memory | StoreUrl::Postgres(_) => false,
    }
}

fn unfit(reason: &str) -> StoreError {
    StoreError::Unfit {
        action: "opening the store",
        workflow: None,
        reason: reason.to_owned(),
    }
}

fn connect(url: &PostgresUrl, busy_timeout: BusyTimeout) -> Result<PostgresStore, StoreError> {
    let options = PostgresOptions {
        busy_timeout: busy_timeout.0,
        ..PostgresOptions::default()
    };
    PostgresStore::with_options(&url.0, options)
}

/// Closes a store whatever the work on it gave; the work's own failure comes first.
pub(crate) async fn closing<T>(store: AnyStore, outcome: Result<T, Failure>) -> Result<T, Failure> {
    let closed = store.close().await;
    let value = outcome?;
    closed?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed() {
        let check = |text: &str, expected| assert_eq!(text.parse::<StoreUrl>(), expected, "{text}");
        check("memory:", Ok(StoreUrl::Memory));
        check("memory:x", Err(StoreUrlError::AfterMemory));
        check("sqlite:", Err(StoreUrlError::NoDirectory));
        for odd in [
            "sqlite://.piton",
            "sqlite:///x",
            "sqlite:~/ledgers",
            "sqlite:~",
        ] {
            check(odd, Err(StoreUrlError::NotPlain));
        }
        check("sqlite:a:b", Ok(StoreUrl::Sqlite("a:b".into())));
        check("sqlite:/x/y", Ok(StoreUrl::Sqlite("/x/y".into())));
        for url in ["postgres://u:p@h/d", "postgresql://h/d?piton_schema=s"] {
            check(url, Ok(StoreUrl::Postgres(PostgresUrl(url.to_owned()))));
        }
        for wrong in ["postgres:", "postgres://", "postgresql:u@h"] {
            check(wrong, Err(StoreUrlError::NoServer));
        }
        for unknown in [
            "",
            "sqlite",
            "SQLITE:a",
            "Postgres://u:p@h/d",
            "./ledger",
            ":",
        ] {
            check(unknown, Err(StoreUrlError::UnknownScheme));
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let url: StoreUrl = "postgres://u:hunter2@h/d".parse().expect("a URL");
        assert!(!format!("{url:?}").contains("hunter2"));
    }

    #[test]
    fn times_are_parsed() {
        let check = |text: &str, expected: Option<Duration>| {
            assert_eq!(
                text.parse().ok().map(|BusyTimeout(time)| time),
                expected,
                "{text}"
            );
        };
        check("5", Some(Duration::from_secs(5)));
        check("7s", Some(Duration::from_secs(7)));
        check("500ms", Some(Duration::from_millis(500)));
        check("0", Some(Duration::ZERO));
        for wrong in ["", "s", "ms", "-1", "+1", "1.5", "5m", "5 s", "99999999999"] {
            check(wrong, None);
        }
    }
}
