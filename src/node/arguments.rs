//! What the caller gave, read before anything happens. Whatever does not fit is refused by name.

use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use napi::{Result, ValueType};

use super::call::Callback;
use super::errors::{raise, Failure};
use super::value::{Js, Scope};
use crate::javascript::json::safe_integer;
use crate::javascript::text::Text;
use crate::process::Pid;

/// A value with the name that errors call it by.
#[derive(Clone)]
pub(super) struct Argument<'env> {
    value: Js<'env>,
    /// What the value is a member of; `undefined` for a plain argument.
    owner: Option<Js<'env>>,
    name: Name,
}

/// A name that is put together only when something is wrong with what it names.
#[derive(Clone)]
enum Name {
    Plain(&'static str),
    Member(Rc<Name>, &'static str),
    Element(Rc<Name>, u32),
    /// Of a record, whose keys are the caller's.
    Entry(Rc<Name>, Rc<str>),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Plain(name) => f.write_str(name),
            Name::Member(owner, name) => write!(f, "{owner}.{name}"),
            Name::Element(array, index) => write!(f, "{array}[{index}]"),
            Name::Entry(record, key) => write!(f, "{record}[\"{key}\"]"),
        }
    }
}

impl<'env> Argument<'env> {
    pub(super) fn new(value: Js<'env>, name: &'static str) -> Self {
        Argument { value, owner: None, name: Name::Plain(name) }
    }

    pub(super) fn scope(&self) -> Scope<'env> {
        self.value.scope()
    }

    pub(super) fn value(&self) -> Js<'env> {
        self.value
    }

    /// `None` for `undefined`, which is what a missing argument is.
    pub(super) fn optional(self) -> Option<Self> {
        (!self.value.is_undefined()).then_some(self)
    }

    pub(super) fn string(self) -> Result<String> {
        self.value.as_string().ok_or_else(|| self.wrong_type("a string"))
    }

    /// A string with whatever it holds, lone surrogates included.
    pub(super) fn text(self) -> Result<Text> {
        self.value.as_text().ok_or_else(|| self.wrong_type("a string"))
    }

    /// A path: a string without NUL.
    pub(super) fn path(self) -> Result<PathBuf> {
        match self.value.as_string() {
            None => Err(self.wrong_type("a string")),
            Some(path) if path.contains('\0') => Err(self.wrong_value("must be a path without null bytes")),
            Some(path) => Ok(PathBuf::from(path)),
        }
    }

    /// One of these words.
    pub(super) fn word<T: Copy>(self, words: &[(&str, T)]) -> Result<T> {
        let given = self.value.as_string().ok_or_else(|| self.wrong_type("a string"))?;
        words.iter().find(|(word, _)| *word == given).map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            self.wrong_value(&format!("must be {}, not \"{given}\"", words.join(" or ")))
        })
    }

    pub(super) fn boolean(self) -> Result<bool> {
        self.value.as_boolean().ok_or_else(|| self.wrong_type("a boolean"))
    }

    /// Any number, NaN and infinities included: the core judges it.
    pub(super) fn number(self) -> Result<f64> {
        self.value.as_number().ok_or_else(|| self.wrong_type("a number"))
    }

    pub(super) fn safe_integer(self) -> Result<i64> {
        let number = self.clone().number()?;
        safe_integer(number).ok_or_else(|| self.out_of_range("a safe integer", number))
    }

    /// A process id; `None` for a number that can be no process's (0, negative, fractional, above 2³¹ − 1).
    pub(super) fn pid(self) -> Result<Option<Pid>> {
        Ok(safe_integer(self.number()?).and_then(Pid::new))
    }

    /// A TCP port, 1 to 65535.
    pub(super) fn port(self) -> Result<u16> {
        let number = self.clone().number()?;
        safe_integer(number)
            .and_then(|port| u16::try_from(port).ok())
            .filter(|port| *port > 0)
            .ok_or_else(|| self.out_of_range("a port from 1 to 65535", number))
    }

    /// A duration in milliseconds: a finite number from 0 to 2⁵³ − 1.
    pub(super) fn milliseconds(self) -> Result<Duration> {
        const LIMIT: f64 = 9_007_199_254_740_991.0;
        let number = self.clone().number()?;
        if !(0.0..=LIMIT).contains(&number) {
            return Err(self.out_of_range("a number of milliseconds, 0 or more", number));
        }
        Ok(Duration::from_secs_f64(number / 1000.0))
    }

    /// The time of a valid `Date`, in milliseconds since the epoch.
    pub(super) fn date(self) -> Result<f64> {
        match self.value.as_date() {
            None => Err(self.wrong_type("a Date")),
            Some(time) if time.is_nan() => Err(self.wrong_value("must be a valid Date")),
            Some(time) => Ok(time),
        }
    }

    /// A function, to be called with the object that it is a member of as `this`.
    pub(super) fn function(self) -> Result<Callback<'env>> {
        if self.value.kind() != ValueType::Function {
            return Err(self.wrong_type("a function"));
        }
        let this = self.owner.map_or_else(|| self.scope().undefined(), Ok)?;
        Ok(Callback::new(self.value, this))
    }

    /// Something with members.
    pub(super) fn object(self) -> Result<Members<'env>> {
        if !self.value.is_object() {
            return Err(self.wrong_type("an object"));
        }
        Ok(Members { object: self.value, given: true, name: Rc::new(self.name) })
    }

    /// What a function of the caller's answered. A promise is refused where it would be taken for the answer.
    pub(super) fn synchronous(self) -> Result<Self> {
        if self.value.is_object() && self.value.get("then")?.is_function() {
            let message =
                format!("{} must be synchronous: nothing waits for the promise that it returned", self.name);
            return Err(raise(self.scope(), Failure::WrongType(message)));
        }
        Ok(self)
    }

    /// Options that may be left out as a whole.
    pub(super) fn options(self) -> Result<Members<'env>> {
        if self.value.is_undefined() {
            return Ok(Members { object: self.value, given: false, name: Rc::new(self.name) });
        }
        self.object()
    }

    /// An array, each element by `read`.
    pub(super) fn array<T>(self, read: impl Fn(Argument<'env>) -> Result<T>) -> Result<Vec<T>> {
        if !self.value.is_array() {
            return Err(self.wrong_type("an array"));
        }
        let name = Rc::new(self.name);
        let element = |index| {
            let value = self.value.get_index(index)?;
            read(Argument { value, owner: Some(self.value), name: Name::Element(Rc::clone(&name), index) })
        };
        (0..self.value.length()?).map(element).collect()
    }

    /// `null`, or what `read` makes of it.
    pub(super) fn or_null<T>(self, read: impl FnOnce(Argument<'env>) -> Result<T>) -> Result<Option<T>> {
        if self.value.is_null() {
            return Ok(None);
        }
        read(self).map(Some)
    }

    pub(super) fn wrong_type(&self, wanted: &str) -> napi::Error {
        let message = format!("{} must be {wanted}, not {}", self.name, kind_name(self.value));
        raise(self.scope(), Failure::WrongType(message))
    }

    pub(super) fn wrong_value(&self, complaint: &str) -> napi::Error {
        raise(self.scope(), Failure::WrongValue(format!("{} {complaint}", self.name)))
    }

    pub(super) fn out_of_range(&self, wanted: &str, given: f64) -> napi::Error {
        let message = format!("{} must be {wanted}, not {given}", self.name);
        raise(self.scope(), Failure::OutOfRange(message))
    }
}

/// The members of an object that the caller gave, or of options that were left out.
#[derive(Clone)]
pub(super) struct Members<'env> {
    /// `undefined` when it was not given.
    object: Js<'env>,
    given: bool,
    name: Rc<Name>,
}

