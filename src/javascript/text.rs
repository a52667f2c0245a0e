//! A JavaScript string: Unicode text that may hold lone surrogates.
//!
//! Kept as WTF-8 (UTF-8 that may also encode a lone surrogate), so ordinary text costs nothing extra.

use std::borrow::Cow;
use std::fmt;

/// A JavaScript string. Ordinary text is plain UTF-8; a lone surrogate survives reading and writing back.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Text(Vec<u8>);

impl Text {
    /// The text as `&str`; `None` when it holds a lone surrogate.
    pub fn to_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The text as JavaScript turns it into UTF-8: a lone surrogate becomes U+FFFD.
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        match self.to_str() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(char::decode_utf16(self.units()).map(|c| c.unwrap_or('\u{FFFD}')).collect()),
        }
    }

    /// `String.prototype.length`: UTF-16 code units.
    pub fn length(&self) -> usize {
        match self.to_str() {
            Some(text) => text.encode_utf16().count(),
            None => self.units().count(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The UTF-16 code units, lone surrogates included.
    pub fn units(&self) -> impl Iterator<Item = u16> + '_ {
        self.points().flat_map(|point| {
            let high = point.checked_sub(0x10000).map(|v| 0xD800 + (v >> 10) as u16);
            let low = if high.is_some() { 0xDC00 + (point & 0x3FF) as u16 } else { point as u16 };
            high.into_iter().chain(std::iter::once(low))
        })
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

    pub(super) fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// The code points, a lone surrogate as its own number.
    pub(super) fn points(&self) -> impl Iterator<Item = u32> + '_ {
        let mut rest = self.0.as_slice();
        std::iter::from_fn(move || {
            let (&first, _) = rest.split_first()?;
            let size = match first {
                0..=0x7F => 1,
                0xC0..=0xDF => 2,
                0xE0..=0xEF => 3,
                _ => 4,
            };
            let (point, after) = rest.split_at(size);
            rest = after;
            let lead = if size == 1 { u32::from(first) } else { u32::from(first) & (0x7F >> size) };
            Some(point[1..].iter().fold(lead, |value, byte| value << 6 | u32::from(byte & 0x3F)))
        })
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
