//! Whether a text is JSON, without keeping anything of it.

/// Whether `JSON.parse` accepts these bytes once they are decoded as UTF-8 with replacement, at whatever depth.
pub fn is_json(bytes: &[u8]) -> bool {
    let mut text = Cursor::new(bytes);
    text.blanks();
    if skip_value(&mut text, &mut Vec::new(), usize::MAX).is_none() {
        return false;
    }
    text.blanks();
    text.is_at_end()
}

/// Go to the end of the value that begins here; `None` when there is none, or one that is nested deeper than
/// `max_depth`. A byte that is no character of JSON's own is looked at inside of strings alone, where its replacement is
/// as good as any character.
///
/// `inside_object` says what the value is in, innermost last: an object, or else an array. It is empty before and after.
pub(super) fn skip_value(
    text: &mut Cursor<'_>,
    inside_object: &mut Vec<bool>,
    max_depth: usize,
) -> Option<()> {
    loop {
        match text.next()? {
            b'{' => {
                text.blanks();
                if text.took(b'}').is_none() {
                    text.member_name()?;
                    inside_object.push(true);
                    if inside_object.len() > max_depth {
                        return None;
                    }
                    continue;
                }
            }
            b'[' => {
                text.blanks();
                if text.took(b']').is_none() {
                    inside_object.push(false);
                    if inside_object.len() > max_depth {
                        return None;
                    }
                    continue;
                }
            }
            b'"' => text.rest_of_string()?,
            first @ (b'-' | b'0'..=b'9') => text.rest_of_number(first)?,
            b't' => text.word(b"rue")?,
            b'f' => text.word(b"alse")?,
            b'n' => text.word(b"ull")?,
            _ => return None,
        }
        // A value has ended: so may what it is in.
        loop {
            let Some(object) = inside_object.last().copied() else { return Some(()) };
            text.blanks();
            match (text.next()?, object) {
                (b',', true) => {
                    text.blanks();
                    text.member_name()?;
                    break;
                }
                (b',', false) => {
                    text.blanks();
                    break;
                }
                (b'}', true) | (b']', false) => inside_object.pop(),
                _ => return None,
            };
        }
    }
}

pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        byte
    }

    pub(super) fn took(&mut self, byte: u8) -> Option<()> {
        (self.bytes.get(self.at) == Some(&byte)).then(|| self.at += 1)
    }

    fn word(&mut self, rest: &[u8]) -> Option<()> {
        self.bytes[self.at..].starts_with(rest).then(|| self.at += rest.len())
    }

    pub(super) fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn member_name(&mut self) -> Option<()> {
        self.took(b'"')?;
        self.rest_of_string()?;
        self.blanks();
        self.took(b':')?;
        self.blanks();
        Some(())
    }

    /// Go to the next byte that means something in a string.
    pub(super) fn plain(&mut self) {
        self.at += plain_bytes(&self.bytes[self.at..]);
    }

    fn rest_of_string(&mut self) -> Option<()> {
        loop {
            self.plain();
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => match self.next()? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    b'u' => {
                        let digits = self.bytes.get(self.at..self.at + 4)?;
                        digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
                        self.at += 4;
                    }
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    fn rest_of_number(&mut self, first: u8) -> Option<()> {
        let leading = if first == b'-' { self.next()? } else { first };
        match leading {
            b'0' => {}
            b'1'..=b'9' => self.digits(),
            _ => return None,
        }
        if self.took(b'.').is_some() {
            self.one_digit()?;
            self.digits();
        }
        if self.took(b'e').or_else(|| self.took(b'E')).is_some() {
            let _sign = self.took(b'+').or_else(|| self.took(b'-'));
            self.one_digit()?;
            self.digits();
        }
        Some(())
    }

    fn one_digit(&mut self) -> Option<()> {
        self.next()?.is_ascii_digit().then_some(())
    }

    fn digits(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }
}

/// How many bytes stand before the first that means something in a string: `"`, `\`, a control character.
fn plain_bytes(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 0xFF;
    const HIGHS: u64 = ONES << 7;
    let mut plain = 0;
    for chunk in bytes.chunks_exact(8) {
        let word = u64::from_le_bytes(chunk.try_into().expect("eight bytes"));
        let zero_where = |byte: u8| word ^ (ONES * u64::from(byte));
        let has_zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
        let controls = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        // Only the lowest marked byte is exact, and that is the one that counts.
        let special = has_zero(zero_where(b'"')) | has_zero(zero_where(b'\\')) | controls;
        if special != 0 {
            return plain + special.trailing_zeros() as usize / 8;
        }
        plain += 8;
    }
    plain + bytes[plain..].iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1F)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::javascript::json::parse;
    use proptest::prelude::*;

    #[test]
    fn it_says_what_the_parser_says() {
        for text in [
            "1",
            "-0",
            "01",
            "-",
            "1.",
            "1.5e+3",
            "1e",
            ".5",
            "+1",
            "0x1",
            "1 2",
            "true",
            "tru",
            "nul",
            "null ",
            "",
            " ",
            "{}",
            "{ }",
            "[]",
            "[ ]",
            "[1,]",
            "[,1]",
            "[1,2]",
            "[1 2]",
            "{\"a\":1}",
            "{\"a\":1,}",
            "{\"a\" : [ ] }",
            "{\"a\"}",
            "{a:1}",
            "{\"a\":1]",
            "[}",
            "[",
            "{",
            "\"",
            "\"a",
            "\"a\"",
            "\"\\u12\"",
            "\"\\u12aF\"",
            "\"\\ud800\"",
            "\"\\x\"",
            "\"\\\"\"",
            "\"tab\tin it\"",
            "\"0123456789\\n0123456789\"",
            "\"long enough\u{1}\"",
            "\u{feff}1",
            "\u{a0}1",
            "\"\u{2028}\"",
            "[[[[1]]]]",
            "[[[[1]]]",
            "\"a\"b",
            "{\"a\":{\"b\":[1,{\"c\":null}]}}",
        ] {
            assert_eq!(is_json(text.as_bytes()), parse(text.as_bytes()).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn no_depth_is_too_deep() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(is_json(deep.as_bytes()));
    }

    #[test]
    fn a_byte_that_is_no_utf_8_counts_as_a_character() {
        assert!(is_json(b"\"\xff\xc3\""));
        assert!(!is_json(b"\xff"));
        assert!(!is_json(b"[1\xc2]"));
    }

    proptest! {
        #[test]
        fn it_says_what_the_parser_says_of_anything(text in r#"[\[\]{}",:0-9.eE+\-\\ utrfalsn/\t\u{e9}]{0,24}"#) {
            prop_assert_eq!(is_json(text.as_bytes()), parse(text.as_bytes()).is_ok());
        }

        #[test]
        fn plain_bytes_are_counted_one_by_one(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let slow = bytes.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1F)).count();
            prop_assert_eq!(plain_bytes(&bytes), slow);
        }
    }
}
