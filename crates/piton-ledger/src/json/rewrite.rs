//! The hook that changes strings while a text is made canonical.
//!
//! It owns the trait and its entry point. What to replace is the business of the implementer.

use alloc::borrow::Cow;
use alloc::string::String;

use super::error::JsonError;
use super::scan::{self, MAX_LEVELS};

/// Rewrites strings while canonicalising.
///
/// Calls come in the order of the text, not of the canonical form: for each member `key`, then
/// `enter`, the calls for its value, and `leave`. Elements of an array are not entered. After an
/// error no more calls come, so a rewriter that was left inside a member is not to be used again.
pub trait Rewrite {
    /// Gives the replacement of an object key, or `None` to keep it.
    ///
    /// Replacements that collide in one object get the suffixes `#2`, `#3` and so on, in the
    /// canonical order of the original keys. Keys that are kept have first claim to their text.
    fn key(&mut self, key: &str) -> Option<String>;

    /// Enters the value of the member with this original, decoded key.
    fn enter(&mut self, key: &str);

    /// Leaves the value entered last.
    fn leave(&mut self);

    /// Gives the replacement of a string value, or `None` to keep it.
    fn value(&mut self, text: &str) -> Option<String>;
}

/// Returns the canonical text of one JSON value whose strings pass through a rewriter.
///
/// Limits are those of [`canonicalize`](super::canonicalize). A rewriter that replaces nothing
/// leaves the same text as `canonicalize`.
///
/// # Errors
///
/// Returns [`JsonError`] when the text has no canonical form. Duplicate keys are looked for among
/// the original keys; replacements can't fail.
///
/// # Examples
///
/// ```
/// use piton_ledger::json::{Rewrite, rewrite};
///
/// struct Mask;
///
/// impl Rewrite for Mask {
///     fn key(&mut self, key: &str) -> Option<String> {
///         key.starts_with("sk-").then(|| "masked".to_owned())
///     }
///     fn enter(&mut self, _key: &str) {}
///     fn leave(&mut self) {}
///     fn value(&mut self, _text: &str) -> Option<String> {
///         None
///     }
/// }
///
/// let text = rewrite(br#"{"sk-2": 2, "sk-1": 1, "a": "x"}"#, &mut Mask)?;
/// assert_eq!(text, r#"{"a":"x","masked":1,"masked#2":2}"#);
/// # Ok::<(), piton_ledger::json::JsonError>(())
/// ```
pub fn rewrite(text: &[u8], rewriter: &mut impl Rewrite) -> Result<String, JsonError> {
    scan::scan(text, rewriter, MAX_LEVELS).map(Cow::into_owned)
}

/// Replaces nothing; compiles away.
pub(super) struct KeepAll;

impl Rewrite for KeepAll {
    #[inline]
    fn key(&mut self, _key: &str) -> Option<String> {
        None
    }

    #[inline]
    fn enter(&mut self, _key: &str) {}

    #[inline]
    fn leave(&mut self) {}

    #[inline]
    fn value(&mut self, _text: &str) -> Option<String> {
        None
    }
}
