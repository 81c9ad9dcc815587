//! Owns what a chain is held against besides itself: the store's pin and the caller's own head.

use piton_store::Tail;
use serde::{Deserialize, Serialize};

/// Whether the store's pin counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PinPolicy {
    /// The chain must reach the pin.
    #[default]
    Enforce,
    /// The pin is not read: for someone who holds only a copy of the rows.
    Ignore,
}

/// What a chain is held against besides itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expectations {
    /// Whether the store's pin counts.
    pub pin: PinPolicy,
    /// A tail that the caller knows the chain to have had.
    pub expected: Option<Tail>,
}

/// How the chain stands to the store's pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PinStatus {
    /// The chain reaches the pin and has its head there.
    Matched,
    /// The store holds no pin for this workflow.
    None,
    /// The pin was not read, as asked.
    Ignored,
    /// The chain does not reach the pin, or has another head there.
    Contradicted,
    /// A row before the pinned one is bad, so the pin was not compared.
    Unchecked,
}

impl PinStatus {
    /// Gives the name used in output.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::None => "none",
            Self::Ignored => "ignored",
            Self::Contradicted => "contradicted",
            Self::Unchecked => "unchecked",
        }
    }
}
