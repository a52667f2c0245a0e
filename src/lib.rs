//! Crash-safe leases, server records and process signalling for the Harnery harness.
//!
//! ```text
//! node                      the only place that knows JavaScript
//! servers · workflow · supervisor
//! history                   append-only files under a lease
//! lease                     who may write
//! host                      the machine as one value: files + clock + processes + sockets
//! process · net · files · clock       one outside thing each, behind a small trait
//! spawn                     what an agent program left behind, read; pure
//! javascript                what JavaScript means where Rust would differ; pure
//! ```
//!
//! Arrows point down only; neighbours in one row meet through a row below. `tests/layering.rs` holds it.

#![deny(unsafe_code)]
#![warn(missing_debug_implementations, unreachable_pub)]

pub mod clock;
pub mod files;
pub mod history;
pub mod host;
pub mod javascript;
pub mod lease;
pub mod net;
#[cfg(all(feature = "node", not(test)))]
mod node;
pub mod process;
pub mod servers;
#[cfg(feature = "sim")]
pub mod sim;
pub mod spawn;
pub mod supervisor;
pub mod workflow;
