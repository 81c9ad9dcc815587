//! Why a text is refused, and where.
//!
//! Errors carry a kind and a position, never a piece of the text: it may hold a secret.

/// Says why a text has no canonical form, and at which byte.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct JsonError {
    kind: JsonErrorKind,
    offset: usize,
}

impl JsonError {
    pub(super) const fn new(kind: JsonErrorKind, offset: usize) -> Self {
        Self { kind, offset }
    }

    /// Returns what is wrong.
    #[must_use]
    pub const fn kind(&self) -> JsonErrorKind {
        self.kind
    }

    /// Returns the position of the fault, in bytes from the start of the input.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }
}

/// Lists what can be wrong with a text; each kind says which byte its offset points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// A byte stands where the grammar has no place for it.
    #[error("malformed JSON")]
    Syntax,
    /// The text ends inside a value; the offset is its length.
    #[error("unexpected end of JSON")]
    UnexpectedEnd,
    /// Something other than white space follows the value.
    #[error("data after the JSON value")]
    TrailingData,
    /// A key occurs twice in one object; the offset is that of the first repeated key's quote.
    ///
    /// It is found when the object ends, so a fault between the key and that end comes first.
    #[error("duplicate object key")]
    DuplicateKey,
    /// An array or object opens below the deepest level allowed.
    #[error("nesting too deep")]
    TooDeep,
    /// An escape names half of a surrogate pair; the offset is that of its backslash.
    #[error("lone surrogate")]
    LoneSurrogate,
    /// A number with fraction or exponent is too large for a double; the offset is its start.
    #[error("number too large for a double")]
    NumberOverflow,
    /// A bare integer neither fits 64 bits nor is how a double prints; the offset is its start.
    #[error("integer outside 64 bits")]
    IntegerOutOfRange,
    /// A string holds a control character that is not escaped.
    #[error("raw control character")]
    ControlCharacter,
    /// The text is not UTF-8; found before anything else.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// A value's own `Serialize` failed or gave something JSON can't say; the offset is 0.
    #[error("value without a JSON form")]
    Unserializable,
}
