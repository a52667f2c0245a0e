//! Custody: whose a registration is.

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
