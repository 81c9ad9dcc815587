//! The chain of a ledger: how one event's bytes follow from the head before them.
//!
//! The format is normative in `docs/chain-format.md`. The crate is `no_std` without condition:
//! it performs no input or output, reads no clock or environment and draws no randomness.
//!
//! # Examples
//!
//! ```
//! use piton_chain::{fold, link};
//! use piton_ledger::ChainHead;
//!
//! let first = link(&ChainHead::GENESIS, b"{}");
//! let second = link(&first, b"[]");
//! assert_eq!(fold(ChainHead::GENESIS, [b"{}", b"[]"]), second);
//! ```
#![no_std]
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod link;

pub use link::{RECORD_SEPARATOR, fold, link};
