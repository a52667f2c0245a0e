//! `JSON.parse` over bytes that are decoded as UTF-8 with replacement first.

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
    let text = String::from_utf8_lossy(bytes);
    let mut parser = Parser { text: &text, at: 0 };
    let value = parser.value(0)?;
    parser.blanks();
    if parser.at < text.len() {
        return parser.fail("unexpected text after the value");
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
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
        let mut members = Vec::new();
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
        let mut text = Text::default();
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1F)).count();
            text.push_str(&self.text[self.at..self.at + plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    self.at += 1;
                    let point = self.escape()?;
                    text.push_point(point);
                }
                Some(_) => return self.fail("control character in a string"),
                None => return self.fail("unterminated string"),
            }
        }
    }

    fn escape(&mut self) -> Result<u32, SyntaxError> {
        let plain = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => u32::from(byte),
            Some(b'b') => 0x08,
            Some(b'f') => 0x0C,
            Some(b'n') => 0x0A,
            Some(b'r') => 0x0D,
            Some(b't') => 0x09,
            Some(b'u') => {
                let digits = self.text.as_bytes().get(self.at + 1..self.at + 5);
                let Some(digits) = digits.filter(|d| d.iter().all(u8::is_ascii_hexdigit)) else {
                    return self.fail("bad unicode escape");
                };
                self.at += 5;
                return Ok(digits
                    .iter()
                    .fold(0, |value, d| value << 4 | (*d as char).to_digit(16).unwrap_or(0)));
            }
            _ => return self.fail("bad escape"),
        };
        self.at += 1;
        Ok(plain)
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
        self.text[start..self.at].parse().map(Value::Number).or_else(|_| self.fail("bad number"))
    }

    fn word(&mut self) -> Result<Value, SyntaxError> {
        for (word, value) in
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))]
        {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.fail("expected a value")
    }

    fn digits(&mut self) -> usize {
        let count = self.text.as_bytes()[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        count
    }

    fn blanks(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
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
