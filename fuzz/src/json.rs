//! JSON: what is printed is read as what it was, and `serde_json` reads the same.

use harnery_native::javascript::json::{
    canonical, digest, is_json, parse, pretty, sha256_hex, stringify, Value,
};

pub fn hold(bytes: &[u8]) {
    let parsed = parse(bytes);
    match &parsed {
        Ok(value) => {
            assert!(is_json(bytes));
            round_trips(value);
        }
        // Nesting is bounded for what is kept, not for what is only checked.
        Err(error) => assert!(!is_json(bytes) || error.to_string().starts_with("nested too deeply")),
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        agrees_with_serde(text, parsed.ok());
    }
}

fn round_trips(value: &Value) {
    let text = stringify(value);
    let again = parse(text.as_bytes()).expect("what was printed is JSON");
    assert_eq!(again, finite(value));
    assert_eq!(stringify(&again), text);
    assert!(!text.contains('\n'), "one line");
    assert_eq!(parse(pretty(value).as_bytes()).as_ref(), Ok(&again));
    let sorted = canonical(value);
    let sorted_again = parse(sorted.as_bytes()).expect("canonical text is JSON");
    assert_eq!(canonical(&sorted_again), sorted);
    assert_eq!(digest(value), sha256_hex(sorted.as_bytes()));
}

/// As it is printed: what is not finite is `null`.
fn finite(value: &Value) -> Value {
    match value {
        Value::Number(number) if !number.is_finite() => Value::Null,
        Value::Array(items) => Value::Array(items.iter().map(finite).collect()),
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (key.clone(), finite(value))).collect())
        }
        other => other.clone(),
    }
}

fn agrees_with_serde(text: &str, ours: Option<Value>) {
    match (serde_json::from_str::<serde_json::Value>(text), ours) {
        (Ok(theirs), Some(ours)) => assert!(is_same(&ours, &theirs), "{ours:?} and {theirs:?}"),
        (Ok(theirs), None) => panic!("only serde_json takes it: {theirs:?}"),
        (Err(_), None) => {}
        // It refuses lone surrogates, numbers beyond a double, and nesting beyond 128.
        (Err(error), Some(_)) => {
            let why = error.to_string();
            let known = ["surrogate", "hex escape", "number out of range", "recursion limit"];
            assert!(known.iter().any(|known| why.contains(known)), "only serde_json refuses it: {why}");
        }
    }
}

fn is_same(ours: &Value, theirs: &serde_json::Value) -> bool {
    match (ours, theirs) {
        (Value::Null, serde_json::Value::Null) => true,
        (Value::Bool(a), serde_json::Value::Bool(b)) => a == b,
        (Value::Number(a), serde_json::Value::Number(b)) => Some(*a) == b.as_f64(),
        (Value::String(a), serde_json::Value::String(b)) => a.to_str() == Some(b),
        (Value::Array(a), serde_json::Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), serde_json::Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| key.to_str().and_then(|key| b.get(key)).is_some_and(|b| is_same(a, b)))
        }
        _ => false,
    }
}
