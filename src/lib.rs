//! Crash-safe leases, server records and process signalling for the Harnery harness.
//!
//! ```text
//! node · sim                              the only place that knows JavaScript; the simulated machine
//! servers · workflow · supervisor         what the harness asks for
//! history                                 append-only files under a lease
//! lease                                   who may write
//! host                                    the machine as one value: files, clock, processes, sockets
//! net                                     who listens where; owners are named by their pids
//! process · files · clock                 one outside thing each, behind a small trait
//! spawn                                   what an agent program left behind, read; pure
//! javascript                              what JavaScript means where Rust would differ; pure
//! ```
//!
//! Arrows point down only; neighbours in one row meet through a row below. `tests/layering.rs` reads this picture and
//! holds the `use`s to it.

// The few unsafe blocks that are needed say so where they are, each with its proof.
#![deny(unsafe_code)]
// The doors of clippy.toml. (Unit tests go through them, as all tests do.)
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
// A `pub` that nobody can reach claims to be an interface; everything can be shown in a failing test.
#![warn(unreachable_pub, missing_debug_implementations)]
// The terminal is the caller's.
#![warn(clippy::print_stdout, clippy::print_stderr)]

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
