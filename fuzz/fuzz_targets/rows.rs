//! Feeds the fuzzer's bytes to the law `rows`. It must not hold a check of its own.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| piton_contracts::laws::rows::check(bytes));
