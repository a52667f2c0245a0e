//! Real processes on real file systems, ended with SIGKILL.
//!
//! Either right before each of their file calls, one call after the other, or at random moments among seven others.
//! Whoever comes afterwards gets on at its first try, clears up what was left, and nothing that lives is lost.

#![cfg(feature = "sim")]

mod history;
mod lease;
mod lower_layer;
#[path = "../mortal/mod.rs"]
mod mortal;
mod places;
#[path = "../proof/mod.rs"]
mod proof;
mod registry;
#[path = "../registry_support/mod.rs"]
mod registry_support;
mod resume;
mod soak;
#[path = "../support/mod.rs"]
mod support;
mod victim;
