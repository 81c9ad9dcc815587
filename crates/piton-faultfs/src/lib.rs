//! What a process asks of its disk: recorded, made to fail, and replayed up to a power loss.
//!
//! A program is watched without any change to it. Two doors are guarded:
//!
//! - the **system calls** that make data and names durable (`open`, `write`, `pwrite`, `fsync`,
//!   `fdatasync`, `ftruncate`, `rename`, `unlink`, `mkdir` and `pread`). This crate defines those
//!   symbols, so an executable that links it calls them, whether from std or from SQLite's C;
//! - the **methods of SQLite's file layer**, through a VFS that wraps the default one and takes
//!   its place ([`install`]).
//!
//! Recording stands at the system calls: half of what a ledger's durability rests on (its pin, the
//! move of a new database into place, the entries of directories) never passes through a VFS.
//! Failures can be ordered at both doors.
//!
//! A [`Watch`] collects what happens beneath one directory. From its [record](Op), a [`Disk`]
//! knows at any moment what is certain to outlast a power loss and what is not, and gives
//! [`Image`]s of what a machine may find when it starts again.
//!
//! # The model of a disk
//!
//! - What a successful sync of a file covered is there, with the file's length.
//! - Of what was written since, any part may be there: each sector of 512 bytes by itself, old or
//!   new, in any order; under [`Keep::Bytes`] one sector of each file may be torn within itself. The
//!   length may be old or new, and where it is new without its data there are zeros or rubbish.
//! - A new, moved or removed name is certain only after a sync of its directory; before that any
//!   subset of the changes may be there. A rename is atomic.
//! - After a sync that failed, what it should have covered stays doubtful for ever, even if a later
//!   sync succeeds, as on Linux; only writing it again makes it certain.
//! - A write does not damage bytes beside it (what SQLite calls powersafe overwrite).
//!
//! This crate is for tests and campaigns on Linux: it must never be linked into a shipped program.
#![cfg(target_os = "linux")]

mod calls;
mod disk;
mod image;
mod interpose;
mod vfs;
mod watch;

pub use calls::{Call, Failure, Lasting, Method, Outcome, Remark};
pub use disk::{Disk, Op};
pub use image::{Effect, Filler, Image, Keep, Loss};
pub use vfs::install;
pub use watch::{Honesty, Watch};
