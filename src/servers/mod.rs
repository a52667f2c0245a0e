//! The server registry: one record for each long-lived local server, one file for each record.
//!
//! Every command that starts such a server writes a record; one reader lists them all, stops any of them and cleans
//! up after agents that are gone. Two contracts live on one directory and share everything here: [`Schema`] is the
//! value that tells them apart.
//!
//! ```text
//! <coordRoot>/.harnery/servers/<id>.json        one compact JSON line, replaced by rename
//!                             /.registry.lock   flock of the native processes, held for microseconds
//!                             /.custody/<id>/   the mutation lease of one id (custody only)
//! ```
//!
//! [`record`] reads a record, [`store`] is the directory; the others are a verb or a noun each.

pub mod custody;
mod error;
pub mod modes;
pub mod names;
pub mod record;
pub mod store;
pub mod unregister;

pub use error::Error;
pub use modes::Sharing;
pub use names::ServerId;
pub use record::{Kind, RecordedProcess, Schema, ServerRecord};
pub use store::{Site, Store};
