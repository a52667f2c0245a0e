//! Text, JSON, order, paths and instants are what JavaScript says they are.
//!
//! `tests/vectors/javascript.json` holds what Node printed (`scripts/javascript-vectors.mjs` says how).

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use harnery_native::javascript::json::{self, Object, Value};
use harnery_native::javascript::text::Text;
use harnery_native::javascript::{collate, paths, timestamp};
use proptest::prelude::*;

fn vectors() -> &'static Value {
    static VECTORS: OnceLock<Value> = OnceLock::new();
    VECTORS
        .get_or_init(|| json::parse(include_bytes!("vectors/javascript.json")).expect("the vectors are JSON"))
}

/// The vectors under a name, or under two (`"path.join"`).
fn rows(name: &str) -> &'static [Value] {
    let mut value = vectors();
    for step in name.split('.') {
        value = value.as_object().and_then(|group| group.get(step)).expect("a group of vectors");
    }
    let rows = value.as_array().expect("a list of vectors");
    assert!(!rows.is_empty(), "{name} has vectors");
    rows
}

fn column(row: &'static Value, index: usize) -> &'static Value {
    &row.as_array().expect("a row")[index]
}

fn string(value: &Value) -> &str {
    value.as_str().expect("a string")
}

/// A text that the vectors hold as a JSON text, because it may have lone surrogates.
fn unquoted(value: &Value) -> Text {
    parsed(string(value)).as_text().expect("a JSON string").clone()
}

fn parsed(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn member<'a>(row: &'a Value, name: &str) -> &'a Value {
    row.as_object().and_then(|row| row.get(name)).expect("a member")
}

#[test]
fn json_texts_print_as_node_prints_them() {
    for row in rows("json") {
        let text = string(member(row, "text"));
        let value = parsed(text);
        assert_eq!(json::stringify(&value), string(member(row, "compact")), "{text}");
        assert_eq!(json::pretty(&value), string(member(row, "pretty")), "{text}");
    }
}

#[test]
fn canonical_texts_and_digests_are_those_of_local_compare_in_node() {
    for row in rows("json") {
        let text = string(member(row, "text"));
        let value = parsed(text);
        assert_eq!(json::canonical(&value), string(member(row, "canonical")), "{text}");
        assert_eq!(json::digest(&value), string(member(row, "digest")), "{text}");
    }
}

#[test]
fn lone_surrogates_that_stand_in_a_text_are_parsed_as_they_are() {
    let text =
        Text::from_iter("[\"\\uD83D".encode_utf16().chain([0xDE00, 0xD800]).chain("x\"]".encode_utf16()));
    let value = json::parse_text(&text).expect("JSON");
    assert_eq!(json::stringify(&value), "[\"\u{1F600}\\ud800x\"]");
    assert!(json::parse_text(&Text::from_iter([0xD800])).is_err());
}

