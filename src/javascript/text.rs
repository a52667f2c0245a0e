//! A JavaScript string: Unicode text that may hold lone surrogates.
//!
//! Kept as WTF-8 (UTF-8 that may also encode a lone surrogate), so ordinary text costs nothing extra. A high and a
//! low surrogate that come to stand side by side are the character they mean, as they are in JavaScript.

mod case;
mod cut;

use std::borrow::Cow;
use std::fmt;

/// A JavaScript string. Ordinary text is plain UTF-8; a lone surrogate survives reading and writing back.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Text(Vec<u8>);

/// A stretch of a [`Text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Plain(&'a str),
    Lone(u16),
}

impl Text {
    /// The text as `&str`; `None` when it holds a lone surrogate.
    pub fn to_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The text as JavaScript turns it into UTF-8 (`Buffer.from`, `TextEncoder`): a lone surrogate becomes U+FFFD.
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        if let Some(text) = self.to_str() {
            return Cow::Borrowed(text);
        }
        let plain = self.parts().map(|part| match part {
            Part::Plain(text) => text,
            Part::Lone(_) => "\u{FFFD}",
        });
        Cow::Owned(plain.collect())
    }

    /// `String.prototype.length`: UTF-16 code units.
    pub fn length(&self) -> usize {
        self.points().map(units_of).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The UTF-16 code units, lone surrogates included.
    pub fn units(&self) -> impl Iterator<Item = u16> + '_ {
        self.points().flat_map(|point| {
            let mut pair = [0; 2];
            let count = match char::from_u32(point) {
                Some(c) => c.encode_utf16(&mut pair).len(),
                None => {
                    pair[0] = point as u16;
                    1
                }
            };
            pair.into_iter().take(count)
        })
    }

    /// Append another text, as `+` does.
    pub fn push_text(&mut self, more: &Text) {
        for part in more.parts() {
            match part {
                Part::Plain(text) => self.push_str(text),
                Part::Lone(surrogate) => self.push_point(u32::from(surrogate)),
            }
        }
    }

    /// A stretch of what another text keeps, cut where there is ASCII on both sides.
    pub(super) fn of_stretch(bytes: &[u8]) -> Text {
        Text(bytes.to_vec())
    }

    pub fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Append one code point; a low surrogate after a high one joins it to the character they mean.
    pub(super) fn push_point(&mut self, point: u32) {
        if let (0xDC00..=0xDFFF, [.., 0xED, second @ 0xA0..=0xAF, third]) = (point, self.0.as_slice()) {
            let high = 0xD000 | (u32::from(*second & 0x3F) << 6) | u32::from(*third & 0x3F);
            let joined = 0x10000 + ((high - 0xD800) << 10) + (point - 0xDC00);
            self.0.truncate(self.0.len() - 3);
            return self.push_point(joined);
        }
        match char::from_u32(point) {
            Some(c) => self.0.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            None => self.0.extend_from_slice(&[
                0xE0 | (point >> 12) as u8,
                0x80 | (point >> 6 & 0x3F) as u8,
                0x80 | (point & 0x3F) as u8,
            ]),
        }
    }

    /// The code points, a lone surrogate as its own number.
    pub(super) fn points(&self) -> impl Iterator<Item = u32> + '_ {
        self.parts().flat_map(|part| {
            let (plain, lone) = match part {
                Part::Plain(text) => (text, None),
                Part::Lone(surrogate) => ("", Some(u32::from(surrogate))),
            };
            plain.chars().map(u32::from).chain(lone)
        })
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let mut rest = self.0.as_slice();
        std::iter::from_fn(move || {
            let plain = rest.utf8_chunks().next()?.valid();
            if !plain.is_empty() {
                rest = &rest[plain.len()..];
                return Some(Part::Plain(plain));
            }
            let (lone, after) = rest.split_at(3);
            rest = after;
            Some(Part::Lone(0xD000 | u16::from(lone[1] & 0x3F) << 6 | u16::from(lone[2] & 0x3F)))
        })
    }

    /// The bytes that are kept. Equal texts have equal ones; their order means nothing to JavaScript.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

fn units_of(point: u32) -> usize {
    1 + usize::from(point > 0xFFFF)
}

fn bytes_of(point: u32) -> usize {
    char::from_u32(point).map_or(3, char::len_utf8)
}

/// Whether `String.prototype.trim` and `\s` take a character for white space: Unicode's, without NEL and with the
/// byte-order mark.
pub fn is_white_space(character: char) -> bool {
    match character {
        '\u{85}' => false,
        '\u{FEFF}' => true,
        _ => character.is_whitespace(),
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text(text.as_bytes().to_vec())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Text(text.into_bytes())
    }
}

impl FromIterator<u16> for Text {
    /// The text of these UTF-16 code units, lone surrogates included.
    fn from_iter<T: IntoIterator<Item = u16>>(units: T) -> Self {
        let mut text = Text::default();
        for unit in units {
            text.push_point(u32::from(unit));
        }
        text
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string_lossy(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_string_lossy())
    }
}
