//! The simulated machine: files, time and processes as values, so that the production code itself can be run through
//! every interleaving, every crash and every failing call.
//!
//! [`Disk`] is a file system as a value that can be cloned, compared and cut off; [`Table`] is a list of scripted
//! processes. [`Machine`] puts both behind the traits of the core for a single run from start to end.

mod call;
mod disk;
pub mod explore;
pub mod lease;
mod machine;
mod port;
mod table;

pub use call::{Answer, Call, Mark, Name, Place};
pub use disk::{Caller, Disk, Numbering};
pub use machine::{Machine, Seat, World, START_MS};
pub use table::{Life, Table, Viewer};
