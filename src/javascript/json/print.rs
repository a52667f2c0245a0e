//! `JSON.stringify`, the two-space pretty form, the canonical form and its SHA-256.

use sha2::{Digest, Sha256};

use super::Value;
use crate::javascript::collate;
use crate::javascript::text::{Part, Text};

/// `JSON.stringify(value)`: no blanks, numbers as JavaScript prints them, lone surrogates escaped.
pub fn stringify(value: &Value) -> String {
    // Room for a usual record.
    let mut out = String::with_capacity(512);
    write(&mut out, value, None);
    out
}

/// `JSON.stringify` of a string, at the end of a text.
pub fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    escape(out, text);
    out.push('"');
}

/// `JSON.stringify(value, null, 2)`.
pub fn pretty(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, Some(0));
    out
}

/// Canonical text: array-index keys ascending, then the other keys in `localeCompare` order, at every depth.
pub fn canonical(value: &Value) -> String {
    stringify(&sorted(value))
}

/// Lower-case hexadecimal SHA-256 of the canonical text in UTF-8.
pub fn digest(value: &Value) -> String {
    sha256_hex(canonical(value).as_bytes())
}

/// A number as JavaScript prints it: `String(number)`.
pub fn number(value: f64) -> String {
    ryu_js::Buffer::new().format(value).to_owned()
}

/// Lower-case hexadecimal SHA-256 of bytes.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_by(|(a, _), (b, _)| collate::compare_text(a, b));
            let members: Vec<_> =
                members.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            // Building the object moves the array indices to the front, as it does in JavaScript.
            Value::Object(members.into_iter().collect())
        }
        plain => plain.clone(),
    }
}

fn write(out: &mut String, value: &Value, indent: Option<usize>) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(value) if !value.is_finite() => out.push_str("null"),
        Value::Number(value) => out.push_str(&number(*value)),
        Value::String(text) => quote(out, text),
        Value::Array(items) => {
            list(out, indent, ('[', ']'), items.iter(), write);
        }
        Value::Object(object) => list(out, indent, ('{', '}'), object.iter(), |out, (key, value), indent| {
            quote(out, key);
            out.push_str(if indent.is_some() { ": " } else { ":" });
            write(out, value, indent);
        }),
    }
}

fn list<T>(
    out: &mut String,
    indent: Option<usize>,
    (open, close): (char, char),
    items: impl ExactSizeIterator<Item = T>,
    item: impl Fn(&mut String, T, Option<usize>),
) {
    let inner = indent.map(|depth| depth + 1);
    let empty = items.len() == 0;
    out.push(open);
    for (place, each) in items.enumerate() {
        if place > 0 {
            out.push(',');
        }
        line(out, inner);
        item(out, each, inner);
    }
    if !empty {
        line(out, indent);
    }
    out.push(close);
}

fn line(out: &mut String, indent: Option<usize>) {
    if let Some(depth) = indent {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    }
}

fn quote(out: &mut String, text: &Text) {
    out.push('"');
    if let Some(plain) = text.to_str() {
        escape(out, plain);
    } else {
        for part in text.parts() {
            match part {
                Part::Plain(plain) => escape(out, plain),
                Part::Lone(surrogate) => out.push_str(&format!("\\u{surrogate:04x}")),
            }
        }
    }
    out.push('"');
}

fn escape(out: &mut String, mut rest: &str) {
    while let Some(place) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F)) {
        let (plain, special) = rest.split_at(place);
        out.push_str(plain);
        match special.as_bytes()[0] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x0C => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => out.push_str(&format!("\\u{control:04x}")),
        }
        rest = &special[1..];
    }
    out.push_str(rest);
}
