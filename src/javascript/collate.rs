//! `String.prototype.localeCompare` in the root collation, whatever the environment's language.

use std::cmp::Ordering;

use icu_collator::options::CollatorOptions;
use icu_collator::CollatorBorrowed;

use super::text::Text;

/// Order two strings as `a.localeCompare(b)` does under `en` or `C`.
pub fn compare(a: &str, b: &str) -> Ordering {
    CollatorBorrowed::new_root(CollatorOptions::default()).compare(a, b)
}

/// [`compare`] for JavaScript strings; a lone surrogate orders as U+FFFD does.
pub fn compare_text(a: &Text, b: &Text) -> Ordering {
    compare(&a.to_string_lossy(), &b.to_string_lossy())
}
