//! Custody (schema 2): whose a registration is, and changing it only under its id's mutation lease.
//!
//! Each registration has a receipt, each change holds the lease of its id, and nothing that cannot be read is
//! overwritten. The record's file is replaced as under the current contract; the lease comes first, the registry's
//! lock within it.

pub mod claim;
pub mod hold;
pub mod lease;
pub mod stop;
pub mod unregister;

use super::{Schema, ServerRecord};

/// Whether both are the same registration of the same processes: equal receipts and [`is_same_custody`].
pub fn is_exact_receipt(a: &ServerRecord, b: &ServerRecord) -> bool {
    a.registration_id().is_some() && a.registration_id() == b.registration_id() && is_same_custody(a, b)
}

/// Whether both name the same processes of the same server: schema 2, equal id, pid, start token, host, kind, type,
/// scope, owner instance and helpers (in any order, each with its token).
pub fn is_same_custody(a: &ServerRecord, b: &ServerRecord) -> bool {
    const FIELDS: [&str; 7] = ["id", "pid", "start_token", "host", "kind", "type", "scope"];
    a.is_of(Schema::Custody)
        && b.is_of(Schema::Custody)
        && FIELDS.into_iter().all(|key| a.get(key) == b.get(key))
        && a.owner_instance() == b.owner_instance()
        && helpers(a).is_some_and(|of_a| Some(of_a) == helpers(b))
}

/// Each helper's number with its token, once, by number; `None` when a helper is no number.
fn helpers(record: &ServerRecord) -> Option<Vec<(f64, Option<String>)>> {
    let mut all = record
        .helpers()
        .into_iter()
        .map(|helper| (!helper.number.is_nan()).then_some((helper.number, helper.start_token)))
        .collect::<Option<Vec<_>>>()?;
    all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    all.dedup_by(|(a, _), (b, _)| a == b);
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = r#"{"schema_version":2,"id":"a","registration_id":"0b5e0d5c-6f0f-4f0e-9a51-0a5c5c5c5c5c",
        "kind":"service","type":"t","pid":5,"start_token":"l1","host":"h","scope":"/s","owner":{"instance_id":"o"},
        "pids":[9,7,9],"pids_start_tokens":{"7":"l7"},"label":"x"}"#;

    fn record(text: &str) -> ServerRecord {
        ServerRecord::read(text.as_bytes(), Schema::Custody).expect("a record")
    }

    fn same(from: &str, to: &str) -> bool {
        assert!(BASE.contains(from), "{from}");
        is_same_custody(&record(BASE), &record(&BASE.replace(from, to)))
    }

    #[test]
    fn the_same_processes_of_the_same_server_are_the_same_custody() {
        assert!(same("\"label\":\"x\"", "\"label\":\"y\",\"port\":1"));
        assert!(same("[9,7,9]", "[7,9]"));
        assert!(same("0b5e", "1b5e"));
        assert!(same("{\"instance_id\":\"o\"}", "{\"instance_id\":\"o\",\"name\":\"n\"}"));
    }

    #[test]
    fn any_difference_in_what_it_is_ends_the_custody() {
        for (from, to) in [
            ("\"id\":\"a\"", "\"id\":\"b\""),
            ("\"pid\":5", "\"pid\":6"),
            ("\"l1\"", "\"l2\""),
            ("\"start_token\":\"l1\",", ""),
            ("\"host\":\"h\"", "\"host\":\"i\""),
            ("service", "session"),
            ("\"type\":\"t\"", "\"type\":\"u\""),
            ("\"/s\"", "\"/r\""),
            ("\"scope\":\"/s\",", ""),
            ("\"o\"", "\"p\""),
            ("[9,7,9]", "[9]"),
            ("{\"7\":\"l7\"}", "{\"7\":\"l8\"}"),
            ("{\"7\":\"l7\"}", "{}"),
            ("[9,7,9]", "[9,7,\"9\"]"),
        ] {
            assert!(!same(from, to), "{from} → {to}");
        }
    }

    #[test]
    fn a_receipt_is_exact_only_with_its_own_registration() {
        assert!(is_exact_receipt(&record(BASE), &record(BASE)));
        assert!(!is_exact_receipt(&record(BASE), &record(&BASE.replace("0b5e", "1b5e"))));
        let one = BASE.replace("\"schema_version\":2", "\"schema_version\":1");
        let one = ServerRecord::read(one.as_bytes(), Schema::Current).expect("a record");
        assert!(!is_exact_receipt(&one, &one));
    }
}
