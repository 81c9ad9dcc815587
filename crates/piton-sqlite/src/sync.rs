//! Owns the choice of the primitives at which threads meet: the standard ones, and in this
//! crate's own unit tests those of a scheduler that tries interleavings. It adds nothing to
//! either.

#[cfg(not(test))]
pub(crate) use std::{
    sync::{Mutex, MutexGuard, atomic::AtomicBool},
    thread,
};

#[cfg(test)]
pub(crate) use shuttle::{
    sync::{Mutex, MutexGuard, atomic::AtomicBool},
    thread,
};
