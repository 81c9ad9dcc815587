//! Cases of the clock: it is injected, for people, and never hashed (C13).

use jiff::Timestamp;
use piton_store::{CheckpointStoreExt, PersistedRow};

use crate::harness::{Harness, Settings};
use crate::history::{first, workflow};
use crate::observe::{append, append_all, assert_chain};

fn time(text: &str) -> Timestamp {
    text.parse().expect("a case names well-formed times")
}

/// Reads the time beside a row, which must be RFC 3339 in UTC.
fn written_at(row: &PersistedRow) -> Timestamp {
    let text = row.written_at.as_text().expect("a time is text");
    assert!(
        text.ends_with('Z') || text.ends_with("+00:00"),
        "{text} is in UTC"
    );
    time(text)
}

/// Each row bears the time of the clock of the handle that wrote it.
pub async fn c13_time_comes_from_the_clock<H: Harness>() {
    let harness = H::start().await;
    let workflow = workflow("timed");
    let times = [
        time("2026-01-02T03:04:05.678Z"),
        time("1999-12-31T23:59:59.5Z"),
        time("2031-07-01T00:00:00Z"),
    ];
    let events = first(&workflow, 3);
    for (event, time) in events.iter().zip(times) {
        append(&harness.open(Settings::at(time)).await, event).await;
    }
    let store = harness.open(Settings::default()).await;
    let rows = store.collect_rows(&workflow).await.expect("rows");
    let written: Vec<_> = rows.iter().map(written_at).collect();
    assert_eq!(written, times);
    assert_chain(&store, &workflow, &events).await;
}

/// The same events at other times give the same heads, and a retry does not touch the time.
pub async fn c13_time_is_not_hashed<H: Harness>() {
    let early = time("2001-01-01T00:00:00Z");
    let late = time("2041-01-01T00:00:00Z");
    let workflow = workflow("untimed");
    let events = first(&workflow, 3);
    let mut heads = Vec::new();
    for time in [early, late] {
        let harness = H::start().await;
        let store = harness.open(Settings::at(time)).await;
        let answers = append_all(&store, &events).await;
        heads.push(answers.last().map(|answer| answer.head));
        let again = harness.open(Settings::default()).await;
        append_all(&again, &events).await;
        let rows = again.collect_rows(&workflow).await.expect("rows");
        assert!(rows.iter().all(|row| written_at(row) == time));
    }
    assert_eq!(heads[0], heads[1]);
}
