//! Owns the promise that a chain is read in constant memory. It has a process of its own, because
//! memory is measured by process.
#![cfg(target_os = "linux")]

mod support;

use piton_store::{CheckpointStore, PersistedChain};
use piton_testkit::history::workflow;
use piton_testkit::run;
use support::{Place, raw};

const ROWS: i64 = 150_000;
const ROW_BYTES: i64 = 2_000;

/// The most memory that this process ever held, in bytes.
fn peak() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process status");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("a peak");
    let kibibytes = line.trim().trim_end_matches(" kB");
    kibibytes.parse::<i64>().expect("a number") * 1024
}

#[test]
fn long_chain_is_read_in_constant_memory() {
    run(async {
        let place = Place::direct().await;
        let workflow = workflow("long");
        raw(&place.url)
            .await
            .batch_execute(&format!(
                "INSERT INTO \"{}\".checkpoint_chain \
                 SELECT '{workflow}', n, 't' || n, sha256(n::text::bytea), \
                 sha256((n + 1)::text::bytea), repeat('x', {ROW_BYTES})::bytea, '' \
                 FROM generate_series(1, {ROWS}) AS n",
                place.schema()
            ))
            .await
            .expect("rows can be made");
        let store = place.store();
        let before = peak();
        let mut chain = store.iter_persisted_chain(&workflow).await.expect("rows");
        let mut read = 0;
        loop {
            let rows = chain.next_rows().await.expect("rows");
            let Some(last) = rows.last() else { break };
            read += i64::try_from(rows.len()).expect("a batch is small");
            assert_eq!(last.sequence, read);
        }
        assert_eq!(read, ROWS);
        let grown = peak() - before;
        assert!(
            grown < ROWS * ROW_BYTES / 10,
            "{grown} bytes for a chain of {}",
            ROWS * ROW_BYTES
        );
    });
}
