//! Stopping servers, on real processes: who is hit, who is not, and what the result says.
//!
//! The states that they need are staged with Linux's namespaces and `/proc`.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "tests are the caller")]
#![allow(unreachable_pub, reason = "modules of tests")]

mod callers;
mod generations;
mod groups;
#[path = "../real/mod.rs"]
mod real;
mod records;
#[path = "../registry_support/mod.rs"]
mod registry_support;
mod support;
mod waiting;
mod warrants;
