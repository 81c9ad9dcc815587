//! Owns the questions with two answers on which a classification turns.
//!
//! Every one of them is asked through one function, so that a test can hand in a function that
//! turns a single answer round, and so show that the table of cases notices.

/// A question about one delta, whose answer is yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// Do the two values at one place differ?
    ValueDiffers,
    /// Does a part of the path fit the part of a rule's pattern?
    PartFits,
    /// Are a path and a pattern equally long?
    LengthFits,
    /// Is the change the one that a rule is about?
    ChangeFits,
    /// Must others give, fill or implement what is new?
    IsRequired,
    /// Is the new number above the old one?
    IsRaised,
    /// Did the state kind that the path ends in exist before?
    KindExisted,
    /// Is the new value a word that says so: `open`, `refused`, `required`?
    IsStricter,
    /// Can callers match on, or build, the whole of the type that the path leads through?
    TypeIsClosed,
    /// Does a decision record name the delta?
    IsRecorded,
    /// Is a delta's class the breaking one?
    IsBreaking,
}

/// Answers a question, given the fact.
pub(super) type Decide<'d> = dyn Fn(Question, bool) -> bool + 'd;

/// Answers truthfully.
pub(super) fn honestly(_: Question, fact: bool) -> bool {
    fact
}

#[cfg(test)]
impl Question {
    /// Every question, each once.
    pub(super) const ALL: [Self; 11] = [
        Self::ValueDiffers,
        Self::PartFits,
        Self::LengthFits,
        Self::ChangeFits,
        Self::IsRequired,
        Self::IsRaised,
        Self::KindExisted,
        Self::IsStricter,
        Self::TypeIsClosed,
        Self::IsRecorded,
        Self::IsBreaking,
    ];
}