#[test]
fn what_json_parse_refuses_is_refused() {
    for text in rows("refused") {
        let bytes = text.as_text().expect("a text").to_string_lossy();
        assert!(json::parse(bytes.as_bytes()).is_err(), "{text:?}");
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced_as_node_replaces_them() {
    for row in rows("bytes") {
        let hex = string(column(row, 0));
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        let printed = json::parse(&bytes).ok().map(|value| json::stringify(&value));
        assert_eq!(printed.as_deref(), column(row, 1).as_str(), "{hex}");
    }
}

#[test]
fn numbers_are_read_and_printed_as_node_does() {
    for row in rows("numbers") {
        let text = string(column(row, 0));
        let value = parsed(text);
        assert_eq!(json::stringify(&value), string(column(row, 1)), "{text}");
        let integer = value.as_safe_integer().map(|integer| integer.to_string());
        assert_eq!(integer.as_deref(), column(row, 2).as_str(), "{text}");
    }
}

#[test]
fn texts_have_node_s_lengths_bytes_blanks_and_cuts() {
    for row in rows("text") {
        let text = unquoted(member(row, "text"));
        let units = member(row, "units").as_array().expect("units");
        let units: Vec<u16> = units.iter().map(|unit| unit.as_safe_integer().unwrap() as u16).collect();
        assert!(text.units().eq(units.iter().copied()), "{text:?}");
        assert_eq!(text.length(), units.len(), "{text:?}");
        assert_eq!(units.into_iter().collect::<Text>(), text);
        let hex: String = text.to_string_lossy().bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, string(member(row, "utf8")), "{text:?}");
        assert_eq!(text.trim(), unquoted(member(row, "trim")), "{text:?}");
        for (name, cut) in [("first", Text::first as fn(&Text, usize) -> Text), ("last", Text::last)] {
            for pair in member(row, name).as_array().expect("cuts") {
                let pair = pair.as_array().expect("a cut");
                let limit = pair[0].as_safe_integer().expect("a limit") as usize;
                assert_eq!(cut(&text, limit), unquoted(&pair[1]), "{name} {limit} of {text:?}");
            }
        }
    }
}

#[test]
fn only_what_trim_takes_for_blank_is_blank() {
    let blanks = rows("blanks")[0].as_array().expect("code points");
    let blanks: Vec<_> = blanks.iter().map(|point| point.as_safe_integer().unwrap() as u32).collect();
    for c in (0..=0xFFFF).filter_map(char::from_u32) {
        let trimmed = Text::from(c.to_string()).trim();
        assert_eq!(trimmed.is_empty(), blanks.contains(&u32::from(c)), "{c:?}");
    }
}

#[test]
fn halves_that_meet_become_the_character_they_mean() {
    for row in rows("joins") {
        let mut text = unquoted(column(row, 0));
        text.push_text(&unquoted(column(row, 1)));
        assert_eq!(text, unquoted(column(row, 2)), "{row:?}");
    }
}

#[test]
fn lower_case_is_node_s_for_every_letter_and_at_the_end_of_words() {
    for row in rows("lower") {
        let text = unquoted(column(row, 0));
        assert_eq!(text.to_lower_case(), unquoted(column(row, 1)), "{text:?}");
    }
}

#[test]
fn texts_are_ordered_as_local_compare_orders_them() {
    let ordered: Vec<(usize, Text)> = rows("collation")
        .iter()
        .enumerate()
        .flat_map(|(place, equal)| equal.as_array().expect("a group").iter().map(move |text| (place, text)))
        .map(|(place, text)| (place, unquoted(text)))
        .collect();
    for (place, a) in &ordered {
        for (other, b) in &ordered {
            assert_eq!(collate::compare_text(a, b), place.cmp(other), "{a:?} {b:?}");
        }
    }
}

#[test]
fn paths_are_folded_as_node_folds_them() {
    for row in rows("path.resolve") {
        let (cwd, path) = (Path::new(string(column(row, 0))), string(column(row, 1)));
        assert_eq!(paths::resolve(cwd, path), PathBuf::from(string(column(row, 2))), "{cwd:?} {path:?}");
    }
    for row in rows("path.normalize") {
        let path = string(column(row, 0));
        assert_eq!(paths::normalize(path.as_ref()), string(column(row, 1)), "{path:?}");
    }
    for row in rows("path.join") {
        let (base, more) = (string(column(row, 0)), string(column(row, 1)));
        let joined = paths::join(Path::new(base), more);
        assert_eq!(joined.as_os_str(), string(column(row, 2)), "{base:?} {more:?}");
    }
    for row in rows("path.relative") {
        let (cwd, from, to) = (Path::new(string(column(row, 0))), column(row, 1), column(row, 2));
        let path = paths::relative(cwd, string(from), string(to));
        assert_eq!(path.as_os_str(), string(column(row, 3)), "{from:?} {to:?}");
    }
}

#[test]
fn parts_of_paths_are_those_that_node_names() {
    for row in rows("path.basename") {
        let path = string(column(row, 0));
        assert_eq!(paths::basename(Path::new(path)), string(column(row, 1)), "{path:?}");
    }
    for row in rows("path.dirname") {
        let path = string(column(row, 0));
        assert_eq!(paths::dirname(Path::new(path)).as_os_str(), string(column(row, 1)), "{path:?}");
    }
    for row in rows("path.isAbsolute") {
        let path = string(column(row, 0));
        assert_eq!(Some(paths::is_absolute(path)), column(row, 1).as_bool(), "{path:?}");
    }
}

#[test]
fn s5_a_directory_whose_name_is_not_utf_8_is_resolved_to_itself() {
    let cwd = Path::new(OsStr::from_bytes(b"/srv/caf\xe9/x"));
    assert_eq!(paths::resolve(cwd, "../a").as_os_str().as_bytes(), b"/srv/caf\xe9/a");
    assert_eq!(paths::resolve(cwd, "").as_os_str().as_bytes(), b"/srv/caf\xe9/x");
    assert_eq!(paths::join(cwd, "./a").as_os_str().as_bytes(), b"/srv/caf\xe9/x/a");
    assert_eq!(paths::basename(paths::dirname(cwd)).as_bytes(), b"caf\xe9");
    assert_eq!(paths::relative(cwd, "../..", "a").as_os_str().as_bytes(), b"caf\xe9/x/a");
}

#[test]
fn a_path_with_a_nul_is_an_error() {
    assert_eq!(paths::without_nul("a\0b"), Err(paths::NulInPath));
    assert_eq!(paths::without_nul("a/b"), Ok("a/b"));
}

#[test]
fn instants_are_written_and_read_as_a_date_does() {
    for row in rows("time.format") {
        let ms: i64 = string(column(row, 0)).parse().expect("milliseconds");
        assert_eq!(timestamp::format(ms).as_deref(), column(row, 1).as_str(), "{ms}");
    }
    for row in rows("time.parse") {
        let text = string(column(row, 0));
        assert_eq!(timestamp::parse(text), column(row, 1).as_safe_integer(), "{text}");
    }
    for row in rows("time.fromNumber") {
        let text = string(column(row, 0));
        let ms = timestamp::from_number(text.parse().expect("a number"));
        assert_eq!(ms, column(row, 1).as_safe_integer(), "{text}");
    }
}

#[test]
fn what_is_no_instant_to_date_parse_or_to_rfc_3339_is_invalid() {
    for text in rows("time.invalid") {
        assert_eq!(timestamp::parse(string(text)), None, "{text:?}");
    }
    // These mean something to Date.parse, each in its own way; RFC 3339 does not know them.
    for text in [
        "2026-01-02",
        "2026-01-02T03:04Z",
        "2026-01-02T03:04:05",
        "2026-02-30T03:04:05Z",
        "2025-02-29T03:04:05Z",
        "1900-02-29T03:04:05Z",
        "2026-04-31T03:04:05Z",
        "2026-01-02T24:00:00Z",
        "0050-01-01 00:00:00Z",
        "2026-01-02T03:04:05+0100",
        "Fri, 02 Jan 2026 03:04:05 GMT",
        "Jan 2 2026",
        "0",
        "1767323045678",
    ] {
        assert_eq!(timestamp::parse(text), None, "{text:?}");
    }
}

#[test]
fn nesting_beyond_512_is_refused_on_a_small_stack() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let check = move || {
        assert_eq!(json::stringify(&parsed(&nested(512))), nested(512));
        assert!(json::parse(nested(513).as_bytes()).is_err());
        assert!(json::parse("[".repeat(65_536).as_bytes()).is_err());
        assert!(json::parse("{\"a\":".repeat(13_000).as_bytes()).is_err());
        let objects = parsed(&format!("{}1{}", "{\"a\":".repeat(512), "}".repeat(512)));
        assert_eq!(json::canonical(&objects), json::stringify(&objects));
    };
    let thread = std::thread::Builder::new().stack_size(1024 * 1024).spawn(check).expect("a thread");
    thread.join().expect("the stack holds");
}

