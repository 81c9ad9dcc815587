//! Owns the list of lies, and their names at the type level. It tells none.

/// One way to break the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// None at all.
    Nothing,
    /// A batch is appended event by event until one is refused.
    WritesBatchesByHalves,
    /// A batch is not held against the expected head.
    BatchesIgnoreTheHead,
    /// A batch is chained from its end.
    ChainsBatchesBackwards,
    /// Reads leave out the last row.
    ForgetsTheLastRow,
    /// The last row is linked to the head before its predecessor: two rows share a prior.
    Forks,
    /// Reads come in the order of transition ids.
    ReordersById,
    /// Sequences begin at 0.
    NumbersFromZero,
    /// Each row is hashed after genesis.
    HashesTheWrongPrior,
    /// The time of the write is hashed too.
    HashesTheTime,
    /// The tail is computed from the bytes.
    RecomputesTheTail,
    /// Reads of one workflow give the rows of others too.
    LeaksWorkflows,
    /// Rows live in the handle that wrote them.
    KeepsRowsInTheHandle,
    /// A stale head is accepted.
    AcceptsAStaleHead,
    /// A stale head is refused, and the row is written all the same.
    WritesWhatItRefuses,
    /// A refusal moves the pin.
    RefusalMovesThePin,
    /// A lock takes events of any workflow.
    TakesForeignEvents,
    /// A retry writes a second row.
    DuplicatesOnRetry,
    /// A retry is answered with the tail.
    AnswersRetriesWithTheTail,
    /// Other bytes under a used id are answered as a retry.
    TakesConflictsForRetries,
    /// A stale head is told before a retry is answered.
    JudgesTheHeadBeforeTheRetry,
    /// A retry is answered before the pin is looked at.
    JudgesTheRetryBeforeThePin,
    /// The pin is never looked at.
    NeverLooksAtThePin,
    /// The pin is looked at in the tail alone.
    LooksForThePinAtTheTail,
    /// The pin is never moved.
    NeverMovesThePin,
    /// The pin stands one row further than the rows.
    PinLeads,
    /// The pin is moved first, and a cut future leaves it there.
    PinsBeforeTheRow,
    /// Bytes are written in canonical form whatever they were.
    RewritesBytes,
    /// U+0000 is left out, as a store that can't hold it might do.
    DropsNul,
    /// The injected clock is not asked.
    AsksTheSystemClock,
    /// Anybody gets the lock.
    IgnoresTheLock,
    /// One lock serves all workflows.
    LocksEverything,
    /// A dropped guard keeps the lock.
    DropKeepsTheLock,
    /// A released guard keeps the lock.
    ReleaseKeepsTheLock,
    /// A cut wait keeps the lock.
    CutWaitKeepsTheLock,
    /// Reads wait for the lock.
    ReadsTakeTheLock,
    /// A contended lock is an error of the engine.
    BusyIsAnEngineError,
    /// A read sees rows that were appended after it began.
    ReadsLive,
    /// Reading an unknown workflow makes it.
    ReadsCreate,
    /// Ids that differ in case are one workflow.
    FoldsCase,
    /// Ids are cut to 64 bytes.
    TruncatesIds,
    /// The list is not sorted.
    ListsBackwards,
    /// Statistics count one row too few.
    Miscounts,
    /// A delete takes every workflow whose id begins with this one.
    DeletesByPrefix,
    /// A delete does not look at the lock.
    DeletesLockedWorkflows,
    /// A delete leaves the pin.
    DeleteLeavesThePin,
    /// To delete an unknown workflow is no error.
    DeletesTheUnknown,
    /// A closed store goes on.
    GoesOnAfterClose,
    /// A close closes every handle.
    ClosesEveryHandle,
    /// A close throws rows away that were acknowledged.
    CloseForgets,
    /// Reads that were dropped half way use up the store.
    DroppedReadsUseItUp,
    /// Reads refuse rows that contradict the pin.
    ReadsJudgeThePin,
    /// A pin that lags is taken for a contradiction.
    RefusesALaggingPin,
}

/// Says at the type level which lie is told.
pub trait Tells: Send + Sync + 'static {
    /// The lie.
    const LIE: Lie;
}

macro_rules! tells {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("Tells [`Lie::", stringify!($name), "`].")]
            #[derive(Debug)]
            pub struct $name;

            impl Tells for $name {
                const LIE: Lie = Lie::$name;
            }
        )*
    };
}

tells! {
    Nothing
    WritesBatchesByHalves
    BatchesIgnoreTheHead
    ChainsBatchesBackwards
    ForgetsTheLastRow
    Forks
    ReordersById
    NumbersFromZero
    HashesTheWrongPrior
    HashesTheTime
    RecomputesTheTail
    LeaksWorkflows
    KeepsRowsInTheHandle
    AcceptsAStaleHead
    WritesWhatItRefuses
    RefusalMovesThePin
    TakesForeignEvents
    DuplicatesOnRetry
    AnswersRetriesWithTheTail
    TakesConflictsForRetries
    JudgesTheHeadBeforeTheRetry
    JudgesTheRetryBeforeThePin
    NeverLooksAtThePin
    LooksForThePinAtTheTail
    NeverMovesThePin
    PinLeads
    PinsBeforeTheRow
    RewritesBytes
    DropsNul
    AsksTheSystemClock
    IgnoresTheLock
    LocksEverything
    DropKeepsTheLock
    ReleaseKeepsTheLock
    CutWaitKeepsTheLock
    ReadsTakeTheLock
    BusyIsAnEngineError
    ReadsLive
    ReadsCreate
    FoldsCase
    TruncatesIds
    ListsBackwards
    Miscounts
    DeletesByPrefix
    DeletesLockedWorkflows
    DeleteLeavesThePin
    DeletesTheUnknown
    GoesOnAfterClose
    ClosesEveryHandle
    CloseForgets
    DroppedReadsUseItUp
    ReadsJudgeThePin
    RefusesALaggingPin
}
