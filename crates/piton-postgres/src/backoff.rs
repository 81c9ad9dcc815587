//! Owns how long a writer that lost a race waits before the next try, and when it gives up.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use tokio::time::sleep;

/// The first pause, in microseconds; each later one may be twice as long.
const FIRST_PAUSE: u64 = 500;
/// The longest pause, in microseconds: how long a freed lock may go unnoticed.
const LONGEST_PAUSE: u64 = 20_000;

/// Pauses of growing, random length until a time-out.
pub(crate) struct Backoff {
    patience: Duration,
    started: Option<Instant>,
    longest: u64,
}

impl Backoff {
    pub(crate) fn new(patience: Duration) -> Self {
        Self {
            patience,
            started: None,
            longest: FIRST_PAUSE,
        }
    }

    /// Begins to count, if it has not begun: the making of a connection is no wait for others.
    pub(crate) fn start(&mut self) {
        self.started.get_or_insert_with(Instant::now);
    }

    /// Pauses; gives the time that was waited when the patience is at its end.
    pub(crate) async fn wait(&mut self) -> Result<(), Duration> {
        let waited = self
            .started
            .map_or(Duration::ZERO, |started| started.elapsed());
        let Some(left) = self
            .patience
            .checked_sub(waited)
            .filter(|left| !left.is_zero())
        else {
            return Err(waited);
        };
        // A random share keeps writers from meeting again.
        let random = RandomState::new().hash_one(0);
        let pause = random.checked_rem(self.longest).unwrap_or_default();
        self.longest = self.longest.saturating_mul(2).min(LONGEST_PAUSE);
        #[cfg(feature = "tracing")]
        tracing::debug!(?waited, ?left, "retry");
        sleep(Duration::from_micros(pause).min(left)).await;
        Ok(())
    }
}
