//! Owns the identifiers of a ledger and their grammars. It mints none.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::num::NonZeroU64;
use core::str::FromStr;

use crate::serde_text::serde_as_text;

/// The text of an identifier is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// The workflow id is empty or longer than 128 bytes.
    #[error("a workflow id has 1 to 128 characters")]
    WorkflowLength,
    /// The workflow id holds a character outside `[A-Za-z0-9._-]`.
    #[error("a workflow id is written in A-Z, a-z, 0-9, `.`, `_` and `-`")]
    WorkflowCharacter,
    /// The workflow id begins or ends with a punctuation character.
    #[error("a workflow id begins and ends with a letter or a digit")]
    WorkflowEdge,
    /// The workflow id is a device name on Windows, with or without an extension.
    #[error("a workflow id can't be a Windows device name such as CON or COM1")]
    WorkflowDeviceName,
    /// The transition id is not 26 characters long.
    #[error("a transition id is a ULID of 26 characters")]
    TransitionLength,
    /// The transition id holds a character outside upper-case Crockford base 32.
    #[error("a transition id is written in upper-case Crockford base 32")]
    TransitionCharacter,
    /// The transition id does not fit in 128 bits.
    #[error("the first character of a transition id is 0 to 7")]
    TransitionOverflow,
    /// The error id is not two dotted snake-case words.
    #[error("an error id is two snake-case words with a dot between them")]
    ErrorIdGrammar,
    /// The sequence is zero, beyond `i64::MAX`, or not a decimal number.
    #[error("a sequence is a whole number from 1 to 9223372036854775807")]
    SequenceRange,
}

/// Names one workflow, which owns exactly one chain.
///
/// 1 to 128 bytes of `[A-Za-z0-9._-]`, the first and the last a letter or a digit, and never a
/// Windows device name. Two ids that differ only in case are two workflows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkflowId(Box<str>);

impl WorkflowId {
    /// The longest id, in bytes.
    pub const MAX_BYTES: usize = 128;

    /// Gives the text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WorkflowId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let bytes = text.as_bytes();
        let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
            return Err(IdError::WorkflowLength);
        };
        if bytes.len() > Self::MAX_BYTES {
            return Err(IdError::WorkflowLength);
        }
        let allowed =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if !bytes.iter().all(allowed) {
            return Err(IdError::WorkflowCharacter);
        }
        if !first.is_ascii_alphanumeric() || !last.is_ascii_alphanumeric() {
            return Err(IdError::WorkflowEdge);
        }
        if is_device_name(text) {
            return Err(IdError::WorkflowDeviceName);
        }
        Ok(Self(text.into()))
    }
}

/// Windows reserves the stem whatever extension follows it.
fn is_device_name(text: &str) -> bool {
    let stem = text.split('.').next().unwrap_or(text).as_bytes();
    let named = |name: &&[u8]| stem.eq_ignore_ascii_case(name);
    let plain: [&[u8]; 4] = [b"con", b"prn", b"aux", b"nul"];
    let numbered: [&[u8]; 2] = [b"com", b"lpt"];
    plain.iter().any(named)
        || stem.split_last().is_some_and(|(digit, letters)| {
            digit.is_ascii_digit()
                && numbered
                    .iter()
                    .any(|name| letters.eq_ignore_ascii_case(name))
        })
}

impl fmt::Display for WorkflowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for WorkflowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkflowId({})", self.0)
    }
}

serde_as_text!(WorkflowId, IdError, "a workflow id");

/// Names one transition: a ULID, held as 128 bits.
///
/// Its text is 26 upper-case Crockford base-32 characters, the first `0` to `7`. Lower case and
/// the look-alikes `I`, `L`, `O`, `U` are refused, so that one id has one text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransitionId(u128);

const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CROCKFORD_LENGTH: usize = 26;

impl TransitionId {
    /// Wraps the 128 bits of a ULID.
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// Gives the 128 bits of the ULID.
    pub const fn to_bits(self) -> u128 {
        self.0
    }
}

impl FromStr for TransitionId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let bytes = text.as_bytes();
        if bytes.len() != CROCKFORD_LENGTH {
            return Err(IdError::TransitionLength);
        }
        let mut bits = 0u128;
        for byte in bytes {
            bits = (bits << 5)
                | u128::from(crockford_digit(*byte).ok_or(IdError::TransitionCharacter)?);
        }
        if bytes[0] > b'7' {
            return Err(IdError::TransitionOverflow);
        }
        Ok(Self(bits))
    }
}

