//! Composing an owner's text.
//!
//! Nothing that is written here may be refused by a reader, ours or the harness's: what [`Draft::compose`] lets through,
//! [`Owner::read`] takes.

use std::cell::OnceCell;
use std::fmt::Write;
use std::ops::Deref;
use std::rc::Rc;

use super::owner::{file_name, is_metadata, is_safe_component, is_sha256, Owner, METADATA_KEYS};
use crate::javascript::json::{push_quoted, safe_integer, stringify, Object, Value};
use crate::javascript::text::Text;
use crate::javascript::timestamp;
use crate::process::Witness;

/// The largest owner text that is written: two of them must fit a claim.
const WRITE_LIMIT: usize = 7936;

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

/// An owner that was composed. Most calls need no more of it than its text; the rest is read from that on demand.
#[derive(Debug, Clone)]
pub struct Composed {
    /// One line.
    pub text: Rc<str>,
    pub(super) file_name: String,
    owner: Rc<OnceCell<Owner>>,
}

impl Deref for Composed {
    type Target = Owner;

    fn deref(&self) -> &Owner {
        self.owner
            .get_or_init(|| Owner::read(self.text.as_bytes()).expect("what is composed is an owner's text"))
    }
}

impl AsRef<Owner> for Composed {
    fn as_ref(&self) -> &Owner {
        self
    }
}

impl Draft<'_> {
    /// The owner. The error says which part of the draft no reader would take.
    pub(super) fn compose(&self) -> Result<Composed, &'static str> {
        refuse_bad_parts(self)?;
        let stale_after_ms = safe_integer(self.stale_after_ms).unwrap_or(i64::MAX);
        let created_at = timestamp::format(self.created_ms);
        let expires_at = self.created_ms.checked_add(stale_after_ms).and_then(timestamp::format);
        let (Some(created_at), Some(expires_at)) = (created_at, expires_at) else {
            return Err("its times are outside what a Date can hold");
        };
        let file_name = file_name(&self.owner_id);
        let mut text = String::with_capacity(768);
        text.push_str(r#"{"schema_version":1"#);
        push(&mut text, "owner_id", &self.owner_id);
        push(&mut text, "owner_file", &file_name);
        push(&mut text, "scope", self.scope);
        push(&mut text, "authority_sha256", self.authority_sha256);
        // Writing to a string does not fail.
        if let Some(metadata) = self.metadata {
            let _ = write!(text, r#","metadata":{}"#, stringify(&metadata_object(metadata)));
        }
        let _ = write!(text, r#","pid":{}"#, safe_integer(self.pid).unwrap_or_default());
        push(&mut text, "host", self.host);
        push(&mut text, "created_at", &created_at);
        push(&mut text, "expires_at", &expires_at);
        if let Some(witness) = self.witness {
            let _ = write!(text, r#","witness":{}"#, stringify(&witness.to_value()));
        }
        text.push_str("}\n");
        if text.len() > WRITE_LIMIT {
            return Err("its owner text would be longer than 7936 bytes");
        }
        Ok(Composed { text: text.into(), file_name, owner: Rc::default() })
    }
}

/// One more member.
fn push(text: &mut String, name: &str, value: &str) {
    text.push_str(",\"");
    text.push_str(name);
    text.push_str("\":");
    push_quoted(text, value);
}

/// In JavaScript's key order.
fn metadata_object(metadata: &[(String, Text)]) -> Value {
    let mut object = Object::new();
    for (key, value) in metadata {
        object.set(key.as_str(), Value::String(value.clone()));
    }
    Value::Object(object)
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

    #[test]
    fn the_text_is_one_line_with_the_fields_in_the_harness_s_order_and_the_witness_last() {
        let metadata = [("b".to_owned(), Text::from("1")), ("10".to_owned(), Text::from("2"))];
        let witness = Witness { start_token: Some("la.1".into()), ..Witness::default() };
        let draft = Draft { metadata: Some(&metadata), witness: Some(&witness), ..draft() };
        let owner = draft.compose().unwrap();
        assert_eq!(
            *owner.text,
            format!(
                "{{\"schema_version\":1,\"owner_id\":\"{id}\",\"owner_file\":\"owner-{id}.json\",\
                 \"scope\":\"workspace\",\"authority_sha256\":\"{SHA}\",\"metadata\":{{\"10\":\"2\",\"b\":\"1\"}},\
                 \"pid\":42,\"host\":\"here\",\"created_at\":\"2026-01-01T00:00:00.123Z\",\
                 \"expires_at\":\"2026-01-01T00:00:01.123Z\",\"witness\":{{\"start_token\":\"la.1\"}}}}\n",
                id = draft.owner_id
            )
        );
        assert_eq!(
            (&owner.metadata, &owner.witness),
            (&Some(vec![metadata[1].clone(), metadata[0].clone()]), &Some(witness))
        );
        assert_eq!(owner.owner_file, owner.file_name);
    }

    #[test]
    fn what_no_reader_would_take_is_not_composed() {
        let key = |key: &str| vec![(key.to_owned(), Text::from("x"))];
        let many: Vec<_> = (0..21).map(|n| (format!("k{n}"), Text::from("x"))).collect();
        let long = vec![("k".to_owned(), Text::from("x".repeat(1001)))];
        let heavy: Vec<_> = (0..8).map(|n| (format!("k{n}"), Text::from("€".repeat(1000)))).collect();
        for metadata in [&key("a/b"), &key(""), &key("_"), &many, &long, &heavy] {
            assert!((Draft { metadata: Some(metadata), ..draft() }).compose().is_err());
        }
        for stale_after_ms in [0.0, -1.0, 1.5, f64::NAN, f64::INFINITY, 9.1e15, 8.64e15] {
            assert!((Draft { stale_after_ms, ..draft() }).compose().is_err(), "{stale_after_ms}");
        }
        for pid in [0.0, -1.0, 1.5, f64::NAN, 1e16] {
            assert!((Draft { pid, ..draft() }).compose().is_err(), "{pid}");
        }
        assert!((Draft { host: "", ..draft() }).compose().is_err());
        assert!((Draft { scope: ".hidden", ..draft() }).compose().is_err());
        assert!((Draft { authority_sha256: "ff", ..draft() }).compose().is_err());
        let longest = vec![("k".to_owned(), Text::from("x".repeat(1000)))];
        assert!((Draft { metadata: Some(&longest), ..draft() }).compose().is_ok());
    }
}
