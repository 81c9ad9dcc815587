//! Canonical JSON: one text for each JSON value.
//!
//! This module owns the reading of untrusted JSON text and the making of the canonical bytes that
//! the chain hashes. It must not know what an event is, do I/O, or build a tree of values.
//!
//! The form is that of [RFC 8785] (JCS), as `docs/chain-format.md` states it under "Event
//! bytes": object keys in UTF-16 order at every level, no white space, ECMAScript numbers, minimal
//! escapes, UTF-8. One thing is wider than the RFC: a bare integer that fits `i64` or `u64` is
//! kept exact in decimal, where the RFC rounds it to a double. What can't be kept is refused:
//!
//! - an object key that occurs twice, compared after its escapes are decoded;
//! - a lone surrogate, a raw control character, or invalid UTF-8;
//! - a number with fraction or exponent that overflows a double, and a bare integer outside 64
//!   bits unless it is exactly how a double prints (`100000000000000000000` for `1e20`);
//! - more than [`MAX_LEVELS`] levels of arrays and objects.
//!
//! Canonicalising is idempotent, and no input makes it panic.
//!
//! # Examples
//!
//! ```
//! use piton_ledger::json::canonicalize;
//!
//! let text = canonicalize(br#"{ "b": 1.50, "a": [1e2, "\u0041\/"] }"#)?;
//! assert_eq!(text, r#"{"a":[100,"A/"],"b":1.5}"#);
//! # Ok::<(), piton_ledger::json::JsonError>(())
//! ```
//!
//! [RFC 8785]: https://www.rfc-editor.org/rfc/rfc8785

#![allow(
    clippy::arithmetic_side_effects,
    reason = "sums of positions in one text, which are at most its length and never overflow"
)]

mod error;
mod members;
mod number;
mod output;
mod rewrite;
mod scan;
mod string;
mod value;

pub use error::{JsonError, JsonErrorKind};
pub use rewrite::{Rewrite, rewrite};
pub use scan::{MAX_LEVELS, canonicalize};
pub use value::CanonicalJson;
