//! Durable history: append-only JSON lines, one writer at a time, whole after a kill at any point.
//!
//! A reader sees every record whose append returned. At most it refuses, with a clear error, a last line that a kill
//! tore; it never returns half a record.
//!
//! ```text
//! <dir>/active.jsonl           what is being appended to        <path>
//! <dir>/segments/00000001.jsonl …   sealed, in order            <path>.segments/00000001.jsonl …
//! <dir>/.append.lease/         the writer's lease               <path>.segment.lease/, or <path>.lease/
//! ```
//!
//! [`Layout`] says which of these a history has. [`lease`] is the protocol that makes the [`Writer`] the only one;
//! [`append`], [`rewrite`], [`update`] and [`repair`] work under it; [`read`] needs nobody's leave.

pub mod append;
mod error;
mod home;
mod layout;
pub mod lease;
mod options;
pub mod read;
mod record;
pub mod repair;
pub mod rewrite;
mod seal;
pub mod update;
mod writer;

pub use error::Error;
pub use layout::Layout;
pub use options::{AppendOptions, Boundary, NoSeams, ReadOptions, Receipt, Seams, Writing};
pub use writer::{write, Writer};

/// The schema that a receipt names.
pub const SCHEMA: &str = "harnery.durable-history/v1";

/// What a history operation answers.
pub type Result<T> = std::result::Result<T, Error>;