impl<'env> Members<'env> {
    /// A member that may be missing or `undefined`. Reading it runs getters; what they throw leaves the call.
    pub(super) fn optional<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(Argument<'env>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.member(name)?.optional().map(read).transpose()
    }

    pub(super) fn required<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(Argument<'env>) -> Result<T>,
    ) -> Result<T> {
        read(self.member(name)?)
    }

    /// The own members of a record, in JavaScript's order, each value by `read`.
    pub(super) fn entries<T>(&self, read: impl Fn(Argument<'env>) -> Result<T>) -> Result<Vec<(String, T)>> {
        let keys = if self.given { self.object.keys()? } else { Vec::new() };
        let entry = |key: Js<'env>| {
            let name = key.as_string().unwrap_or_default();
            let value = self.object.get_key(key)?;
            let entry = Name::Entry(Rc::clone(&self.name), name.as_str().into());
            Ok((name, read(Argument { value, owner: Some(self.object), name: entry })?))
        };
        keys.into_iter().map(entry).collect()
    }

    fn member(&self, name: &'static str) -> Result<Argument<'env>> {
        // Of options that were left out, every member is as undefined as they are.
        let value = if self.given { self.object.get(name)? } else { self.object };
        Ok(Argument { value, owner: Some(self.object), name: Name::Member(Rc::clone(&self.name), name) })
    }
}

fn kind_name(value: Js<'_>) -> &'static str {
    match value.kind() {
        ValueType::Undefined => "undefined",
        ValueType::Null => "null",
        ValueType::Boolean => "a boolean",
        ValueType::Number => "a number",
        ValueType::String => "a string",
        ValueType::Symbol => "a symbol",
        ValueType::Function => "a function",
        ValueType::Object if value.is_array() => "an array",
        ValueType::Object if value.is_date() => "a Date",
        ValueType::Object => "an object",
        _ => "a bigint",
    }
}
