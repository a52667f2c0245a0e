//! One server's record: the object as it is on disk, and what its fields mean.
//!
//! Unknown fields keep their place when a record is read and written back; only the fields that an operation owns
//! change.

use std::borrow::Cow;

use crate::javascript::json::{self, safe_integer, Object, Value};
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
    object: Object,
    /// What it was read from, while it still is that: it need not be written again to be handed on.
    source: Option<Box<str>>,
}

impl PartialEq for ServerRecord {
    fn eq(&self, other: &Self) -> bool {
        self.object == other.object
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
        let Value::Object(object) = json::parse(bytes).ok()? else { return None };
        let source = std::str::from_utf8(bytes).ok().map(Box::from);
        let record = ServerRecord { object, source };
        record.is_of(schema).then_some(record)
    }

    /// A record as a caller holds it, unchecked: it may have been read long ago, or changed by hand.
    pub fn given(object: Object) -> ServerRecord {
        ServerRecord { object, source: None }
    }

    /// Whether a reader of this schema accepts it.
    pub fn is_of(&self, schema: Schema) -> bool {
        let receipt = || self.registration_id().is_some_and(is_receipt);
        self.get("schema_version").and_then(Value::as_number) == Some(schema.version() as f64)
            && self.get("id").is_some_and(|id| id.as_text().is_some())
            && self.get("pid").and_then(Value::as_safe_integer).is_some()
            && self.kind().is_some()
            && (schema == Schema::Current || receipt())
    }

    pub fn object(&self) -> &Object {
        &self.object
    }

    /// The one line that a file of it holds.
    pub fn text(&self) -> String {
        json::stringify(&Value::Object(self.object.clone())) + "\n"
    }

