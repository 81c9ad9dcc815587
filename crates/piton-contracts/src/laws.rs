//! The laws that hold for any bytes from outside, each one function that the fuzz targets and the
//! test over their corpora share.
//!
//! A law takes bytes and returns, or panics with what was broken. It must not judge by asking the
//! code under test: where there is an answer to compare, it comes from [`mod@reference`], which is
//! written from `docs/chain-format.md`, or from a crate that is not ours.
#![allow(
    clippy::missing_panics_doc,
    reason = "to panic is how a law says that it is broken"
)]

pub mod canonical;
pub mod event;
pub mod lines;
pub mod mutate;
pub mod pin;
pub mod reader;
pub mod redact;
pub mod reference;
pub mod rows;

/// Checks a law on one input.
pub type Check = Box<dyn FnMut(&[u8])>;

/// One law, by the name that its fuzz target and its corpus bear.
pub struct Law {
    /// The name: a file in `fuzz/fuzz_targets` and a folder in `fuzz/corpus`.
    pub name: &'static str,
    /// Makes the function that checks the law, with whatever it keeps between inputs.
    pub make: fn() -> Check,
    /// How many mutated inputs the test over the corpora tries: a law that opens files is slower.
    pub mutations: u32,
}

/// Every law.
pub const ALL: [Law; 6] = [
    Law {
        name: "event",
        make: || Box::new(event::check),
        mutations: 6000,
    },
    Law {
        name: "canonical",
        make: || Box::new(canonical::check),
        mutations: 6000,
    },
    Law {
        name: "rows",
        make: || Box::new(rows::check),
        mutations: 3000,
    },
    Law {
        name: "redact",
        make: || Box::new(redact::check),
        mutations: 3000,
    },
    Law {
        name: "pin",
        make: || {
            let mut ledger = pin::Ledger::new();
            Box::new(move |bytes| ledger.check(bytes))
        },
        mutations: 1000,
    },
    Law {
        name: "lines",
        make: || Box::new(lines::check),
        mutations: 1000,
    },
];
