//! `String.prototype.toLowerCase`: full Unicode, the same in every locale.

use super::{Part, Text};

impl Text {
    /// `text.toLowerCase()`.
    #[must_use]
    pub fn to_lower_case(&self) -> Text {
        let mut lower = Text::default();
        // The one rule that looks around (a sigma that ends a word) looks no further than a lone surrogate.
        for part in self.parts() {
            match part {
                Part::Plain(text) => lower.push_str(&text.to_lowercase()),
                Part::Lone(surrogate) => lower.push_point(u32::from(surrogate)),
            }
        }
        lower
    }
}
