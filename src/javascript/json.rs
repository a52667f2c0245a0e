//! JSON as `JSON.parse` reads it and `JSON.stringify` writes it, the canonical form, and its digest.

mod check;
mod outline;
mod parse;
mod print;

use super::text::Text;

pub use check::is_json;
pub use outline::{outline, plain_string, Span};
pub use parse::{parse, parse_text, SyntaxError};
pub use print::{canonical, digest, number, pretty, push_quoted, sha256_hex, stringify};

/// A value as `JSON.parse` gives it. Numbers are JavaScript's doubles; objects keep JavaScript's key order.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(f64),
    String(Text),
    Array(Vec<Value>),
    Object(Object),
}

impl Value {
    pub fn as_object(&self) -> Option<&Object> {
        if let Value::Object(object) = self {
            Some(object)
        } else {
            None
        }
    }

    pub fn as_array(&self) -> Option<&[Value]> {
        if let Value::Array(items) = self {
            Some(items)
        } else {
            None
        }
    }

    pub fn as_text(&self) -> Option<&Text> {
        if let Value::String(text) = self {
            Some(text)
        } else {
            None
        }
    }

    /// The string as UTF-8; `None` for another type or for text with a lone surrogate.
    pub fn as_str(&self) -> Option<&str> {
        self.as_text().and_then(Text::to_str)
    }

    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = self {
            Some(*value)
        } else {
            None
        }
    }

    pub fn as_number(&self) -> Option<f64> {
        if let Value::Number(value) = self {
            Some(*value)
        } else {
            None
        }
    }

    /// The number where `Number.isSafeInteger` holds (`5.0` and `1e3` are integers).
    pub fn as_safe_integer(&self) -> Option<i64> {
        self.as_number().and_then(safe_integer)
    }
}

/// The integer that a double stands for, where `Number.isSafeInteger` holds.
pub fn safe_integer(value: f64) -> Option<i64> {
    const LIMIT: f64 = 9_007_199_254_740_991.0;
    (value.trunc() == value && value.abs() <= LIMIT).then_some(value as i64)
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Number(number as f64)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Value::Object(object)
    }
}

/// An object in JavaScript's own key order: array indices first, ascending, then the others as they were added.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object {
    members: Vec<(Text, Value)>,
}
impl Object {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.members.iter().find(|(name, _)| *name == *key).map(|(_, value)| value)
    }

    /// Assign a member as JavaScript does: an existing key keeps its place, a new one goes to the end (an array
    /// index to its place among the indices).
    pub fn set(&mut self, key: impl Into<Text>, value: impl Into<Value>) {
        let (key, value) = (key.into(), value.into());
        if let Some((_, old)) = self.members.iter_mut().find(|(name, _)| *name == key) {
            *old = value;
            return;
        }
        let place = match array_index(&key) {
            None => self.members.len(),
            Some(index) => {
                self.members.partition_point(|(name, _)| array_index(name).is_some_and(|i| i < index))
            }
        };
        self.members.insert(place, (key, value));
    }

    /// The same object with one more member; absent values leave it out, as `undefined` members are.
    #[must_use]
    pub fn with(mut self, key: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.set(key, value);
        }
        self
    }

    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let place = self.members.iter().position(|(name, _)| *name == *key)?;
        Some(self.members.remove(place).1)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Text, &Value)> {
        self.members.iter().map(|(key, value)| (key, value))
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

impl FromIterator<(Text, Value)> for Object {
    /// What assigning the members one after the other gives, in time that does not grow with their square.
    fn from_iter<T: IntoIterator<Item = (Text, Value)>>(members: T) -> Self {
        let members: Vec<(Text, Value)> = members.into_iter().collect();
        if is_plain(&members) {
            return Object { members };
        }
        assigned(members)
    }
}

/// An object of any members.
fn assigned(members: Vec<(Text, Value)>) -> Object {
    let mut members: Vec<(Text, Option<Value>)> =
        members.into_iter().map(|(key, value)| (key, Some(value))).collect();
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by(|a, b| members[*a].0.as_bytes().cmp(members[*b].0.as_bytes()));
    // Of equal keys, which the stable sort left in their order, the first gives the place, the last the value.
    let repeated: Vec<Vec<usize>> = order
        .chunk_by(|a, b| members[*a].0 == members[*b].0)
        .filter(|equal| equal.len() > 1)
        .map(<[usize]>::to_vec)
        .collect();
    for equal in repeated {
        let last = equal.iter().filter_map(|place| members[*place].1.take()).last();
        members[equal[0]].1 = last;
    }
    let mut members: Vec<_> = members.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    members.sort_by_key(|(key, _)| array_index(key).unwrap_or(u32::MAX));
    Object { members }
}

/// Whether a short list of members is an object as it stands: no key twice, none that is an array index.
fn is_plain(members: &[(Text, Value)]) -> bool {
    const SHORT: usize = 32;
    members.len() <= SHORT
        && members.iter().enumerate().all(|(place, (key, _))| {
            !key.as_bytes().first().is_some_and(u8::is_ascii_digit)
                && members[..place].iter().all(|(earlier, _)| earlier != key)
        })
}

/// The number of an array-index key (`"0"` to `"4294967294"`), which JavaScript orders before all others.
pub(super) fn array_index(key: &Text) -> Option<u32> {
    let text = key.to_str()?;
    let canonical = text == "0" || (text.len() <= 10 && text.starts_with(|c: char| ('1'..='9').contains(&c)));
    text.parse::<u32>().ok().filter(|index| canonical && *index != u32::MAX)
}
