//! Piton's one rule set for secrets in strings.
//!
//! Works on decoded strings only: JSON values and object keys after their escapes are resolved,
//! never raw JSON text, where an escape could hide a match. Walking a document and giving
//! colliding keys their suffixes belongs to the caller.
//!
//! - [`redact_text`] replaces what the pattern rules find inside one string.
//! - [`redact_whole`] replaces a string that stands beneath a key for which [`is_secret_name`]
//!   holds.
//! - [`find_secret`] only looks, for identifiers, which are refused instead of rewritten.
//!
//! All of them are pure, need time linear in the length of the text, and are idempotent: what
//! they have written they leave alone.
//!
//! # Replacements
//!
//! A secret with enough entropy that its digest gives nothing away becomes
//! `<REDACTED:fingerprint=XXXXXXXX>`: the first eight lowercase hex digits of the BLAKE3 hash of
//! its cleartext, so that two places which held the same secret can still be matched. What a
//! dictionary could guess (passwords in URLs, basic authorisation, short bearer values, strings
//! beneath secret-named keys) becomes plain `<REDACTED>`.
//!
//! Where secrets overlap, one replacement covers them all. The leftmost names the rule, among
//! equals the longest, among those the first in the order of [`rules`].
//!
//! # Limits
//!
//! No rule guesses by entropy, so digests, commit ids, ULIDs, UUIDs and paths stay as they are,
//! and a secret without a known shape stays too unless its key names it.
//!
//! # Examples
//!
//! ```
//! let mut fired = Vec::new();
//! let clean = piton_redact::redact_text("postgres://app:hunter2@db/main", &mut |rule| {
//!     fired.push(rule.id());
//! });
//! assert_eq!(clean.as_deref(), Some("postgres://app:<REDACTED>@db/main"));
//! assert_eq!(fired, ["url-password"]);
//! ```

mod authorization;
mod edge;
mod marker;
mod name;
mod private_key;
mod redact;
mod rule;
mod scan;
mod secret;
mod token;
mod url;

pub use name::is_secret_name;
pub use redact::{find_secret, redact_text, redact_whole};
pub use rule::{Rule, rules};
