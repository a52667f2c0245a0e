//! Durable history: what it promises, on real files and on the simulated machine.

mod appending;
mod kills;
#[cfg(feature = "sim")]
mod lease;
#[path = "../mortal/mod.rs"]
mod mortal;
mod reading;
mod repair;
mod rewriting;
mod support;
mod symlinks;
mod writers;
