//! The vocabulary of a Piton ledger: identifiers, digests, canonical JSON, the state-machine
//! trait, the vulnerability ledger and transition events.
//!
//! Everything here is a value. The crate is `no_std` without condition: it performs no input or
//! output, reads no clock and draws no randomness.
//!
//! # Features
//!
//! None is on by default. `sqlx` and `postgres-types` let the identifiers bind and decode in your
//! own queries: ids as text, sequences as 64-bit integers, heads and digests as `BYTEA` in
//! Postgres (or text, where your column is text) and as text in SQLite. Both bring std with them.
//!
//! # Examples
//!
//! ```
//! use piton_ledger::{CanonicalJson, ChainHead, Transition, TransitionEvent, VulnState};
//!
//! let event = TransitionEvent::try_from(Transition {
//!     transition_id: "01JZ8Q5T9V6W3X2Y1Z0ABCDEFG".parse()?,
//!     prior_state_id: VulnState::NeedsPlan,
//!     next_state_id: VulnState::PlanReady,
//!     triggering_outcome: CanonicalJson::parse(br#"{"plan": "raise minimist to 1.2.6"}"#)?,
//!     evidence_digest: format!("blake3:{}", "a".repeat(64)).parse()?,
//!     chain_head: ChainHead::GENESIS,
//!     workflow_id: "remediate-CVE-2021-44906".parse()?,
//! })?;
//! assert_eq!(event.triggering_outcome().as_str(), r#"{"plan":"raise minimist to 1.2.6"}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

extern crate alloc;
// A macro of postgres-types names it, and the feature brings it anyway.
#[cfg(feature = "postgres-types")]
extern crate std;

mod digest;
mod event;
mod failure;
mod id;
pub mod json;
mod machine;
#[cfg(feature = "postgres-types")]
mod postgres_types;
mod serde_text;
#[cfg(feature = "sqlx")]
mod sqlx;
mod text;
mod vulnerability;

pub use digest::{BlobDigest, ChainHead, DigestError};
pub use event::{EventError, EventField, IllegalEdge, Transition, TransitionEvent};
pub use failure::{Detail, FailedUnrecoverable, FailedUnrecoverableReason, RemediationError};
pub use id::{ErrorId, IdError, Sequence, TransitionId, WorkflowId};
pub use json::CanonicalJson;
pub use machine::{MachineFault, Role, StateMachine, check_machine};
pub use text::{ShortText, SignalKind, TextError};
pub use vulnerability::{ReviewReason, VulnLedgerState, VulnState};
