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
        plain(a, b).unwrap_or_else(|| self.0.compare(a, b))
    }
}

/// The order of two strings of nothing but what ids are made of, which is that of their characters.
fn plain(a: &str, b: &str) -> Option<Ordering> {
    let is_plain = |text: &str| text.bytes().all(|byte| RANKS[usize::from(byte)] > 0);
    let ranks = |byte: u8| RANKS[usize::from(byte)];
    (is_plain(a) && is_plain(b)).then(|| a.bytes().map(ranks).cmp(b.bytes().map(ranks)))
}

/// The places of what ids are made of in the root collation; 0 for every other byte.
const RANKS: [u8; 256] = {
    let order = *b"_-.0123456789abcdefghijklmnopqrstuvwxyz";
    let mut ranks = [0; 256];
    let mut place = 0;
    while place < order.len() {
        ranks[order[place] as usize] = place as u8 + 1;
        place += 1;
    }
    ranks
};

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_characters_of_ids_are_ordered_as_the_collation_orders_them() {
        let characters: Vec<String> =
            (' '..='~').map(|c| c.to_string()).filter(|c| plain(c, c).is_some()).collect();
        assert_eq!(characters.len(), 39);
        let order = Order::new();
        for a in &characters {
            for b in &characters {
                assert_eq!(plain(a, b), Some(order.0.compare(a, b)), "{a} {b}");
            }
        }
    }

    proptest! {
        #[test]
        fn ids_are_ordered_as_the_collation_orders_them(a in "[a-z0-9._-]{0,8}", b in "[a-z0-9._-]{0,8}") {
            prop_assert_eq!(plain(&a, &b), Some(Order::new().0.compare(&a, &b)));
        }
    }
}
