//! Owners: how a lease names its holder. Text in, text out.
//!
//! What is written is composed in `draft`, from what every reader takes.

use crate::javascript::json::{parse, Object, Value};
use crate::javascript::text::Text;
use crate::javascript::timestamp;
use crate::process::Witness;

/// The largest owner text that a reader takes, in bytes.
pub(super) const READ_LIMIT: usize = 8192;
pub(super) const METADATA_KEYS: usize = 20;
/// UTF-16 code units.
const METADATA_VALUE: usize = 1000;

/// How a lease names its holder. Field names and order on disk are the harness's.
#[derive(Debug, Clone, PartialEq)]
pub struct Owner {
    pub owner_id: String,
    pub owner_file: String,
    pub scope: String,
    pub authority_sha256: String,
    pub metadata: Option<Vec<(String, Text)>>,
    pub pid: i64,
    pub host: String,
    pub created_at: String,
    pub expires_at: String,
    pub witness: Option<Witness>,
    /// The whole object as it is on disk, unknown fields included.
    pub value: Value,
}

/// Why an owner text is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    Corrupt,
    Schema,
}

impl Owner {
    /// The owner that a file's bytes stand for.
    pub(super) fn read(bytes: &[u8]) -> Result<Owner, Flaw> {
        Owner::from_value(parse(bytes).map_err(|_| Flaw::Corrupt)?)
    }

    /// The owner that an object stands for, in a file of its own or in a claim.
    pub(super) fn from_value(value: Value) -> Result<Owner, Flaw> {
        let object = value.as_object().ok_or(Flaw::Corrupt)?;
        if object.get("schema_version").and_then(Value::as_safe_integer) != Some(1) {
            return Err(Flaw::Schema);
        }
        let owner = Owner::from_object(object).ok_or(Flaw::Corrupt)?;
        Ok(Owner { value, ..owner })
    }

    /// Milliseconds since the epoch.
    pub(super) fn created_ms(&self) -> Option<i64> {
        timestamp::parse(&self.created_at)
    }

    /// Milliseconds since the epoch.
    pub(super) fn expires_ms(&self) -> Option<i64> {
        timestamp::parse(&self.expires_at)
    }

    /// But for its `value`.
    fn from_object(object: &Object) -> Option<Owner> {
        let text = |key| object.get(key).and_then(Value::as_str).map(str::to_owned);
        let owner = Owner {
            owner_id: text("owner_id")?,
            owner_file: text("owner_file")?,
            scope: text("scope")?,
            authority_sha256: text("authority_sha256")?,
            metadata: match object.get("metadata") {
                None => None,
                Some(metadata) => Some(read_metadata(metadata)?),
            },
            pid: object.get("pid").and_then(Value::as_safe_integer)?,
            // A host name that is no Unicode text is some other host's, but a valid owner's.
            host: object.get("host").and_then(Value::as_text)?.to_string_lossy().into_owned(),
            created_at: text("created_at")?,
            expires_at: text("expires_at")?,
            witness: object.get("witness").and_then(Witness::from_value),
            value: Value::Null,
        };
        let valid = owner.owner_file == file_name(&owner.owner_id)
            && is_safe_component(&owner.owner_file)
            && is_safe_component(&owner.scope)
            && is_sha256(&owner.authority_sha256)
            && owner.pid > 0
            && !owner.host.is_empty()
            && owner.created_ms().is_some()
            && owner.expires_ms().is_some();
        valid.then_some(owner)
    }
}

/// The name of an owner's file.
pub(super) fn file_name(owner_id: &str) -> String {
    format!("owner-{owner_id}.json")
}

/// Whether a name is one that owners' files have.
pub(super) fn is_owner_file(name: &str) -> bool {
    name.starts_with("owner-") && name.ends_with(".json")
}

/// `^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`
pub(super) fn is_safe_component(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes.len(), 1..=200)
        && bytes[0].is_ascii_alphanumeric()
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// 64 lower-case hexadecimal digits.
pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(super) fn is_metadata(key: &str, value: &Text) -> bool {
    is_safe_component(key) && value.length() <= METADATA_VALUE
}

fn read_metadata(value: &Value) -> Option<Vec<(String, Text)>> {
    let object = value.as_object().filter(|object| object.len() <= METADATA_KEYS)?;
    object
        .iter()
        .map(|(key, value)| {
            let (key, value) = (key.to_str()?, value.as_text()?);
            is_metadata(key, value).then(|| (key.to_owned(), value.clone()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::javascript::json::stringify;

    const SHA: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn text_with(change: impl FnOnce(&mut Object)) -> Vec<u8> {
        let text = format!(
            r#"{{"schema_version":1,"owner_id":"a","owner_file":"owner-a.json","scope":"s","authority_sha256":"{SHA}","pid":42,"host":"here","created_at":"2026-01-01T00:00:00.123Z","expires_at":"2026-01-01T00:00:01.123Z"}}"#
        );
        assert!(Owner::read(text.as_bytes()).is_ok());
        let Value::Object(mut object) = parse(text.as_bytes()).unwrap() else { unreachable!() };
        change(&mut object);
        stringify(&Value::Object(object)).into_bytes()
    }

    #[test]
    fn unknown_fields_are_fine_and_kept() {
        let bytes = text_with(|object| object.set("more", "x"));
        let owner = Owner::read(&bytes).unwrap();
        assert_eq!(stringify(&owner.value).into_bytes(), bytes);
    }

    #[test]
    fn l4_an_owner_with_a_strange_pid_is_no_owner() {
        for strange in ["\"12\"", "\"12abc\"", "-5", "0", "1.5", "1e300", "null"] {
            let bytes = text_with(|object| object.set("pid", parse(strange.as_bytes()).unwrap()));
            assert_eq!(Owner::read(&bytes), Err(Flaw::Corrupt), "{strange}");
        }
        let missing = text_with(|object| drop(object.remove("pid")));
        assert_eq!(Owner::read(&missing), Err(Flaw::Corrupt));
        let integer = text_with(|object| object.set("pid", Value::Number(5.0)));
        assert_eq!(Owner::read(&integer).unwrap().pid, 5);
    }

    #[test]
    fn every_field_that_a_reader_checks_is_checked() {
        for (field, value) in [
            ("owner_id", "\"other\""),
            ("owner_file", "\"owner-x.json\""),
            ("scope", "\"../up\""),
            ("authority_sha256", "\"ABC\""),
            ("metadata", "null"),
            ("metadata", "{\"_\":\"x\"}"),
            ("metadata", "{\"a\":1}"),
            ("host", "\"\""),
            ("created_at", "\"yesterday\""),
            ("expires_at", "\"2026-01-01T00:00:60.000Z\""),
        ] {
            let bytes = text_with(|object| object.set(field, parse(value.as_bytes()).unwrap()));
            assert_eq!(Owner::read(&bytes), Err(Flaw::Corrupt), "{field} {value}");
        }
        let other = text_with(|object| object.set("schema_version", 2));
        assert_eq!(Owner::read(&other), Err(Flaw::Schema));
        assert_eq!(Owner::read(b"[]"), Err(Flaw::Corrupt));
        assert_eq!(Owner::read(b""), Err(Flaw::Corrupt));
    }

    #[test]
    fn a_safe_component_starts_with_a_letter_or_digit_and_has_at_most_200_characters() {
        assert!(is_safe_component("a"));
        assert!(is_safe_component(&"9".repeat(200)));
        for bad in ["", ".a", "-a", "a b", "a/b", "ä", "a\n", &"a".repeat(201)] {
            assert!(!is_safe_component(bad), "{bad:?}");
        }
    }
}
