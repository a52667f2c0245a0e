//! A vendor's result envelope: one JSON object on stdout, read as the harness's JavaScript reads it.

use super::evidence::Refusal;
use crate::javascript::json::{self, number, Value};
use crate::javascript::text::Text;

/// What stdout holds when it is JSON: any value but `null`, which has no members to read.
pub(super) struct Envelope(Value);

impl Envelope {
    /// `None` when stdout is no JSON, or `null`.
    pub(super) fn read(stdout: &Text) -> Option<Envelope> {
        json::parse_text(stdout).ok().filter(|value| *value != Value::Null).map(Envelope)
    }

    fn member(&self, name: &str) -> Option<&Value> {
        self.0.as_object()?.get(name).filter(|value| **value != Value::Null)
    }

    /// A member as `String(member)`; `None` when it is missing or `null`.
    pub(super) fn string(&self, name: &str) -> Option<Text> {
        self.member(name).map(string_of)
    }

    /// A member that is a string; a session id of another type is none.
    pub(super) fn text(&self, name: &str) -> Option<Text> {
        self.member(name).and_then(Value::as_text).cloned()
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.member(name).and_then(Value::as_number).filter(|number| number.is_finite())
    }

    /// `Boolean(is_error)`.
    pub(super) fn is_error(&self) -> bool {
        match self.member("is_error") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(value)) => *value,
            Some(Value::Number(number)) => *number != 0.0,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(_) | Value::Object(_)) => true,
        }
    }

    /// `errors` joined by `; `; empty when it is no list.
    pub(super) fn errors(&self) -> Text {
        let errors = self.member("errors").and_then(Value::as_array).unwrap_or_default();
        joined(errors, "; ")
    }

    /// The answer that a failed run's envelope still carries.
    pub(super) fn answer(&self) -> Option<Text> {
        self.text("result").filter(|result| !result.is_empty())
    }

    /// The refusal that Claude documents.
    pub(super) fn refusal(&self) -> Refusal {
        match self.text("stop_reason") {
            Some(reason) if reason == "refusal" => Refusal::Refused { reference: "stop_reason:refusal" },
            _ => Refusal::Unknown,
        }
    }
}

/// `String(value)`.
fn string_of(value: &Value) -> Text {
    match value {
        Value::Null => "null".into(),
        Value::Bool(value) => value.to_string().into(),
        Value::Number(value) => number(*value).into(),
        Value::String(text) => text.clone(),
        Value::Array(items) => joined(items, ","),
        Value::Object(_) => "[object Object]".into(),
    }
}

/// `items.join(separator)`: `null` leaves nothing between its separators.
fn joined(items: &[Value], separator: &str) -> Text {
    let mut text = Text::default();
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            text.push_str(separator);
        }
        if *item != Value::Null {
            text.push_text(&string_of(item));
        }
    }
    text
}
