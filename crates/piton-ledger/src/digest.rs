//! Owns the two 32-byte digests of a ledger and their text forms. It computes no digest.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::serde_text::serde_as_text;

const PREFIX: &str = "blake3:";
const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The text of a digest is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DigestError {
    /// The text does not begin with `blake3:`.
    #[error("a digest begins with `blake3:`")]
    MissingPrefix,
    /// The part after the prefix is not 64 characters long.
    #[error("a digest has 64 hexadecimal digits")]
    WrongLength,
    /// A character is not one of `0-9a-f`.
    #[error("a digest is written in the digits 0-9 and a-f, lower case")]
    NotLowercaseHex,
}

/// A 32-byte BLAKE3 digest that commits to every event of a workflow so far.
///
/// Its text is `blake3:` and 64 lowercase hexadecimal digits. Bare hexadecimal digits are accepted
/// on input, because ledgers of the original implementation hold that form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainHead([u8; 32]);

impl ChainHead {
    /// The head of an empty chain: 32 zero bytes.
    pub const GENESIS: Self = Self([0; 32]);

    /// Wraps the 32 bytes of a digest.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Gives the 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Gives the 64 lowercase hexadecimal digits as ASCII bytes, without a prefix.
    ///
    /// This is the form that is hashed: see `docs/chain-format.md`, "Link".
    pub fn to_hex(self) -> [u8; 64] {
        to_hex(&self.0)
    }
}

impl FromStr for ChainHead {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        from_hex(text.strip_prefix(PREFIX).unwrap_or(text)).map(Self)
    }
}

/// A 32-byte BLAKE3 digest of evidence that is stored elsewhere.
///
/// Its text is `blake3:` and 64 lowercase hexadecimal digits; no other form is accepted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobDigest([u8; 32]);

impl BlobDigest {
    /// Wraps the 32 bytes of a digest.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Gives the 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for BlobDigest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let digits = text
            .strip_prefix(PREFIX)
            .ok_or(DigestError::MissingPrefix)?;
        from_hex(digits).map(Self)
    }
}

macro_rules! digest_text {
    ($type:ident) => {
        impl $type {
            /// Appends the text of the digest.
            pub(crate) fn push_to(self, text: &mut String) {
                text.push_str(PREFIX);
                text.push_str(ascii(&to_hex(&self.0)));
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(PREFIX)?;
                f.write_str(ascii(&to_hex(&self.0)))
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($type), "({})"), self)
            }
        }

        serde_as_text!(
            $type,
            DigestError,
            "`blake3:` and 64 lowercase hexadecimal digits"
        );
    };
}

digest_text!(ChainHead);
digest_text!(BlobDigest);

/// Hexadecimal digits are ASCII, so the fallback is never taken.
fn ascii(digits: &[u8; 64]) -> &str {
    core::str::from_utf8(digits).unwrap_or_default()
}

fn to_hex(bytes: &[u8; 32]) -> [u8; 64] {
    let mut text = [b'0'; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = HEX_DIGITS[usize::from(byte >> 4)];
        pair[1] = HEX_DIGITS[usize::from(byte & 0x0f)];
    }
    text
}

fn from_hex(digits: &str) -> Result<[u8; 32], DigestError> {
    if digits.len() != 64 {
        return Err(DigestError::WrongLength);
    }
    let mut bytes = [0; 32];
    let mut seen = 0;
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| NIBBLES[usize::from(digit)]);
        *byte = (high << 4) | (low & 0x0f);
        seen |= high | low;
    }
    if seen & NOT_A_DIGIT == 0 {
        Ok(bytes)
    } else {
        Err(DigestError::NotLowercaseHex)
    }
}

/// A bit that no digit has.
const NOT_A_DIGIT: u8 = 0x80;

/// The value of each byte as a digit. Four digests are read for each row of a chain, so a table
/// and one look at the end stand in for a branch at each digit.
const NIBBLES: [u8; 256] = {
    let mut nibbles = [NOT_A_DIGIT; 256];
    let (mut at, mut byte) = (0_usize, 0_u8);
    while at < nibbles.len() {
        nibbles[at] = match byte {
            b'0'..=b'9' => byte.wrapping_sub(b'0'),
            b'a'..=b'f' => byte.wrapping_sub(b'a').wrapping_add(10),
            _ => NOT_A_DIGIT,
        };
        at = at.wrapping_add(1);
        byte = byte.wrapping_add(1);
    }
    nibbles
};