#[test]
fn a_hostile_object_costs_no_more_than_its_keys() {
    // Comparing each of these with all before it would take minutes.
    let text: String = (0..400_000).map(|i| format!("\"{}\":0,", i % 390_000)).collect();
    let value = parsed(&format!("{{{}\"x\":1}}", text));
    let object = value.as_object().expect("an object");
    assert_eq!(object.len(), 390_001);
    assert!(object.iter().take(390_000).zip(0..).all(|((key, _), i)| *key == *i.to_string()));
}

#[test]
fn an_assigned_member_keeps_its_place_and_an_index_finds_its_own() {
    let mut object = Object::new();
    for (key, value) in [("b", 1), ("10", 2), ("a", 3), ("9", 4), ("b", 5)] {
        object.set(key, value);
    }
    object.remove("a");
    let object = object.with("c", Some("x")).with("d", None::<i64>);
    // The first number that is no array index any more, and the last that is.
    let object = object.with("4294967295", Some("y")).with("4294967294", Some("z"));
    let printed = r#"{"9":4,"10":2,"4294967294":"z","b":5,"c":"x","4294967295":"y"}"#;
    assert_eq!(json::stringify(&object.into()), printed);
}

fn any_text() -> impl Strategy<Value = Text> {
    // Surrogates often: half of the units are one.
    prop::collection::vec(prop_oneof![any::<u16>(), 0xD800..=0xDFFFu16, 0u16..0x80], 0..12)
        .prop_map(|units| units.into_iter().collect())
}

