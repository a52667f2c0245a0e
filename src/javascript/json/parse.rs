//! `JSON.parse`, over a text or over bytes that are decoded as UTF-8 with replacement first.

use super::{Object, Value};
use crate::javascript::text::Text;

/// Why a text is no JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} at position {position}")]
pub struct SyntaxError {
    what: &'static str,
    /// Byte offset in the decoded text.
    position: usize,
}

/// Nesting beyond so many arrays and objects is refused: `JSON.parse` would take it, no record of ours or the harness's comes near it.
const MAX_DEPTH: usize = 512;

/// Parse a whole text as `JSON.parse` does.
///
/// Of two equal keys the first gives the place and the last the value; lone surrogate escapes are accepted; a
/// byte-order mark is an error.
///
/// # Errors
/// [`SyntaxError`] with the position; also for nesting deeper than 512.
pub fn parse(bytes: &[u8]) -> Result<Value, SyntaxError> {
    // Looked at as a whole first: most texts need no replacement, and that is found out fastest.
    match std::str::from_utf8(bytes) {
        Ok(text) => Parser { text: text.as_bytes(), at: 0 }.whole(),
        Err(_) => Parser { text: String::from_utf8_lossy(bytes).as_bytes(), at: 0 }.whole(),
    }
}

/// [`parse`] for a JavaScript string; lone surrogates that stand in it survive.
///
/// # Errors
/// As [`parse`].
pub fn parse_text(text: &Text) -> Result<Value, SyntaxError> {
    Parser { text: text.as_bytes(), at: 0 }.whole()
}

struct Parser<'a> {
    /// As a [`Text`] keeps it.
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn whole(mut self) -> Result<Value, SyntaxError> {
        let value = self.value(0)?;
        self.blanks();
        if self.at < self.text.len() {
            return self.fail("unexpected text after the value");
        }
        Ok(value)
    }

    fn value(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        self.blanks();
        match self.peek() {
            Some(b'{' | b'[') if depth == MAX_DEPTH => self.fail("nested too deeply"),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        self.at += 1;
        let mut members = Vec::with_capacity(8);
        self.blanks();
        if self.took(b'}') {
            return Ok(Value::Object(Object::new()));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return self.fail("expected a member name");
            }
            let key = self.string()?;
            self.blanks();
            if !self.took(b':') {
                return self.fail("expected ':'");
            }
            members.push((key, self.value(depth + 1)?));
            self.blanks();
            if self.took(b'}') {
                return Ok(Value::Object(members.into_iter().collect()));
            }
            if !self.took(b',') {
                return self.fail("expected ',' or '}'");
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.took(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blanks();
            if self.took(b']') {
                return Ok(Value::Array(items));
            }
            if !self.took(b',') {
                return self.fail("expected ',' or ']'");
            }
        }
    }

    fn string(&mut self) -> Result<Text, SyntaxError> {
        self.at += 1;
        let mut text = self.plain();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    self.at += 1;
                    let point = self.escape()?;
                    text.push_point(point);
                    text.push_text(&self.plain());
                }
                Some(_) => return self.fail("control character in a string"),
                None => return self.fail("unterminated string"),
            }
        }
    }

    /// The stretch of a string up to what is special in it.
    fn plain(&mut self) -> Text {
        let rest = self.rest();
        let length = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1F)).count();
        let text = Text::of_stretch(&rest[..length]);
        self.at += length;
        text
    }

    fn escape(&mut self) -> Result<u32, SyntaxError> {
        let plain = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => u32::from(byte),
            Some(b'b') => 0x08,
            Some(b'f') => 0x0C,
            Some(b'n') => 0x0A,
            Some(b'r') => 0x0D,
            Some(b't') => 0x09,
            Some(b'u') => return self.unicode_escape(),
            _ => return self.fail("bad escape"),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode_escape(&mut self) -> Result<u32, SyntaxError> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.fail("bad unicode escape");
            };
            unit = unit << 4 | digit;
            self.at += 1;
        }
        Ok(unit)
    }

    fn number(&mut self) -> Result<Value, SyntaxError> {
        let start = self.at;
        self.took(b'-');
        if !self.took(b'0') && self.digits() == 0 {
            return self.fail("expected a digit");
        }
        if self.took(b'.') && self.digits() == 0 {
            return self.fail("expected a digit");
        }
        if self.took(b'e') || self.took(b'E') {
            let _sign = self.took(b'+') || self.took(b'-');
            if self.digits() == 0 {
                return self.fail("expected a digit");
            }
        }
        // Rust and ECMAScript both round to the nearest double; 1e400 is Infinity in both.
        let digits = std::str::from_utf8(&self.text[start..self.at]).ok();
        match digits.and_then(|digits| digits.parse().ok()) {
            Some(number) => Ok(Value::Number(number)),
            None => self.fail("bad number"),
        }
    }

    fn word(&mut self) -> Result<Value, SyntaxError> {
        for (word, value) in
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))]
        {
            if self.rest().starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.fail("expected a value")
    }

    fn digits(&mut self) -> usize {
        let count = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        count
    }

    fn blanks(&mut self) {
        self.at += self.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    fn rest(&self) -> &[u8] {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn took(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn fail<T>(&self, what: &'static str) -> Result<T, SyntaxError> {
        Err(SyntaxError { what, position: self.at })
    }
}
