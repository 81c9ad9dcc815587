//! Owns the trait by which a workflow family defines its states. It knows no family.

use core::fmt::Debug;
use core::hash::Hash;

use crate::id::is_snake_word;

/// What reaching a state means for persistence.
///
/// A terminal state is always a boundary, so the two can't be said separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The move is not persisted.
    Passing,
    /// A checkpoint must be persisted.
    Boundary,
    /// A checkpoint must be persisted, and no further work follows without outside input.
    Terminal,
}

/// A closed set of state kinds with its legal edges: one workflow family.
///
/// Implement it on a fieldless enum, one exhaustive `match` a method; see [`VulnState`] for the
/// first implementation and [`check_machine`] for a test of your own.
///
/// [`VulnState`]: crate::VulnState
pub trait StateMachine: Copy + Eq + Ord + Hash + Debug + Send + Sync + 'static {
    /// The name of the family in messages, such as `vulnerability`.
    const LEDGER: &'static str;
    /// Every kind, each once.
    const KINDS: &'static [Self];
    /// The kind of a workflow that has recorded nothing.
    const INITIAL: Self;

    /// Gives the persisted name of the kind: `[a-z][a-z0-9_]*`, unique in the family.
    fn slug(self) -> &'static str;

    /// Gives what reaching the kind means for persistence.
    fn role(self) -> Role;

    /// Gives the kinds that may legally follow.
    fn successors(self) -> &'static [Self];

    /// Gives the kind with this persisted name, if there is one.
    fn from_slug(slug: &str) -> Option<Self> {
        Self::KINDS.iter().copied().find(|kind| kind.slug() == slug)
    }

    /// Says whether a checkpoint must be persisted at this kind.
    fn is_boundary(self) -> bool {
        match self.role() {
            Role::Passing => false,
            Role::Boundary | Role::Terminal => true,
        }
    }

    /// Says whether no further work follows this kind without outside input.
    fn is_terminal(self) -> bool {
        match self.role() {
            Role::Passing | Role::Boundary => false,
            Role::Terminal => true,
        }
    }
}

/// A fact about a state machine that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MachineFault {
    /// A slug is not `[a-z][a-z0-9_]*`.
    #[error("slug {0:?} is not a snake-case word")]
    Slug(&'static str),
    /// Two kinds share a slug, or one kind is listed twice.
    #[error("slug {0:?} stands for more than one listed kind")]
    Repeated(&'static str),
    /// The initial kind or a successor is missing from the listed kinds.
    #[error("kind {0:?} is reachable but not listed")]
    Unlisted(&'static str),
    /// A kind names one successor twice.
    #[error("an edge to {0:?} is listed twice")]
    RepeatedEdge(&'static str),
}

/// Checks the facts that the type system can't hold for a machine; call it from a test.
///
/// # Errors
///
/// Gives the first [`MachineFault`] found.
pub fn check_machine<M: StateMachine>() -> Result<(), MachineFault> {
    for (position, kind) in M::KINDS.iter().enumerate() {
        let slug = kind.slug();
        if !is_snake_word(slug) {
            return Err(MachineFault::Slug(slug));
        }
        if M::KINDS
            .iter()
            .take(position)
            .any(|other| other.slug() == slug || other == kind)
        {
            return Err(MachineFault::Repeated(slug));
        }
        for (place, next) in kind.successors().iter().enumerate() {
            if !M::KINDS.contains(next) {
                return Err(MachineFault::Unlisted(next.slug()));
            }
            if kind
                .successors()
                .iter()
                .take(place)
                .any(|other| other == next)
            {
                return Err(MachineFault::RepeatedEdge(next.slug()));
            }
        }
    }
    if M::KINDS.contains(&M::INITIAL) {
        Ok(())
    } else {
        Err(MachineFault::Unlisted(M::INITIAL.slug()))
    }
}
