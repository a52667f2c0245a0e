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

pub mod adopt;
pub mod answers;
pub mod config;
pub mod custody;
mod error;
pub mod gc;
pub mod list;
pub mod listeners;
pub mod migrate;
pub mod names;
pub mod ports;
pub mod read;
pub mod record;
pub mod register;
pub mod registry;
mod remembered;
mod sockets;
pub mod state;
pub mod stop;
pub mod store;
pub mod touch;
pub mod tunnels;
pub mod unregister;

pub use crate::files::Sharing;
pub use answers::{Answers, NoAnswers, Owner, OwnerState, OwnerStates};
pub use error::Error;
pub use names::ServerId;
pub use record::{Kind, RecordedProcess, Schema, ServerRecord};
pub use registry::{CoordRoot, Options, Project, Registry};
pub use state::{server_state, ServerState};
pub use store::{Site, Store};
