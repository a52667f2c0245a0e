//! What JavaScript means where Rust would differ: text in, text out, nothing else.
//!
//! The harness's TypeScript reads and writes the same files. Every byte that one writes the other accepts, and
//! every digest that one computes the other reproduces; the modules here are where that is decided.

pub mod collate;
pub mod json;
pub mod paths;
pub mod text;
pub mod timestamp;

use std::any::Any;

/// What a caller's function threw, carried through the core untouched.
///
/// The core never looks inside: the binding that made it takes it back and throws the very same value.
#[derive(Debug)]
#[must_use = "a thrown value leaves the call unchanged"]
pub struct Thrown(pub Box<dyn Any>);

impl Thrown {
    pub fn new(value: impl Any) -> Self {
        Thrown(Box::new(value))
    }
}
