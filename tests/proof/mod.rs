//! How far the proofs go, and what they tell `npm run prove`.
//!
//! `npm test` runs every proof in a small version. `npm run prove` sets two variables: how many times as far to go, and
//! a file to which each proof adds its row of the table.

#![allow(dead_code, reason = "each test crate uses its own part")]
#![allow(unreachable_pub, reason = "a module of tests")]

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

#[cfg(feature = "sim")]
use harnery_native::sim::explore::Trace;
use serde_json::{json, Value};

/// So many times as far as in `npm test`: a factor for bounds on states, seeds, rounds.
pub fn effort() -> usize {
    let asked = std::env::var("HARNERY_PROVE_EFFORT").ok();
    asked.map_or(1, |text| text.parse().expect("HARNERY_PROVE_EFFORT is a whole number"))
}

/// A row of the table: what is claimed, what was gone through to see it, and how often it was not so.
pub fn row(claim: &str, explored: impl Display, violations: usize) {
    println!("{claim}: {explored}, {violations} violations");
    add(&json!({ "claim": claim, "explored": explored.to_string(), "violations": violations }));
}

/// A row of the other table: something is done wrong on purpose, and this is what was found, by this way.
#[cfg(feature = "sim")]
pub fn found(fault: &str, explored: impl Display, finding: &str, trace: &Trace) {
    let (explored, steps, trace) = (explored.to_string(), trace.len(), trace.to_string());
    println!("{fault}: {explored}: {finding}, in {steps} steps:\n{trace}");
    add(&json!({ "fault": fault, "explored": explored, "finding": finding, "steps": steps, "trace": trace }));
}

fn add(row: &Value) {
    let Some(path) = std::env::var_os("HARNERY_PROVE_ROWS") else { return };
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("the table's file opens");
    // One write: tests run beside each other.
    file.write_all(format!("{row}\n").as_bytes()).expect("the table's file takes a row");
}
