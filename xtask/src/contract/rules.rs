//! Owns the form of the rules that say what a change means. The rules themselves are in `table`.

use super::delta::Change;
use super::question::Question;

/// What a change means for those who read a ledger or implement a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contract {
    /// Nobody has to do anything.
    Additive,
    /// Additive once a decision record names it, and breaking until then.
    Recorded,
    /// Somebody's ledger, program or store no longer works.
    Breaking,
}

/// What a change means for Rust programs that compile against the crates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rust {
    /// No name or type of the API changes.
    Nothing,
    /// Something is new.
    Minor,
    /// Programs that compiled may not.
    Major,
    /// Major where callers can match on, or build, the whole type; else minor.
    MajorIfClosed,
}

/// A class in both senses, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) contract: Contract,
    pub(super) rust: Rust,
    pub(super) why: &'static str,
}

/// What follows from one change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ruling {
    Always(Verdict),
    Depends {
        question: Question,
        yes: Verdict,
        no: Verdict,
    },
}

/// What one change means at the places that fit a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    /// Parts between slashes; `*` fits any part.
    pub(super) patterns: &'static [&'static str],
    pub(super) change: Change,
    pub(super) ruling: Ruling,
}

pub(super) const fn additive(rust: Rust, why: &'static str) -> Verdict {
    Verdict {
        contract: Contract::Additive,
        rust,
        why,
    }
}

pub(super) const fn recorded(rust: Rust, why: &'static str) -> Verdict {
    Verdict {
        contract: Contract::Recorded,
        rust,
        why,
    }
}

pub(super) const fn breaking(rust: Rust, why: &'static str) -> Verdict {
    Verdict {
        contract: Contract::Breaking,
        rust,
        why,
    }
}

pub(super) const fn rule(
    patterns: &'static [&'static str],
    change: Change,
    ruling: Ruling,
) -> Rule {
    Rule {
        patterns,
        change,
        ruling,
    }
}

pub(super) const fn depends(question: Question, yes: Verdict, no: Verdict) -> Ruling {
    Ruling::Depends { question, yes, no }
}
