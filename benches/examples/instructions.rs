//! Repeats one piece of work, for `cargo xtask instructions` to count under callgrind:
//! `instructions WORK TIMES`. It measures nothing itself.

use std::hint::black_box;

use piton_benches::{OUTCOME, event, runtime, workflow};
use piton_chain::link;
use piton_ledger::{CanonicalJson, ChainHead, TransitionEvent, VulnState};
use piton_memory::MemoryStore;
use piton_store::{CheckpointStore, ExpectedHead, seal};
use piton_verify::{AuditVerdict, Expectations, ReplayVerifier};

/// The rows of one walk; a walk counts as so many times.
const ROWS: u32 = 200;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [work, times] = arguments.as_slice() else {
        panic!("usage: instructions WORK TIMES");
    };
    let times: u32 = times.parse().expect("a number");
    let outcome = CanonicalJson::parse(OUTCOME.as_bytes()).expect("JSON");
    let event = event(0, &outcome);
    let text = event.to_canonical_json();
    match work.as_str() {
        "link" => repeat(times, || {
            link(&ChainHead::GENESIS, black_box(text.as_bytes()))
        }),
        "parse" => repeat(times, || {
            TransitionEvent::<VulnState>::parse(black_box(text.as_bytes())).expect("an event")
        }),
        "seal" => repeat(times, || seal(black_box(&event)).expect("sealable")),
        "walk" => walk(times / ROWS, &outcome),
        other => panic!("`{other}` is no work: link, parse, seal and walk are"),
    }
}

fn repeat<T>(times: u32, work: impl Fn() -> T) {
    for _ in 0..times {
        black_box(work());
    }
}

fn walk(times: u32, outcome: &CanonicalJson) {
    let store = MemoryStore::new();
    runtime().block_on(async {
        for number in 0..ROWS.into() {
            let sealed = seal(&event(number, outcome)).expect("sealable");
            let append = store.append(&sealed, ExpectedHead::Any).await;
            append.expect("an append");
        }
        for _ in 0..times {
            let checked = ReplayVerifier::new(&store)
                .audit::<VulnState>(&workflow(), Expectations::default(), |_| ())
                .await
                .expect("readable");
            assert!(matches!(checked.verdict, AuditVerdict::Verified { .. }));
        }
    });
}
