//! What is built on leases, whatever the interleaving, whoever is killed and whenever the power is cut: the production
//! code in the simulated machine, every state up to a bound.
#![cfg(feature = "sim")]

mod custody;
#[path = "../proof/mod.rs"]
mod proof;
mod registry;
mod repair;
mod resume;
mod stage;
