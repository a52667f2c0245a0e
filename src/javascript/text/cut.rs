//! Parts of a text: its lines, its first or last characters, and what is between the blanks at its ends.
//!
//! Characters are UTF-16 code units. A cut through a surrogate pair drops both halves.

use super::{bytes_of, is_white_space, units_of, Text};

impl Text {
    /// At most the first `limit` characters.
    #[must_use]
    pub fn first(&self, limit: usize) -> Text {
        let mut left = limit;
        let kept = self.points().map_while(|point| {
            left = left.checked_sub(units_of(point))?;
            Some(bytes_of(point))
        });
        Text(self.0[..kept.sum()].to_vec())
    }

    /// At most the last `limit` characters.
    #[must_use]
    pub fn last(&self, limit: usize) -> Text {
        let mut excess = self.length().saturating_sub(limit);
        let dropped = self.points().map_while(|point| {
            let more = excess > 0;
            excess = excess.saturating_sub(units_of(point));
            more.then(|| bytes_of(point))
        });
        Text(self.0[dropped.sum()..].to_vec())
    }

    /// `text.split("\n")`.
    pub fn lines(&self) -> impl Iterator<Item = Text> + '_ {
        self.0.split(|byte| *byte == b'\n').map(|line| Text(line.to_vec()))
    }

    /// `String.prototype.trim`.
    #[must_use]
    pub fn trim(&self) -> Text {
        let (mut at, mut start, mut end) = (0, None, 0);
        for point in self.points() {
            let next = at + bytes_of(point);
            if !char::from_u32(point).is_some_and(is_white_space) {
                start = start.or(Some(at));
                end = next;
            }
            at = next;
        }
        Text(self.0[start.unwrap_or(0)..end].to_vec())
    }
}