/// The value of a Crockford digit; the letters skip I, L, O and U.
fn crockford_digit(byte: u8) -> Option<u8> {
    let skipped = match byte {
        b'0'..=b'9' => return Some(byte.wrapping_sub(b'0')),
        b'A'..=b'H' => 0,
        b'J' | b'K' => 1,
        b'M' | b'N' => 2,
        b'P'..=b'T' => 3,
        b'V'..=b'Z' => 4,
        _ => return None,
    };
    Some(
        byte.wrapping_sub(b'A')
            .wrapping_add(10)
            .wrapping_sub(skipped),
    )
}

impl TransitionId {
    /// Appends the text of the id.
    pub(crate) fn push_to(self, text: &mut String) {
        text.push_str(ascii(&self.to_digits()));
    }

    fn to_digits(self) -> [u8; CROCKFORD_LENGTH] {
        let mut digits = [b'0'; CROCKFORD_LENGTH];
        let mut rest = self.0;
        for slot in digits.iter_mut().rev() {
            let low = usize::try_from(rest & 31).unwrap_or(0);
            *slot = CROCKFORD[low];
            rest >>= 5;
        }
        digits
    }
}

/// Crockford digits are ASCII, so the fallback is never taken.
fn ascii(digits: &[u8; CROCKFORD_LENGTH]) -> &str {
    core::str::from_utf8(digits).unwrap_or_default()
}

impl fmt::Display for TransitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ascii(&self.to_digits()))
    }
}

impl fmt::Debug for TransitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TransitionId({self})")
    }
}

serde_as_text!(TransitionId, IdError, "a ULID of 26 upper-case characters");

/// Names one kind of error: two snake-case words with a dot between them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorId(Box<str>);

impl ErrorId {
    /// Gives the text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ErrorId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match text.split_once('.') {
            Some((area, name)) if is_snake_word(area) && is_snake_word(name) => {
                Ok(Self(text.into()))
            }
            Some(_) | None => Err(IdError::ErrorIdGrammar),
        }
    }
}

/// `[a-z][a-z0-9_]*`
pub(crate) fn is_snake_word(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    text.as_bytes().first().is_some_and(u8::is_ascii_lowercase) && text.bytes().all(word)
}

impl fmt::Display for ErrorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

serde_as_text!(ErrorId, IdError, "an error id");

/// The 1-based dense position of a row within one workflow: 1 to `i64::MAX`.
///
/// Its serde form is a number, since both engines and JSON readers count rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(NonZeroU64);

impl Sequence {
    /// The position of the first row.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// Gives the position as an unsigned number.
    pub const fn to_u64(self) -> u64 {
        self.0.get()
    }

    /// Gives the position as the engines store it.
    pub fn to_i64(self) -> i64 {
        i64::try_from(self.0.get()).unwrap_or(i64::MAX)
    }

    /// Gives the next position, or none after `i64::MAX`.
    pub fn next(self) -> Option<Self> {
        self.0
            .checked_add(1)
            .and_then(|next| Self::try_from(next.get()).ok())
    }
}

impl TryFrom<u64> for Sequence {
    type Error = IdError;

    fn try_from(position: u64) -> Result<Self, IdError> {
        i64::try_from(position).map_err(|_| IdError::SequenceRange)?;
        NonZeroU64::new(position)
            .map(Self)
            .ok_or(IdError::SequenceRange)
    }
}

impl TryFrom<i64> for Sequence {
    type Error = IdError;

    fn try_from(position: i64) -> Result<Self, IdError> {
        u64::try_from(position)
            .map_err(|_| IdError::SequenceRange)?
            .try_into()
    }
}

impl FromStr for Sequence {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        // `parse` would take a plus sign, which no ledger writes.
        if text.starts_with('+') {
            return Err(IdError::SequenceRange);
        }
        text.parse::<u64>()
            .map_err(|_| IdError::SequenceRange)?
            .try_into()
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl serde::Serialize for Sequence {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.to_u64())
    }
}

impl<'de> serde::Deserialize<'de> for Sequence {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let position = u64::deserialize(deserializer)?;
        Self::try_from(position).map_err(serde::de::Error::custom)
    }
}
