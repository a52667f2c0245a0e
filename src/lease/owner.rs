//! Owners: how a lease names its holder. Text in, text out.
//!
//! Nothing that is written here may be refused by a reader, ours or the harness's: what [`Owner::compose`] lets
//! through, [`Owner::read`] takes.

use crate::javascript::json::{parse, safe_integer, stringify, Object, Value};
use crate::javascript::text::Text;
use crate::javascript::timestamp;
use crate::process::Witness;

/// The largest owner text that a reader takes, in bytes.
pub(super) const READ_LIMIT: usize = 8192;
/// The largest owner text that is written: two of them must fit a claim.
const WRITE_LIMIT: usize = 7936;
const METADATA_KEYS: usize = 20;
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

/// What an owner text is composed of.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) owner_id: String,
    pub(super) scope: &'a str,
    pub(super) authority_sha256: &'a str,
    pub(super) metadata: Option<&'a [(String, Text)]>,
    pub(super) pid: f64,
    pub(super) host: &'a str,
    pub(super) created_ms: i64,
    pub(super) stale_after_ms: f64,
    pub(super) witness: Option<&'a Witness>,
}

impl Owner {
    /// The owner and its text, as one line. The error says which part of the draft no reader would take.
    pub(super) fn compose(draft: &Draft<'_>) -> Result<(Owner, String), &'static str> {
        refuse_bad_parts(draft)?;
        let stale_after_ms = safe_integer(draft.stale_after_ms).unwrap_or(i64::MAX);
        let created_at = timestamp::format(draft.created_ms);
        let expires_at = draft.created_ms.checked_add(stale_after_ms).and_then(timestamp::format);
        let (Some(created_at), Some(expires_at)) = (created_at, expires_at) else {
            return Err("its times are outside what a Date can hold");
        };
        let metadata = draft.metadata.map(|pairs| {
            let mut object = Object::new();
            for (key, value) in pairs {
                object.set(key.as_str(), Value::String(value.clone()));
            }
            object
        });
        let object = Object::new()
            .with("schema_version", Some(1_i64))
            .with("owner_id", Some(draft.owner_id.as_str()))
            .with("owner_file", Some(file_name(&draft.owner_id)))
            .with("scope", Some(draft.scope))
            .with("authority_sha256", Some(draft.authority_sha256))
            .with("metadata", metadata)
            .with("pid", safe_integer(draft.pid))
            .with("host", Some(draft.host))
            .with("created_at", Some(created_at))
            .with("expires_at", Some(expires_at))
            .with("witness", draft.witness.map(Witness::to_value));
        let value = Value::Object(object);
        let text = format!("{}\n", stringify(&value));
        if text.len() > WRITE_LIMIT {
            return Err("its owner text would be longer than 7936 bytes");
        }
        let owner = Owner::from_value(value).map_err(|_| "it makes no valid owner")?;
        Ok((owner, text))
    }

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

fn refuse_bad_parts(draft: &Draft<'_>) -> Result<(), &'static str> {
    if !is_safe_component(draft.scope) {
        return Err("scope must be a safe component");
    }
    if !is_sha256(draft.authority_sha256) {
        return Err("authoritySha256 must be 64 lower-case hexadecimal digits");
    }
    if safe_integer(draft.stale_after_ms).is_none_or(|ms| ms < 1) {
        return Err("staleAfterMs must be a safe integer of at least 1");
    }
    if safe_integer(draft.pid).is_none_or(|pid| pid < 1) {
        return Err("pid must be a positive safe integer");
    }
    if draft.host.is_empty() {
        return Err("host must not be empty");
    }
    let pairs = draft.metadata.unwrap_or_default();
    if pairs.len() > METADATA_KEYS {
        return Err("metadata must have at most 20 keys");
    }
    if !pairs.iter().all(|(key, value)| is_metadata(key, value)) {
        return Err("metadata must have safe components as keys and values of at most 1000 characters");
    }
    Ok(())
}

fn is_metadata(key: &str, value: &Text) -> bool {
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

    const SHA: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn draft<'a>() -> Draft<'a> {
        Draft {
            owner_id: "8f9d6a44-1c55-4b47-8a4f-3e1f8d1c2b00".into(),
            scope: "workspace",
            authority_sha256: SHA,
            metadata: None,
            pid: 42.0,
            host: "here",
            created_ms: 1_767_225_600_123,
            stale_after_ms: 1000.0,
            witness: None,
        }
    }

    fn text_with(change: impl FnOnce(&mut Object)) -> Vec<u8> {
        let (owner, _) = Owner::compose(&draft()).unwrap();
        let Value::Object(mut object) = owner.value else { unreachable!() };
        change(&mut object);
        stringify(&Value::Object(object)).into_bytes()
    }

    #[test]
    fn the_text_is_one_line_with_the_fields_in_the_harness_s_order_and_the_witness_last() {
        let metadata = [("b".to_owned(), Text::from("1")), ("10".to_owned(), Text::from("2"))];
        let witness = Witness { start_token: Some("la.1".into()), ..Witness::default() };
        let draft = Draft { metadata: Some(&metadata), witness: Some(&witness), ..draft() };
        let (owner, text) = Owner::compose(&draft).unwrap();
        assert_eq!(
            text,
            format!(
                "{{\"schema_version\":1,\"owner_id\":\"{id}\",\"owner_file\":\"owner-{id}.json\",\
                 \"scope\":\"workspace\",\"authority_sha256\":\"{SHA}\",\"metadata\":{{\"10\":\"2\",\"b\":\"1\"}},\
                 \"pid\":42,\"host\":\"here\",\"created_at\":\"2026-01-01T00:00:00.123Z\",\
                 \"expires_at\":\"2026-01-01T00:00:01.123Z\",\"witness\":{{\"start_token\":\"la.1\"}}}}\n",
                id = draft.owner_id
            )
        );
        assert_eq!(Owner::read(text.as_bytes()), Ok(owner));
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
    fn what_no_reader_would_take_is_not_composed() {
        let key = |key: &str| vec![(key.to_owned(), Text::from("x"))];
        let many: Vec<_> = (0..21).map(|n| (format!("k{n}"), Text::from("x"))).collect();
        let long = vec![("k".to_owned(), Text::from("x".repeat(1001)))];
        let heavy: Vec<_> = (0..8).map(|n| (format!("k{n}"), Text::from("€".repeat(1000)))).collect();
        for metadata in [&key("a/b"), &key(""), &key("_"), &many, &long, &heavy] {
            assert!(Owner::compose(&Draft { metadata: Some(metadata), ..draft() }).is_err());
        }
        for stale_after_ms in [0.0, -1.0, 1.5, f64::NAN, f64::INFINITY, 9.1e15, 8.64e15] {
            assert!(Owner::compose(&Draft { stale_after_ms, ..draft() }).is_err(), "{stale_after_ms}");
        }
        for pid in [0.0, -1.0, 1.5, f64::NAN, 1e16] {
            assert!(Owner::compose(&Draft { pid, ..draft() }).is_err(), "{pid}");
        }
        assert!(Owner::compose(&Draft { host: "", ..draft() }).is_err());
        assert!(Owner::compose(&Draft { scope: ".hidden", ..draft() }).is_err());
        assert!(Owner::compose(&Draft { authority_sha256: "ff", ..draft() }).is_err());
        let longest = vec![("k".to_owned(), Text::from("x".repeat(1000)))];
        assert!(Owner::compose(&Draft { metadata: Some(&longest), ..draft() }).is_ok());
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
