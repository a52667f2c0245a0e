//! Durable history: what it promises, on real files and on the simulated machine.

mod appending;
mod kills;
#[cfg(feature = "sim")]
mod lease;
mod reading;
mod repair;
mod rewriting;
mod support;
mod symlinks;
mod writers;
