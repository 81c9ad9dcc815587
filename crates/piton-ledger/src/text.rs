//! Owns the bounded texts that appear in ledger states and errors.

use alloc::boxed::Box;
use core::fmt;
use core::str::FromStr;

use crate::id::is_snake_word;
use crate::serde_text::serde_as_text;

/// A text is too long or outside its grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The text has more than 4096 characters.
    #[error("the text is longer than 4096 characters")]
    TooLong,
    /// The signal is not a snake-case word of at most 64 bytes.
    #[error("a signal is a snake-case word of at most 64 characters")]
    SignalGrammar,
}

/// A text of at most 4096 characters (Unicode scalar values), for people to read.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ShortText(Box<str>);

impl ShortText {
    /// The longest text, in characters.
    pub const MAX_CHARS: usize = 4096;

    /// Gives the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Keeps the first 4096 characters of a text.
    pub fn truncated(text: &str) -> Self {
        let end = text
            .char_indices()
            .nth(Self::MAX_CHARS)
            .map_or(text.len(), |(at, _)| at);
        Self(text.get(..end).unwrap_or(text).into())
    }
}

impl FromStr for ShortText {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        match text.chars().nth(Self::MAX_CHARS) {
            Some(_) => Err(TextError::TooLong),
            None => Ok(Self(text.into())),
        }
    }
}

impl fmt::Display for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShortText({} bytes)", self.0.len())
    }
}

serde_as_text!(ShortText, TextError, "a text of at most 4096 characters");

/// Names one signal of a gate, such as `tests_failed`: `[a-z][a-z0-9_]*`, at most 64 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignalKind(Box<str>);

impl SignalKind {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 64;

    /// Gives the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SignalKind {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        if text.len() <= Self::MAX_BYTES && is_snake_word(text) {
            Ok(Self(text.into()))
        } else {
            Err(TextError::SignalGrammar)
        }
    }
}

impl fmt::Display for SignalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

serde_as_text!(SignalKind, TextError, "the snake-case name of a signal");
