//! What the measurements share: a stopwatch that alternates, medians, a table, and ledgers to
//! measure on. Every figure is a ratio against a floor that was taken in the same run.
#![expect(
    clippy::missing_panics_doc,
    reason = "a measurement that can't be set up has no other answer"
)]

mod command;
mod ledger;
mod measure;

pub use command::command;
pub use ledger::{
    OUTCOME, bulk_ledger, bulk_ledgers, event, event_of, open_bare, runtime, scan_hash_parse,
    workflow,
};
pub use measure::{Figures, Size, alternate, print_table};
