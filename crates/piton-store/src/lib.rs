//! The port between a ledger and its engines: sealing, the store contract, errors.
//!
//! Data flows one way: a [`TransitionEvent`](piton_ledger::TransitionEvent) becomes a
//! [`SealedEvent`] through [`seal`], an adapter links and persists it, and
//! [`CheckpointStore::iter_persisted_chain`] gives back raw [`PersistedRow`]s, which only the
//! verifier judges. The contract's clauses C1 to C15 are in `docs/store-contract.md`.
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
//!     triggering_outcome: CanonicalJson::parse(br#"{"api_token": "hunter2"}"#)?,
//!     evidence_digest: format!("blake3:{}", "a".repeat(64)).parse()?,
//!     chain_head: ChainHead::GENESIS,
//!     workflow_id: "remediate-CVE-2021-44906".parse()?,
//! })?;
//! let sealed = piton_store::seal(&event)?;
//! assert!(!String::from_utf8_lossy(sealed.bytes()).contains("hunter2"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod append;
mod batch;
mod catalog;
mod erased;
mod error;
mod ext;
mod mapped;
mod port;
mod redaction;
mod row;
mod seal;
mod sealed;
mod tail;

pub use append::{AppendStatus, Appended, ExpectedHead};
pub use batch::{AppendBatch, Batch, BatchError, MAX_BATCH_EVENTS};
pub use catalog::{Repin, WorkflowCatalog, WorkflowStats};
pub use erased::{AnyChain, AnyLock, AnyStore};
pub use error::{PinFinding, Retry, StoreError};
pub use ext::CheckpointStoreExt;
pub use mapped::MappedChain;
pub use port::{AppendLock, CheckpointStore, EventReader, PersistedChain};
pub use row::{PersistedRow, Stored, VerifiedRow};
pub use seal::{MAX_EVENT_BYTES, PAYLOAD_TOO_LARGE, SealError, seal};
pub use sealed::{Redaction, SealedEvent};
pub use tail::{Tail, TailError};
