//! Owns what a caller may choose about a store. It connects to nothing.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

/// The time-out when none is chosen.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the making of a connection may take when nothing is chosen.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How many connections the pool holds when nothing is chosen.
const POOL_SIZE: usize = 16;

/// What stands between the store and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing, or a pooler that gives each client a server session of its own: appends are
    /// prepared.
    Direct,
    /// A pooler in transaction mode, which may give each transaction another server session:
    /// nothing relies on a session, and appends call the installed function.
    TransactionPooler,
}

/// What a store makes of a server that only follows another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicaPolicy {
    /// It is refused: what it shows may be older than what was acknowledged, so nothing may be
    /// resumed from it.
    Refuse,
    /// It may be read, for audits and reports that can be behind.
    Allow,
}

/// The name of the database schema that holds a ledger's tables.
///
/// 1 to 63 characters of `[a-z0-9_]`, the first no digit, and not beginning with `pg_`, which
/// Postgres keeps for itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaName(Box<str>);

/// The text is not the name of a schema that a ledger may live in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a schema name has 1 to 63 characters of a-z, 0-9 and `_`, begins with no digit and not with `pg_`"
)]
pub struct SchemaNameError;

impl SchemaName {
    /// Gives the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for SchemaName {
    /// Gives `piton`.
    fn default() -> Self {
        Self("piton".into())
    }
}

impl FromStr for SchemaName {
    type Err = SchemaNameError;

    fn from_str(text: &str) -> Result<Self, SchemaNameError> {
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let begins_well = text
            .bytes()
            .next()
            .is_some_and(|first| !first.is_ascii_digit());
        if begins_well && text.len() <= 63 && text.bytes().all(is_word) && !text.starts_with("pg_")
        {
            Ok(Self(text.into()))
        } else {
            Err(SchemaNameError)
        }
    }
}

impl fmt::Display for SchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SchemaName({self})")
    }
}

/// What a caller may choose about a [`PostgresStore`](crate::PostgresStore); parameters of the
/// connection URL overrule it.
#[derive(Clone)]
pub struct PostgresOptions {
    /// The schema of the ledger's tables, `piton` unless chosen.
    pub schema: SchemaName,
    /// The most connections that appends and short reads share, 16 unless chosen. Each held lock
    /// and each open chain read has a connection of its own besides.
    pub pool_size: NonZeroUsize,
    /// How long a call waits for another writer, 5 s unless chosen.
    pub busy_timeout: Duration,
    /// How long the making of one connection may take, 10 s unless chosen.
    pub connect_timeout: Duration,
    /// Where `written_at` comes from, the system's clock unless chosen; never hashed.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// What stands before the server, nothing unless chosen.
    pub mode: Mode,
    /// What to make of a server that only follows another one; refused unless chosen.
    pub replica: ReplicaPolicy,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            schema: SchemaName::default(),
            pool_size: NonZeroUsize::MIN.saturating_add(POOL_SIZE - 1),
            busy_timeout: BUSY_TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
            clock: Arc::new(Timestamp::now),
            mode: Mode::Direct,
            replica: ReplicaPolicy::Refuse,
        }
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("schema", &self.schema)
            .field("pool_size", &self.pool_size)
            .field("busy_timeout", &self.busy_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("mode", &self.mode)
            .field("replica", &self.replica)
            .finish_non_exhaustive()
    }
}
