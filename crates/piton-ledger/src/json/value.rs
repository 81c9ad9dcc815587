//! A JSON value that is known to be canonical.
//!
//! It owns the invariant that the text it holds is canonical. It must not show that text in
//! `Debug`: a value may hold what nobody has redacted yet.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use core::fmt;
use core::str::FromStr;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::error::{JsonError, JsonErrorKind};
use super::rewrite::{KeepAll, Rewrite};
use super::scan::{self, MAX_LEVELS};

/// A value stands inside an event, which is a level of its own.
const VALUE_LEVELS: usize = MAX_LEVELS - 1;

/// Holds one JSON value as canonical text.
///
/// Its arrays and objects nest at most [`MAX_LEVELS`] − 1 deep, since it stands inside an event.
/// Two values are equal if their texts are. `Debug` shows the length, never the text.
///
/// With `serde_json` it serialises as the JSON it holds, and deserialises from any JSON value,
/// canonical or not; other formats, and internally tagged, untagged or flattened types, which
/// buffer values, are not supported.
///
/// # Examples
///
/// ```
/// use piton_ledger::json::CanonicalJson;
///
/// let value = CanonicalJson::parse(br#"{"b": 2, "a": 1.0}"#)?;
/// assert_eq!(value.as_str(), r#"{"a":1,"b":2}"#);
/// assert_eq!(value, CanonicalJson::parse(br#"{"a":1,"b":2}"#)?);
/// # Ok::<(), piton_ledger::json::JsonError>(())
/// ```
#[derive(Clone)]
pub struct CanonicalJson(Box<str>);

impl CanonicalJson {
    /// Makes a value of any JSON text.
    ///
    /// # Errors
    ///
    /// Returns [`JsonError`] when the text has no canonical form or more than [`MAX_LEVELS`] − 1
    /// levels.
    pub fn parse(text: &[u8]) -> Result<Self, JsonError> {
        scan::scan(text, &mut KeepAll, VALUE_LEVELS).map(|text| Self(text.into()))
    }

    /// Makes a value of whatever can be serialised.
    ///
    /// Doubles that are not finite become `null`, as `serde_json` has it.
    ///
    /// # Errors
    ///
    /// Returns [`JsonError`] of the kind [`Unserializable`](JsonErrorKind::Unserializable) when
    /// serialising fails, as for a map whose keys are not strings; else as
    /// [`parse`](Self::parse), with the offset in the text that was serialised.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, JsonError> {
        let text = serde_json::to_vec(value)
            .map_err(|_| JsonError::new(JsonErrorKind::Unserializable, 0))?;
        Self::parse(&text)
    }

    /// Returns the canonical text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Makes the value whose strings have passed through a rewriter.
    ///
    /// # Errors
    ///
    /// Returns [`JsonError`] as [`rewrite`](super::rewrite) does; a value that is canonical
    /// already gives no cause for one.
    pub fn rewrite(&self, rewriter: &mut impl Rewrite) -> Result<Self, JsonError> {
        match scan::scan(self.as_str().as_bytes(), rewriter, VALUE_LEVELS)? {
            Cow::Borrowed(_) => Ok(self.clone()),
            Cow::Owned(text) => Ok(Self(text.into())),
        }
    }
}

impl fmt::Debug for CanonicalJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CanonicalJson({} bytes)", self.as_str().len())
    }
}

impl PartialEq for CanonicalJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for CanonicalJson {}

impl FromStr for CanonicalJson {
    type Err = JsonError;

    fn from_str(text: &str) -> Result<Self, JsonError> {
        Self::parse(text.as_bytes())
    }
}

impl Serialize for CanonicalJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Only a reader of JSON may say that a text is a value to be written as it is.
        serde_json::from_str::<&RawValue>(&self.0)
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CanonicalJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::parse(raw.get().as_bytes()).map_err(D::Error::custom)
    }
}
