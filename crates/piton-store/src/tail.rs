//! Owns the position of a chain's last row. It says nothing about where that was noted.

use std::fmt;
use std::str::FromStr;

use piton_ledger::{ChainHead, DigestError, IdError, Sequence};

/// How far a chain reaches: the sequence and head of its last row.
///
/// Its text is `SEQ:HEAD`, with `0` and the genesis head for an empty chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// The chain has no rows.
    Empty,
    /// The chain has rows.
    At {
        /// The sequence of the last row.
        sequence: Sequence,
        /// The head after the last row.
        head: ChainHead,
    },
}

impl Tail {
    /// Gives the head, which is genesis for an empty chain.
    pub const fn head(&self) -> ChainHead {
        match self {
            Self::Empty => ChainHead::GENESIS,
            Self::At { head, .. } => *head,
        }
    }

    /// Gives the sequence of the last row, or none for an empty chain.
    pub const fn sequence(&self) -> Option<Sequence> {
        match self {
            Self::Empty => None,
            Self::At { sequence, .. } => Some(*sequence),
        }
    }

    /// Gives the sequence that the next row takes, or none after `i64::MAX` rows.
    pub fn next_sequence(&self) -> Option<Sequence> {
        match self {
            Self::Empty => Some(Sequence::FIRST),
            Self::At { sequence, .. } => sequence.next(),
        }
    }
}

/// The text of a tail is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TailError {
    /// There is no `:` between sequence and head.
    #[error("a tail is written SEQ:HEAD")]
    MissingSeparator,
    /// The sequence is malformed.
    #[error(transparent)]
    Sequence(#[from] IdError),
    /// The head is malformed.
    #[error(transparent)]
    Head(#[from] DigestError),
    /// The sequence is 0 and the head is not genesis.
    #[error("sequence 0 goes with the genesis head alone")]
    EmptyWithHead,
}

impl FromStr for Tail {
    type Err = TailError;

    fn from_str(text: &str) -> Result<Self, TailError> {
        let (sequence, head) = text.split_once(':').ok_or(TailError::MissingSeparator)?;
        let head: ChainHead = head.parse()?;
        match sequence {
            "0" if head == ChainHead::GENESIS => Ok(Self::Empty),
            "0" => Err(TailError::EmptyWithHead),
            _ => Ok(Self::At {
                sequence: sequence.parse()?,
                head,
            }),
        }
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "0:{}", ChainHead::GENESIS),
            Self::At { sequence, head } => write!(f, "{sequence}:{head}"),
        }
    }
}
