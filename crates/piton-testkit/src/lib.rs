//! Conformance kit for checkpoint stores: cases, tamper tools, broken stores, generators.
//!
//! An adapter implements [`Harness`] over its own engine and invokes [`conformance!`] in a test
//! file; each case of the contract becomes one test. With [`TamperHarness`] it also invokes
//! [`tamper_matrix!`], which serves damaged rows through the adapter and demands the verifier's
//! exact verdict. The kit is itself tested: each [`broken`] store and each broken verifier must
//! fail a named case.
//!
//! # Examples
//!
//! ```
//! use piton_testkit::{MemoryHarness, cases, run};
//!
//! run(cases::c01_sequences_are_dense::<MemoryHarness>());
//! ```
#![allow(
    clippy::missing_panics_doc,
    reason = "to panic is how a case says that the contract is broken"
)]

pub mod broken;
pub mod cases;
mod harness;
pub mod history;
mod list;
pub mod observe;
pub mod strategy;
pub mod tamper;

pub use harness::{Clock, Erased, Harness, IdCase, MemoryHarness, Settings, TamperHarness, run};
pub use list::{CASES, Case, Clause, TAMPERS, cases, tampers};
