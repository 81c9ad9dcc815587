//! Owns the matrix of damage: every way in which stored rows can lie, and the verdict that each
//! must get. It knows no engine; a [`TamperHarness`](crate::TamperHarness) puts the rows beneath
//! one.

mod alter;
pub mod matrix;
mod specimen;
mod store;
mod verifier;

pub use alter::{
    along_an_illegal_edge, altered_head, forged_bytes, insert_forged, relink, renumber, rewrite,
    shift_sequences, unreadable_heads,
};
pub use specimen::{Damage, Expected, Specimen};
pub use store::{ServedChain, TamperedStore};
pub use verifier::{
    AlwaysVerified, Answer, BlindVerifier, Blindness, FirstOnly, IgnoresSequence, IgnoresThePin,
    LastDivergence, MissesDuplicates, NothingButTheTail, Sees, SwallowsParseErrors, TrueVerifier,
    TrustsPriorHeads, Verify,
};
