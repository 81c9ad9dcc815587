//! Golden tests of what Piton promises; the only writer of `goldens/`.
//!
//! This crate has no code of its own: see its tests. `cargo xtask goldens` writes the files.

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
