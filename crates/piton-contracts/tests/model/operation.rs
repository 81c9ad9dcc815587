//! Owns what may be asked of a store. Every operation means something in every state, so that any
//! part of a walk is a walk, and failures shrink.

use proptest::prelude::*;

/// One of the two handles on the same ledger, as two processes have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handle {
    First,
    Second,
}

impl Handle {
    pub(crate) fn index(self) -> usize {
        match self {
            Self::First => 0,
            Self::Second => 1,
        }
    }
}

/// Which head an append expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    Any,
    /// The tail's.
    Tail,
    /// That of an earlier row, or of none.
    Earlier(usize),
    /// One that was never there.
    Foreign,
}

/// How the files or tables are damaged past the store, or mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tamper {
    /// The rows after this one are taken away.
    Cut(usize),
    /// The event of a row becomes another, or its own again.
    Alter(usize),
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Appends a new event, under the lock if this handle holds it.
    Append(Handle, Expect),
    /// Sends an event again that was acknowledged, or was taken away since.
    Retry(Handle, usize, Expect),
    /// Sends other bytes under a transition id that is taken.
    Conflict(Handle, usize, Expect),
    /// Takes the lock.
    Lock(Handle),
    /// Lets the lock go.
    Release(Handle),
    /// Closes a store and opens it again.
    Reopen(Handle),
    /// Drops a store with its lock, without closing either, and opens it again.
    Crash(Handle),
    /// Damages the ledger.
    Tamper(Tamper),
    /// Accepts the tail that is there.
    Repin(Handle),
    /// Accepts a tail that is not there.
    RepinWrongly(Handle),
    /// Deletes the workflow.
    Delete(Handle),
}

pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    let handle = || prop_oneof![Just(Handle::First), Just(Handle::Second)];
    let expect = || {
        prop_oneof![
            3 => Just(Expect::Any),
            3 => Just(Expect::Tail),
            1 => (0..8usize).prop_map(Expect::Earlier),
            1 => Just(Expect::Foreign),
        ]
    };
    let tamper = prop_oneof![
        (0..8usize).prop_map(Tamper::Cut),
        (0..8usize).prop_map(Tamper::Alter),
    ];
    prop_oneof![
        10 => (handle(), expect()).prop_map(|(handle, expect)| Operation::Append(handle, expect)),
        3 => (handle(), 0..8usize, expect())
            .prop_map(|(handle, row, expect)| Operation::Retry(handle, row, expect)),
        2 => (handle(), 0..8usize, expect())
            .prop_map(|(handle, row, expect)| Operation::Conflict(handle, row, expect)),
        1 => handle().prop_map(Operation::Lock),
        2 => handle().prop_map(Operation::Release),
        2 => handle().prop_map(Operation::Reopen),
        2 => handle().prop_map(Operation::Crash),
        2 => tamper.prop_map(Operation::Tamper),
        2 => handle().prop_map(Operation::Repin),
        1 => handle().prop_map(Operation::RepinWrongly),
        1 => handle().prop_map(Operation::Delete),
    ]
}
