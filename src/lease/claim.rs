//! Claims: who replaces whom. Text in, text out.

use super::owner::{is_sha256, Owner};
use crate::javascript::json::{parse, sha256_hex, stringify, Object, Value};

/// The largest claim that a reader takes, in bytes.
pub(super) const LIMIT: usize = 16 * 1024;

/// Who replaces whom.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub claimant: Owner,
    pub observed_owner: Owner,
    /// Of the bytes of the observed owner's file.
    pub observed_sha256: String,
    /// The whole object as it is on disk.
    pub value: Value,
}

impl Claim {
    /// The text of a claim on `current`, which names `observed` in these bytes; `None` when no reader would take it.
    pub(super) fn compose(claimant: &Owner, observed: &Owner, observed_bytes: &[u8]) -> Option<String> {
        let object = Object::new()
            .with("schema_version", Some(1_i64))
            .with("claimant", Some(claimant.value.clone()))
            .with("observed_owner", Some(observed.value.clone()))
            .with("observed_sha256", Some(sha256_hex(observed_bytes)))
            .with("created_at", Some(claimant.created_at.as_str()));
        let text = format!("{}\n", stringify(&Value::Object(object)));
        (text.len() <= LIMIT).then_some(text)
    }

    /// The claim that a file's bytes stand for; `None` when they stand for none.
    pub(super) fn read(bytes: &[u8]) -> Option<Claim> {
        let value = parse(bytes).ok()?;
        let object = value.as_object()?;
        let owner = |key| Owner::from_value(object.get(key)?.clone()).ok();
        let claim = Claim {
            claimant: owner("claimant")?,
            observed_owner: owner("observed_owner")?,
            observed_sha256: object.get("observed_sha256").and_then(Value::as_str)?.to_owned(),
            value: value.clone(),
        };
        let valid = object.get("schema_version").and_then(Value::as_safe_integer) == Some(1)
            && is_sha256(&claim.observed_sha256)
            && object.get("created_at").and_then(Value::as_str) == Some(claim.claimant.created_at.as_str());
        valid.then_some(claim)
    }
}

#[cfg(test)]
mod tests {
    use super::super::draft::Draft;
    use super::*;
    use crate::javascript::text::Text;

    fn owner(id: &str, filler: usize) -> Owner {
        let authority_sha256 = &"a".repeat(64);
        let metadata: Vec<_> = (0..7).map(|n| (format!("k{n}"), Text::from("x".repeat(filler)))).collect();
        let draft = Draft {
            owner_id: id.into(),
            scope: "s",
            authority_sha256,
            metadata: Some(&metadata),
            pid: 1.0,
            host: "h",
            created_ms: 0,
            stale_after_ms: 1.0,
            witness: None,
        };
        (*draft.compose().unwrap()).clone()
    }

    #[test]
    fn a_claim_is_read_as_it_was_written() {
        let (claimant, observed) = (owner("c", 0), owner("o", 0));
        let text = Claim::compose(&claimant, &observed, b"bytes").unwrap();
        assert!(text.starts_with("{\"schema_version\":1,\"claimant\":{"));
        assert!(text.ends_with(",\"created_at\":\"1970-01-01T00:00:00.000Z\"}\n"));
        let claim = Claim::read(text.as_bytes()).unwrap();
        assert_eq!((claim.claimant, claim.observed_owner), (claimant, observed));
        assert_eq!(claim.observed_sha256, sha256_hex(b"bytes"));
    }

    #[test]
    fn two_owners_of_the_largest_size_fit_a_claim() {
        assert!(Claim::compose(&owner("c", 1000), &owner("o", 1000), b"").is_some());
    }

    #[test]
    fn a_claim_that_no_reader_would_take_is_not_composed() {
        let mut observed = owner("o", 1000);
        let Value::Object(object) = &mut observed.value else { unreachable!() };
        object.set("more", "x".repeat(9000));
        assert!(Claim::compose(&owner("c", 1000), &observed, b"").is_none());
    }

    #[test]
    fn a_claim_with_any_part_wrong_is_none() {
        let text = Claim::compose(&owner("c", 0), &owner("o", 0), b"").unwrap();
        for (right, wrong) in [
            ("{\"schema_version\":1,\"claimant\"", "{\"schema_version\":2,\"claimant\""),
            ("\"claimant\"", "\"claimer\""),
            ("\"observed_owner\"", "\"observed\""),
            ("\"observed_sha256\":\"", "\"observed_sha256\":\"x"),
            ("},\"observed_sha256\"", ",\"pid\":0},\"observed_sha256\""),
            (
                ",\"created_at\":\"1970-01-01T00:00:00.000Z\"}\n",
                ",\"created_at\":\"1970-01-01T00:00:00.001Z\"}\n",
            ),
        ] {
            assert!(text.contains(right), "{right}");
            assert_eq!(Claim::read(text.replacen(right, wrong, 1).as_bytes()), None, "{wrong}");
        }
        assert_eq!(Claim::read(&text.as_bytes()[..text.len() / 2]), None);
    }
}
