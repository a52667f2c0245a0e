//! `String.prototype.localeCompare` in the root collation, whatever the environment's language.
//!
//! One difference is known: two Han characters are ordered here by code point. ICU, as JavaScript engines ship it, orders
//! them by radical and stroke, which is the same for most pairs and changes with the version of Unicode.

use std::cmp::Ordering;

use icu_collator::options::CollatorOptions;
use icu_collator::CollatorBorrowed;

use super::text::{Part, Text};

/// Order two strings as `a.localeCompare(b)` does under `en` or `C`.
pub fn compare(a: &str, b: &str) -> Ordering {
    Order::new().compare(a, b)
}

/// [`compare`] for many strings.
#[derive(Debug)]
pub struct Order(CollatorBorrowed<'static>);

impl Order {
    pub fn new() -> Order {
        Order(CollatorBorrowed::new_root(CollatorOptions::default()))
    }

    pub fn compare(&self, a: &str, b: &str) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        self.0.compare(a, b)
    }
}

impl Default for Order {
    fn default() -> Self {
        Order::new()
    }
}

/// [`compare`] for JavaScript strings.
pub fn compare_text(a: &Text, b: &Text) -> Ordering {
    match (a.to_str(), b.to_str()) {
        (Some(a), Some(b)) => compare(a, b),
        _ => compare(&without_surrogates(a), &without_surrogates(b)),
    }
}

/// A text that orders as this one does. ICU orders a lone surrogate by its number among the characters that are not
/// assigned; the last of those before the surrogates, followed by one that tells them apart, stands for it.
fn without_surrogates(text: &Text) -> String {
    const BEFORE_SURROGATES: char = '\u{D7FF}';
    const UNASSIGNED_PLANE: u32 = 0x40000;
    let mut out = String::new();
    for part in text.parts() {
        match part {
            Part::Plain(plain) => out.push_str(plain),
            Part::Lone(surrogate) => {
                out.push(BEFORE_SURROGATES);
                out.extend(char::from_u32(UNASSIGNED_PLANE + u32::from(surrogate)));
            }
        }
    }
    out
}
