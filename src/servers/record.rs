//! One server's record: the object as it is on disk, and what its fields mean.
//!
//! Unknown fields keep their place when a record is read and written back; only the fields that an operation owns
//! change.

mod source;

use std::borrow::Cow;
use std::cell::OnceCell;

use self::source::{written_witness, Field, Source};
use crate::javascript::json::{self, outline, plain_string, safe_integer, Object, Value};
use crate::javascript::text::Text;
use crate::process::{Pid, Witness};

/// A record of more bytes is not read, and never written.
pub const RECORD_LIMIT_BYTES: usize = 64 * 1024;

/// Which contract a record is written and read under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// Harness 0.45.1: plain records, schema 1.
    Current,
    /// Harness 0.45.0: records with a receipt, changed under a mutation lease, schema 2.
    Custody,
}

impl Schema {
    /// `SERVER_RECORD_SCHEMA_VERSION`.
    pub fn version(self) -> i64 {
        match self {
            Schema::Current => 1,
            Schema::Custody => 2,
        }
    }
}

/// How long a server is meant to live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One long-running copy. Stopped by hand only.
    Service,
    /// One copy per piece of work; garbage collection may stop it.
    Session,
}

impl Kind {
    pub fn new(word: &str) -> Option<Kind> {
        match word {
            "service" => Some(Kind::Service),
            "session" => Some(Kind::Session),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Service => "service",
            Kind::Session => "session",
        }
    }
}

/// A server's record.
#[derive(Debug, Clone)]
pub struct ServerRecord {
    /// What it was read from, while it still is that: it need not be written again to be handed on, and most of it need
    /// not be parsed.
    source: Option<Source>,
    /// Empty until it is needed, where there is a source.
    object: OnceCell<Object>,
}

impl PartialEq for ServerRecord {
    fn eq(&self, other: &Self) -> bool {
        self.object() == other.object()
    }
}

/// A process that a record names.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedProcess {
    /// As recorded, which may be no process id at all; NaN for what is not even a number.
    pub number: f64,
    pub start_token: Option<String>,
    pub witness: Option<Witness>,
}

impl RecordedProcess {
    /// `None` for a number that no process has: its presence is unknown, and it is never signalled.
    pub fn pid(&self) -> Option<Pid> {
        safe_integer(self.number).and_then(Pid::new)
    }
}

impl ServerRecord {
    /// The record that a file's bytes hold; `None` when they hold none of this schema.
    pub fn read(bytes: &[u8], schema: Schema) -> Option<ServerRecord> {
        ServerRecord::of_bytes(bytes.to_vec(), schema)
    }

    /// [`ServerRecord::read`] of bytes that are not needed otherwise.
    pub(super) fn of_bytes(bytes: Vec<u8>, schema: Schema) -> Option<ServerRecord> {
        let record = match String::from_utf8(bytes) {
            Ok(text) => ServerRecord::of_text(text)?,
            // Parsed with replacement, so it is no text to hand on.
            Err(broken) => ServerRecord::given(parsed(broken.as_bytes())?),
        };
        record.is_of(schema).then_some(record)
    }

    fn of_text(text: String) -> Option<ServerRecord> {
        let source = Source::new(text);
        let object = if source.is_outlined() {
            OnceCell::new()
        } else {
            OnceCell::from(parsed(source.text().as_bytes())?)
        };
        Some(ServerRecord { source: Some(source), object })
    }

    /// A record as a caller holds it, unchecked: it may have been read long ago, or changed by hand.
    pub fn given(object: Object) -> ServerRecord {
        ServerRecord { source: None, object: OnceCell::from(object) }
    }

    /// Whether a reader of this schema accepts it.
    pub fn is_of(&self, schema: Schema) -> bool {
        let receipt = || self.registration_id().is_some_and(is_receipt);
        self.number(Field::SchemaVersion) == Some(schema.version() as f64)
            && self.lossy(Field::Id).is_some()
            && self.number(Field::Pid).and_then(safe_integer).is_some()
            && self.kind().is_some()
            && (schema == Schema::Current || receipt())
    }

    pub fn object(&self) -> &Object {
        // What has been outlined is an object, so there is always one.
        let parse = || self.source.as_ref().and_then(|source| parsed(source.text().as_bytes()));
        self.object.get_or_init(|| parse().unwrap_or_default())
    }

    /// The one line that a file of it holds.
    pub fn text(&self) -> String {
        json::stringify(&Value::Object(self.object().clone())) + "\n"
    }

