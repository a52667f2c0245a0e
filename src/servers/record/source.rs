//! The text that a record was read from, with the places of what a listing asks of every record.

use crate::javascript::json::{outline, plain_string, Span};
use crate::process::Witness;

/// The members that are found without parsing the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    SchemaVersion,
    Id,
    Kind,
    Type,
    Port,
    Pid,
    StartToken,
    Host,
    Owner,
    RegisteredAt,
    LastActiveAt,
    RegistrationId,
    Witness,
}

/// By number of [`Field`], in the order in which records have them.
const KEYS: [&str; 13] = [
    "schema_version",
    "id",
    "kind",
    "type",
    "port",
    "pid",
    "start_token",
    "host",
    "owner",
    "registered_at",
    "last_active_at",
    "registration_id",
    "witness",
];

impl Field {
    pub(super) fn key(self) -> &'static str {
        KEYS[self as usize]
    }
}

/// A record's text.
#[derive(Debug, Clone)]
pub(super) struct Source {
    text: Box<str>,
    /// `None` where only parsing tells what the members are.
    spans: Option<Box<[Span; KEYS.len()]>>,
}

impl Source {
    pub(super) fn new(text: String) -> Source {
        let spans = outline(&text, &KEYS).map(Box::new);
        Source { text: text.into(), spans }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the text is an object whose members [`Source::value`] finds.
    pub(super) fn is_outlined(&self) -> bool {
        self.spans.is_some()
    }

    /// A member's value as it is written, empty for a member that is not there; `None` where that cannot be told.
    pub(super) fn value(&self, field: Field) -> Option<&str> {
        Some(self.spans.as_ref()?[field as usize].of(&self.text))
    }
}

/// A witness as it is written; `None` where it has to be parsed.
pub(super) fn written_witness(written: &str) -> Option<Witness> {
    const KEYS: [&str; 4] = ["start_token", "pidfd_inode", "pid_namespace", "time_namespace"];
    let spans = outline(written, &KEYS)?;
    let field = |span: Span| match span.of(written) {
        value if !value.starts_with('"') => Some(None),
        value => plain_string(value).map(|plain| Some(plain.to_owned())),
    };
    let [start_token, pidfd_inode, pid_namespace, time_namespace] = spans.map(field);
    Some(Witness {
        start_token: start_token?,
        pidfd_inode: pidfd_inode?,
        pid_namespace: pid_namespace?,
        time_namespace: time_namespace?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_finds_its_own_member() {
        use Field::{
            Host, Id, Kind, LastActiveAt, Owner, Pid, Port, RegisteredAt, RegistrationId, SchemaVersion,
            StartToken, Type, Witness,
        };
        let text: Vec<_> = KEYS.iter().map(|key| format!(r#""{key}":"{key}""#)).collect();
        let source = Source::new(format!("{{{}}}\n", text.join(",")));
        for (field, key) in [
            (SchemaVersion, "schema_version"),
            (Id, "id"),
            (Kind, "kind"),
            (Type, "type"),
            (Port, "port"),
            (Pid, "pid"),
            (StartToken, "start_token"),
            (Host, "host"),
            (Owner, "owner"),
            (RegisteredAt, "registered_at"),
            (LastActiveAt, "last_active_at"),
            (RegistrationId, "registration_id"),
            (Witness, "witness"),
        ] {
            assert_eq!((field.key(), source.value(field)), (key, Some(format!("\"{key}\"").as_str())));
        }
    }
}