    /// Some JSON text of it, the quickest to be had: `JSON.parse` makes the same of it as of [`ServerRecord::text`].
    pub fn json(&self) -> Cow<'_, str> {
        self.source.as_deref().map_or_else(|| self.text().into(), Cow::Borrowed)
    }

    /// The same record with one field assigned, in its place where it had one.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> ServerRecord {
        self.object.set(key, value);
        self.source = None;
        self
    }

    /// Empty for a caller's record without one.
    pub fn id(&self) -> Cow<'_, str> {
        self.get("id").and_then(Value::as_text).map(Text::to_string_lossy).unwrap_or_default()
    }

    pub fn kind(&self) -> Option<Kind> {
        Kind::new(self.str("kind")?)
    }

    /// The free-form family name, such as `preview`.
    pub fn server_type(&self) -> Cow<'_, str> {
        self.get("type").and_then(Value::as_text).map(Text::to_string_lossy).unwrap_or_default()
    }

    pub fn host(&self) -> Option<&str> {
        self.str("host")
    }

    pub fn url(&self) -> Option<&Text> {
        self.get("url")?.as_text()
    }

    pub fn port(&self) -> Option<u16> {
        let port = self.get("port")?.as_safe_integer()?;
        u16::try_from(port).ok().filter(|port| *port > 0)
    }

    pub fn has_owner(&self) -> bool {
        !matches!(self.get("owner"), None | Some(Value::Null))
    }

    pub fn owner_instance(&self) -> Option<&Text> {
        self.get("owner")?.as_object()?.get("instance_id")?.as_text()
    }

    /// The receipt of the registration that wrote it.
    pub fn registration_id(&self) -> Option<&str> {
        self.str("registration_id")
    }

    pub fn start_token(&self) -> Option<&str> {
        self.str("start_token")
    }

    pub fn witness(&self) -> Option<Witness> {
        self.get("witness").and_then(read_witness)
    }

    pub fn registered_at(&self) -> Option<&str> {
        self.str("registered_at")
    }

    /// `last_active_at`, else `registered_at`.
    pub fn last_activity(&self) -> Option<&str> {
        self.str("last_active_at").or_else(|| self.registered_at())
    }

    /// The server's own process.
    pub fn leader(&self) -> RecordedProcess {
        RecordedProcess {
            number: self.get("pid").and_then(Value::as_number).unwrap_or(f64::NAN),
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
        self.object.get(key)
    }

    fn str(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    fn helper(&self, number: f64) -> RecordedProcess {
        let key = json::stringify(&Value::Number(number));
        let of = |field| self.get(field).and_then(Value::as_object).and_then(|map: &Object| map.get(&key));
        RecordedProcess {
            number,
            start_token: of("pids_start_tokens").and_then(Value::as_str).map(str::to_owned),
            witness: of("pids_witnesses").and_then(read_witness),
        }
    }
}

/// 36 characters of `[0-9a-f-]`.
pub(super) fn is_receipt(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-'))
}

/// A witness as a record holds it: what is not known is left out.
pub(super) fn witness_object(witness: &Witness) -> Object {
    Object::new()
        .with("start_token", witness.start_token.as_deref())
        .with("pidfd_inode", witness.pidfd_inode.as_deref())
        .with("pid_namespace", witness.pid_namespace.as_deref())
        .with("time_namespace", witness.time_namespace.as_deref())
}

fn read_witness(value: &Value) -> Option<Witness> {
    let object = value.as_object()?;
    let field = |key| object.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Witness {
        start_token: field("start_token"),
        pidfd_inode: field("pidfd_inode"),
        pid_namespace: field("pid_namespace"),
        time_namespace: field("time_namespace"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIPT: &str = "0b5e0d5c-6f0f-4f0e-9a51-0a5c5c5c5c5c";

    fn read(text: &str) -> Option<ServerRecord> {
        ServerRecord::read(text.as_bytes(), Schema::Current)
    }

    #[test]
    fn a_reader_takes_only_its_own_schema() {
        let one = r#"{"schema_version":1,"id":"a","kind":"service","pid":5}"#;
        let two = format!(
            r#"{{"schema_version":2,"id":"a","registration_id":"{RECEIPT}","kind":"service","pid":5}}"#
        );
        let custody = |text: &str| ServerRecord::read(text.as_bytes(), Schema::Custody);
        assert!(read(one).is_some() && custody(one).is_none());
        assert!(read(&two).is_none() && custody(&two).is_some());
        assert!(custody(&two.replace(RECEIPT, &RECEIPT.to_uppercase())).is_none());
        assert!(custody(&two.replace(RECEIPT, &RECEIPT[1..])).is_none());
    }

    #[test]
    fn what_is_no_record_reads_as_none() {
        let good = r#"{"schema_version":1.0,"id":"a","kind":"session","pid":5e0}"#;
        assert!(read(good).is_some());
        for (from, to) in [
            ("1.0", "\"1\""),
            ("1.0", "1.5"),
            ("\"a\"", "7"),
            ("5e0", "5.5"),
            ("5e0", "\"5\""),
            ("5e0", "9007199254740992"),
            ("session", "daemon"),
            ("}", ""),
            ("{", "\u{feff}{"),
        ] {
            assert!(read(&good.replace(from, to)).is_none(), "{from} → {to}");
        }
        assert!(read("[]").is_none() && read("").is_none() && read("null").is_none());
    }

    #[test]
    fn unknown_fields_and_lone_surrogates_survive_a_change_in_their_places() {
        let text = r#"{"z":{"b":1,"a":[null]},"schema_version":1,"id":"a","label":"\ud800","kind":"service","pid":5,"last_active_at":"x","mine":1e+21}"#;
        let changed = read(text).unwrap().with("last_active_at", "y").text();
        assert_eq!(changed, text.replace(r#""x""#, r#""y""#) + "\n");
    }

    #[test]
    fn helpers_carry_their_own_token_and_witness() {
        let record = read(
            r#"{"schema_version":1,"id":"a","kind":"service","pid":5,"start_token":"l1","pids":[7,7.5,"8"],
            "pids_start_tokens":{"7":"l2","7.5":9},"pids_witnesses":{"7":{"pidfd_inode":"11","x":1}}}"#,
        )
        .unwrap();
        let all = record.processes();
        assert_eq!(all[0].pid(), Pid::new(5));
        assert_eq!(all[0].start_token.as_deref(), Some("l1"));
        assert_eq!(all[1].start_token.as_deref(), Some("l2"));
        assert_eq!(all[1].witness.as_ref().unwrap().pidfd_inode.as_deref(), Some("11"));
        assert_eq!((all[2].pid(), all[2].number), (None, 7.5));
        assert!(all[3].number.is_nan() && all[3].pid().is_none());
    }

    #[test]
    fn numbers_that_no_process_has_are_no_pid() {
        for number in ["0", "-1", "4294967297", "2147483648"] {
            let record = read(&format!(r#"{{"schema_version":1,"id":"a","kind":"service","pid":{number}}}"#));
            assert_eq!(record.unwrap().leader().pid(), None, "{number}");
        }
    }
}
