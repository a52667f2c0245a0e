//! What must hold for every input, one module for each parser, and one for whole sequences of operations.
//!
//! Each `hold` takes bytes and panics where a property is violated. The fuzzer calls them, and so does
//! `tests/fuzz_seeds.rs` with the seeds that are kept in `seeds/`. Where there is a second way to read the same input, it
//! is written as plainly as can be, and both must agree.

#![allow(unreachable_pub, reason = "a module of the tests, too")]

pub mod claim;
pub mod configuration;
pub mod envelope;
pub mod history;
pub mod json;
pub mod lsof;
pub mod operations;
pub mod owner;
pub mod proc_net_tcp;
pub mod proc_stat;
pub mod record;
mod stage;
pub mod timestamp;
mod wording;

/// A target by its name.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 12] = [
    ("claim", claim::hold),
    ("configuration", configuration::hold),
    ("envelope", envelope::hold),
    ("history", history::hold),
    ("json", json::hold),
    ("lsof", lsof::hold),
    ("operations", operations::hold),
    ("owner", owner::hold),
    ("proc_net_tcp", proc_net_tcp::hold),
    ("proc_stat", proc_stat::hold),
    ("record", record::hold),
    ("timestamp", timestamp::hold),
];
