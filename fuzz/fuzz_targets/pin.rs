//! Feeds the fuzzer's bytes to the law `pin`. It must not hold a check of its own.
#![no_main]

use std::sync::{LazyLock, Mutex};

use libfuzzer_sys::fuzz_target;
use piton_contracts::laws::pin::Ledger;

/// One directory for the whole run.
static LEDGER: LazyLock<Mutex<Ledger>> = LazyLock::new(Mutex::default);

fuzz_target!(|bytes: &[u8]| {
    let mut ledger = LEDGER.lock().expect("a broken law ends the process");
    ledger.check(bytes);
});
