//! The explorer sees: with a rule left out or a step done in another way, it finds what the rule or the step is for.
//!
//! What is done wrong stands in the `.diff` files beside these. `node scripts/mutants.mjs` puts it into a copy of the
//! sources and runs these tests there, one for each.

#[allow(dead_code, reason = "it is the history's tests' too")]
#[path = "../history/contending.rs"]
mod contending;
mod finding;
mod history;
mod javascript;
mod power;
#[path = "../proof/mod.rs"]
mod proof;
mod rules;
mod steps;
