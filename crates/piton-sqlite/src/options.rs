//! Owns what a caller may choose about a store. It opens nothing.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

/// The most connections that a store keeps open for writing, used or idle.
pub const MAX_OPEN_CONNECTIONS: usize = 64;

/// The time-out when none is chosen.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// What a caller may choose about a [`SqliteStore`](crate::SqliteStore).
#[derive(Clone)]
pub struct SqliteOptions {
    /// How long a call waits for another writer, 5 s unless chosen.
    pub busy_timeout: Duration,
    /// Where `written_at` comes from, the system's clock unless chosen; never hashed.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            busy_timeout: BUSY_TIMEOUT,
            clock: Arc::new(Timestamp::now),
        }
    }
}

impl fmt::Debug for SqliteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteOptions")
            .field("busy_timeout", &self.busy_timeout)
            .finish_non_exhaustive()
    }
}
