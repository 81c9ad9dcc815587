//! Random walks of a store beside a plain model of it: whatever is asked in whatever order, both
//! give the same answer and hold the same rows, in every adapter.
//!
//! `PITON_MODEL_CASES` and `PITON_MODEL_SEED` ask for more or other walks than the usual, and
//! `PITON_MODEL_COUNTS` names a directory for the counts of what was asked and answered.

mod adapter;
mod operation;
mod plain;
mod walk;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use proptest::collection::vec;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use tokio::runtime::Runtime;

use crate::adapter::{Adapter, Memory, Postgres, Sqlite};
use crate::operation::operation;
use crate::walk::Walk;

const LENGTH: std::ops::Range<usize> = 1..40;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Walks as often as asked, at least once, and shrinks what goes wrong.
fn check<A: Adapter>(cases: u64) {
    let runtime = runtime();
    let adapter = runtime.block_on(A::start());
    let cases = number("PITON_MODEL_CASES").unwrap_or(cases);
    let seed = number("PITON_MODEL_SEED").unwrap_or(20_261_130);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_be_bytes());
    let config = Config {
        cases: u32::try_from(cases).expect("a number of cases"),
        failure_persistence: None,
        max_shrink_iters: 4000,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let counts = Mutex::new(BTreeMap::new());
    let mut runner = TestRunner::new_with_rng(config, rng);
    let outcome = runner.run(&vec(operation(), LENGTH), |operations| {
        let mut walk = runtime.block_on(Walk::begin(&adapter));
        for operation in &operations {
            let answer = runtime
                .block_on(walk.step(operation))
                .map_err(TestCaseError::fail)?;
            if let Some(label) = answer {
                *counts
                    .lock()
                    .expect("no poison")
                    .entry(label)
                    .or_insert(0u64) += 1;
            }
        }
        Ok(())
    });
    runtime.block_on(adapter.end());
    if let Err(error) = outcome {
        panic!("{} is not as its model, seed {seed}: {error}", A::NAME);
    }
    write_counts(A::NAME, &counts.into_inner().expect("no poison"));
}

fn write_counts(name: &str, counts: &BTreeMap<String, u64>) {
    if let Some(directory) = std::env::var_os("PITON_MODEL_COUNTS") {
        let text = serde_json::to_string(counts).expect("a map of numbers");
        let path = PathBuf::from(directory).join(format!("{name}.json"));
        std::fs::write(path, text).expect("a writable directory");
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

#[test]
fn memory_is_as_its_model() {
    check::<Memory>(60);
}

#[test]
fn sqlite_is_as_its_model() {
    check::<Sqlite>(40);
}

#[test]
fn postgres_is_as_its_model() {
    check::<Postgres>(6);
}
