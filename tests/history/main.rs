//! Durable history: what it promises, on real files and on the simulated machine.

mod appending;
#[cfg(feature = "sim")]
mod contending;
#[cfg(feature = "sim")]
mod failing;
#[cfg(feature = "sim")]
mod holders;
#[cfg(feature = "sim")]
mod interleavings;
mod kills;
#[cfg(feature = "sim")]
mod lease;
#[path = "../mortal/mod.rs"]
mod mortal;
#[cfg(feature = "sim")]
mod owners;
#[cfg(feature = "sim")]
mod power_cuts;
#[path = "../proof/mod.rs"]
mod proof;
mod reading;
mod repair;
mod rewriting;
#[cfg(feature = "sim")]
mod robbed;
mod support;
mod symlinks;
#[path = "../umask/mod.rs"]
mod umask;
mod writers;
