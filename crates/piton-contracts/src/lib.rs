//! Golden tests of what Piton promises, and the laws that hold whatever bytes it is given; the
//! only writer of `goldens/`.
//!
//! The goldens are in this crate's tests, and `cargo xtask goldens` writes their files. The laws
//! are in [`laws`], where the fuzz targets and a test over their corpora both find them.

pub mod laws;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
