//! The piton command: append, verify, hydrate, log, list, head, repin, delete, seal, copy, export,
//! import, migrate, demo.
//!
//! The command line is generic over the state machine, so that the binary of a second workflow
//! family is a few lines. Names of commands and [`ExitStatus`] codes are a promise to scripts.
//!
//! # Examples
//!
//! ```
//! use piton_cli::{Console, ExitStatus, Piton};
//! use piton_ledger::VulnState;
//!
//! let mut output = Vec::new();
//! let mut console = Console::new(std::io::empty(), &mut output, std::io::sink());
//! let arguments = ["piton", "head", "--store", "memory:", "remediate-CVE-2021-44906"];
//! let status = Piton::<VulnState>::new().run(arguments, &mut console);
//! drop(console);
//! assert_eq!(status, ExitStatus::Done);
//! assert!(output.starts_with(b"0:blake3:"));
//! ```

mod app;
mod command;
mod console;
mod escape;
mod event_line;
mod exit;
mod failure;
mod input;
mod progress;
mod proof;
mod report;
mod row_line;
mod rows;
mod store;
mod transfer;

pub use app::{Piton, main};
pub use console::{Colour, Console};
pub use exit::ExitStatus;