    /// Some JSON text of it, the quickest to be had: `JSON.parse` makes the same of it as of [`ServerRecord::text`].
    pub fn json(&self) -> Cow<'_, str> {
        self.source.as_ref().map_or_else(|| self.text().into(), |source| Cow::Borrowed(source.text()))
    }

    /// The same record with one field assigned, in its place where it had one.
    #[must_use]
    pub fn with(self, key: &str, value: impl Into<Value>) -> ServerRecord {
        let mut object = self.object().clone();
        object.set(key, value);
        ServerRecord::given(object)
    }

    /// Empty for a caller's record without one.
    pub fn id(&self) -> Cow<'_, str> {
        self.lossy(Field::Id).unwrap_or_default()
    }

    pub fn kind(&self) -> Option<Kind> {
        Kind::new(self.str(Field::Kind)?)
    }

    /// The free-form family name, such as `preview`.
    pub fn server_type(&self) -> Cow<'_, str> {
        self.lossy(Field::Type).unwrap_or_default()
    }

    pub fn host(&self) -> Option<&str> {
        self.str(Field::Host)
    }

    pub fn url(&self) -> Option<&Text> {
        self.get("url")?.as_text()
    }

    pub fn port(&self) -> Option<u16> {
        let port = self.number(Field::Port).and_then(safe_integer)?;
        u16::try_from(port).ok().filter(|port| *port > 0)
    }

    pub fn has_owner(&self) -> bool {
        match self.written(Field::Owner) {
            Some(owner) => !matches!(owner, "" | "null"),
            None => !matches!(self.get("owner"), None | Some(Value::Null)),
        }
    }

    pub fn owner_instance(&self) -> Option<Text> {
        let written = self.written(Field::Owner).and_then(|owner| {
            let [instance] = outline(owner, &["instance_id"])?.map(|span| span.of(owner));
            plain_string(instance).map(Text::from)
        });
        let parsed = || self.get("owner")?.as_object()?.get("instance_id")?.as_text().cloned();
        written.or_else(parsed)
    }

    /// The receipt of the registration that wrote it.
    pub fn registration_id(&self) -> Option<&str> {
        self.str(Field::RegistrationId)
    }

    pub fn start_token(&self) -> Option<&str> {
        self.str(Field::StartToken)
    }

    pub fn witness(&self) -> Option<Witness> {
        match self.written(Field::Witness) {
            Some("") => None,
            Some(written) => {
                written_witness(written).or_else(|| self.get("witness").and_then(Witness::from_value))
            }
            None => self.get("witness").and_then(Witness::from_value),
        }
    }

    pub fn registered_at(&self) -> Option<&str> {
        self.str(Field::RegisteredAt)
    }

    /// `last_active_at`, else `registered_at`.
    pub fn last_activity(&self) -> Option<&str> {
        self.str(Field::LastActiveAt).or_else(|| self.registered_at())
    }

    /// The server's own process.
    pub fn leader(&self) -> RecordedProcess {
        RecordedProcess {
            number: self.number(Field::Pid).unwrap_or(f64::NAN),
            start_token: self.start_token().map(str::to_owned),
            witness: self.witness(),
        }
    }

    /// The helpers, each with what was recorded of it. `pids` that is no list stands for one process of which
    /// nothing is known.
    pub fn helpers(&self) -> Vec<RecordedProcess> {
        let unknown = RecordedProcess { number: f64::NAN, start_token: None, witness: None };
        match self.get("pids") {
            None => Vec::new(),
            Some(Value::Array(pids)) => pids
                .iter()
                .map(|pid| match pid.as_number() {
                    Some(number) => self.helper(number),
                    None => unknown.clone(),
                })
                .collect(),
            Some(_) => vec![unknown],
        }
    }

    /// The server's own process, then its helpers.
    pub fn processes(&self) -> Vec<RecordedProcess> {
        let mut all = vec![self.leader()];
        all.extend(self.helpers());
        all
    }

    /// Whether both come from one registration: by the receipt where either has one, else by the process and the
    /// moment.
    pub fn is_same_registration(&self, other: &ServerRecord) -> bool {
        let same = |key| self.get(key) == other.get(key);
        if self.registration_id().is_some() || other.registration_id().is_some() {
            return same("registration_id");
        }
        ["id", "pid", "start_token", "registered_at"].into_iter().all(same)
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.object().get(key)
    }

    /// A member's value as the record's text has it; `None` where the record has to be parsed.
    fn written(&self, field: Field) -> Option<&str> {
        self.source.as_ref()?.value(field)
    }

    fn str(&self, field: Field) -> Option<&str> {
        match self.written(field) {
            Some(written) if !written.starts_with('"') => None,
            Some(written) => plain_string(written).or_else(|| self.get(field.key())?.as_str()),
            None => self.get(field.key())?.as_str(),
        }
    }

    /// A string, a lone surrogate replaced.
    fn lossy(&self, field: Field) -> Option<Cow<'_, str>> {
        let parsed = || self.get(field.key())?.as_text().map(Text::to_string_lossy);
        self.str(field).map(Cow::Borrowed).or_else(parsed)
    }

    fn number(&self, field: Field) -> Option<f64> {
        match self.written(field) {
            // No number is written as Rust writes infinity, and no other value as a number.
            Some(written) if written.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                written.parse().ok()
            }
            Some(_) => None,
            None => self.get(field.key())?.as_number(),
        }
    }

    fn helper(&self, number: f64) -> RecordedProcess {
        let key = json::stringify(&Value::Number(number));
        let of = |field| self.get(field).and_then(Value::as_object).and_then(|map: &Object| map.get(&key));
        RecordedProcess {
            number,
            start_token: of("pids_start_tokens").and_then(Value::as_str).map(str::to_owned),
            witness: of("pids_witnesses").and_then(Witness::from_value),
        }
    }
}

/// 36 characters of `[0-9a-f-]`.
pub(super) fn is_receipt(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-'))
}

fn parsed(bytes: &[u8]) -> Option<Object> {
    match json::parse(bytes).ok()? {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
