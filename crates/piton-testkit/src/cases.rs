//! Owns the conformance cases, one module a subject. Each is a plain function that is generic over
//! the harness and panics when the contract is broken.

mod atomic;
mod batch;
mod cancel;
mod catalog;
mod clock;
mod content;
mod exclusive;
mod failure;
mod fence;
mod names;
mod order;
mod pin;
mod read;
mod retry;

pub use atomic::*;
pub use batch::*;
pub use cancel::*;
pub use catalog::*;
pub use clock::*;
pub use content::*;
pub use exclusive::*;
pub use failure::*;
pub use fence::*;
pub use names::*;
pub use order::*;
pub use pin::*;
pub use read::*;
pub use retry::*;
