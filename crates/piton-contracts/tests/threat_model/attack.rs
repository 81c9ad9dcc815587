//! Owns what an attack is: a name, what it leaves, and the weakest guard that detects it. It lists
//! none.

use piton_store::{PersistedRow, Tail};
use piton_testkit::tamper::Specimen;
use piton_verify::{Expectations, PinPolicy};

use crate::engine::Engine;

/// What a chain is held against, the weaker before the stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Guard {
    /// The rows themselves.
    Chain,
    /// The pin too.
    Pin,
    /// The pin, and a tail that the owner noted before the attack.
    ExpectedHead,
    /// There is no guard that would do.
    Nothing,
}

impl Guard {
    /// The guards that a user can ask for.
    pub(crate) const ALL: [Self; 3] = [Self::Chain, Self::Pin, Self::ExpectedHead];

    /// Gives what the verifier must be asked for, strongest where nothing would do.
    pub(crate) fn expectations(self, noted: Tail) -> Expectations {
        let (pin, expected) = match self {
            Self::Chain => (PinPolicy::Ignore, None),
            Self::Pin => (PinPolicy::Enforce, None),
            Self::ExpectedHead | Self::Nothing => (PinPolicy::Enforce, Some(noted)),
        };
        Expectations { pin, expected }
    }
}

/// One way to make a ledger lie.
pub(crate) struct Attack<E: Engine> {
    /// What the document calls it.
    pub(crate) name: &'static str,
    /// The weakest guard that detects it.
    pub(crate) caught_by: Guard,
    /// How it is done.
    pub(crate) deed: Deed<E>,
}

/// How an attack is done.
pub(crate) enum Deed<E: Engine> {
    /// Rows and pin are replaced, which every engine can have done to it.
    Replace(fn(&Specimen<E>) -> Left),
    /// The engine's own files or tables are handled.
    Handle(E::Own),
}

/// What an attacker leaves.
#[derive(Clone)]
pub(crate) struct Left {
    /// The rows, in the order in which they are read.
    pub(crate) rows: Vec<PersistedRow>,
    /// What becomes of the pin.
    pub(crate) pin: PinLeft,
    /// After which row the owner noted the head.
    pub(crate) noted: Noted,
}

impl Left {
    /// Leaves rows, and the pin where it was.
    pub(crate) fn rows(rows: Vec<PersistedRow>) -> Self {
        Self {
            rows,
            pin: PinLeft::Untouched,
            noted: Noted::Last,
        }
    }

    /// Leaves rows that link, and a pin at the last of them.
    pub(crate) fn pinned(rows: Vec<PersistedRow>) -> Self {
        let pin = PinLeft::SetTo(tail(&rows));
        Self {
            pin,
            ..Self::rows(rows)
        }
    }

    /// Leaves the pin at another tail.
    pub(crate) fn with_pin(self, pin: Tail) -> Self {
        Self {
            pin: PinLeft::SetTo(pin),
            ..self
        }
    }
}

/// What becomes of the pin.
#[derive(Clone, Copy)]
pub(crate) enum PinLeft {
    Untouched,
    SetTo(Tail),
    /// It goes, and the workflow's files and notes with it.
    Gone,
}

/// After which row the owner noted the head.
#[derive(Clone, Copy)]
pub(crate) enum Noted {
    /// The last one before the attack.
    Last,
    /// The third, before the attacker's first.
    Earlier,
}

impl Noted {
    pub(crate) fn tail<E: Engine>(self, specimen: &Specimen<E>) -> Tail {
        match self {
            Self::Last => specimen.tail,
            Self::Earlier => specimen.tail_after(EARLIER),
        }
    }
}

/// How many rows there were when an owner noted the head early.
pub(crate) const EARLIER: usize = 3;

/// Gives the tail that stored rows claim to have.
pub(crate) fn tail(rows: &[PersistedRow]) -> Tail {
    let Some(last) = rows.last() else {
        return Tail::Empty;
    };
    Tail::At {
        sequence: last.sequence.try_into().expect("from 1"),
        head: last.next_head.to_head().expect("the rows link"),
    }
}
