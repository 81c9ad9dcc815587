//! The one place that recomputes a persisted chain, and the one place that decides what follows.
//!
//! A walk over the raw rows gives a closed [`ReplayVerdict`]; [`hydrate_or_fail`] turns it into
//! events to resume from or a typed, terminal failure. A store that can't be read is an `Err` and
//! never a verdict.
//!
//! # Features
//!
//! `tracing`, off by default, opens a span `verify` for each walk, for whoever subscribes through
//! the crate `tracing`, at the level `debug`; when the walk is over, `walked` tells the number of
//! rows and whether they are intact. No span or event holds the text of an event.
//!
//! # Examples
//!
//! ```
//! use piton_ledger::VulnState;
//! use piton_memory::MemoryStore;
//! use piton_verify::{HydrationResult, hydrate_or_fail};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().expect("runtime").block_on(async {
//! let store = MemoryStore::new();
//! let workflow = "remediate-CVE-2021-44906".parse().expect("a workflow id");
//! match hydrate_or_fail::<VulnState, _>(&store, &workflow).await.expect("memory can be read") {
//!     HydrationResult::Hydrated(hydrated) => assert_eq!(hydrated.latest_state_kind, VulnState::NeedsPlan),
//!     HydrationResult::FailedUnrecoverable(_) => unreachable!("an empty workflow is intact"),
//! }
//! # });
//! ```
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod batch;
mod expectation;
mod hydration;
mod repin;
mod slug;
mod tagged;
mod verdict;
mod verifier;
mod walk;

pub use expectation::{Expectations, PinPolicy, PinStatus};
pub use hydration::{
    Hydrated, HydrationResult, INTEGRITY_ERROR_ID, hydrate_or_fail, integrity_message,
};
pub use repin::{RepinError, repin};
pub use verdict::{
    AuditVerdict, ChainMismatch, MismatchCause, ReplayVerdict, TornReason, TornWrite,
};
pub use verifier::{Checked, ReplayVerifier};
