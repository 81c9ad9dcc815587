//! Owns what an append asks and what it answers. It performs none.

use piton_ledger::{ChainHead, Sequence};

/// Which head the caller believes to be the tail when it appends.
///
/// [`ExpectedHead::Exactly`] fences zombies: a writer that lost its lock and wakes late can't
/// append to a chain that has moved on. [`SealedEvent::chain_head`](crate::SealedEvent::chain_head)
/// can serve as the expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedHead {
    /// Append after whatever the tail is.
    Any,
    /// Append only if this is the head of the tail; genesis for an empty chain.
    Exactly(ChainHead),
}

/// An acknowledged event: it is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The position of the event's row.
    pub sequence: Sequence,
    /// The head after the event.
    pub head: ChainHead,
    /// Whether this call wrote it.
    pub status: AppendStatus,
}

/// Whether an append wrote a row or found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendStatus {
    /// This call wrote the row.
    Appended,
    /// An earlier call wrote the same transition with the same bytes.
    AlreadyPresent,
}

impl AppendStatus {
    /// Gives the name used in output: `appended` or `already_present`.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Appended => "appended",
            Self::AlreadyPresent => "already_present",
        }
    }
}