fn any_value() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        prop::num::f64::NORMAL.prop_map(Value::Number),
        any_text().prop_map(Value::String),
    ];
    plain.prop_recursive(4, 40, 6, |inner| {
        let key = prop_oneof![any_text(), (0u32..20).prop_map(|i| Text::from(i.to_string()))];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((key, inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_value_survives_being_written_and_read(value in any_value()) {
        prop_assert_eq!(&json::parse(json::stringify(&value).as_bytes()).unwrap(), &value);
        prop_assert_eq!(&json::parse(json::pretty(&value).as_bytes()).unwrap(), &value);
    }

    #[test]
    fn many_members_at_once_are_as_one_after_the_other(
        members in prop::collection::vec((prop_oneof!["[a-c0-2]{1,2}", "[0-9]{1,11}"], 0i64..100), 0..40)
    ) {
        let mut assigned = Object::new();
        for (key, value) in &members {
            assigned.set(key.clone(), *value);
        }
        let collected: Object = members.into_iter().map(|(k, v)| (Text::from(k), Value::from(v))).collect();
        prop_assert_eq!(collected, assigned);
    }

    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = json::parse(&bytes);
    }

    #[test]
    fn a_text_is_its_units(units in prop::collection::vec(prop_oneof![any::<u16>(), 0xD800..=0xDFFFu16], 0..12)) {
        let text: Text = units.iter().copied().collect();
        prop_assert!(text.units().eq(units.iter().copied()));
        prop_assert_eq!(text.length(), units.len());
    }

    #[test]
    fn a_cut_is_a_start_or_an_end_without_half_a_pair(text in any_text(), limit in 0usize..14) {
        let units: Vec<u16> = text.units().collect();
        let (first, last) = (text.first(limit), text.last(limit));
        for cut in [&first, &last] {
            let short = units.len().min(limit);
            prop_assert!(cut.length() == short || (cut.length() + 1 == short && units.len() > limit));
        }
        prop_assert!(first.units().eq(units.iter().copied().take(first.length())));
        prop_assert!(last.units().eq(units.iter().copied().skip(units.len() - last.length())));
    }

    #[test]
    fn any_text_is_an_instant_or_none(text in "[-+]?[0-9]{4,6}-[0-9]{2}-[0-9]{2}[T ][0-9:.]{0,12}[Z+-]?[0-9:]{0,5}") {
        let _ = timestamp::parse(&text);
    }

    #[test]
    fn the_order_of_texts_is_one(a in any_text(), b in any_text(), c in any_text()) {
        prop_assert_eq!(collate::compare_text(&a, &b), collate::compare_text(&b, &a).reverse());
        if collate::compare_text(&a, &b) != Ordering::Greater && collate::compare_text(&b, &c) != Ordering::Greater {
            prop_assert_ne!(collate::compare_text(&a, &c), Ordering::Greater);
        }
    }
}
