//! Where the members of an object stand in its text, for whoever needs a few of them and hands the text on as it is.

use super::check::{skip_value, Cursor};

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The part of the text that it was found in. Empty for what is not there.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// Nesting beyond this is left to the parser, which has a limit of its own.
const MAX_DEPTH: usize = 64;

/// The values of these members as they are written, empty for a member that is not there. The whole text is checked.
///
/// `None` when the text is no object, and when looking is not enough to tell what parsing would give: a member that is
/// looked for twice, an escape in a name, deep nesting.
pub fn outline<const N: usize>(text: &str, keys: &[&str; N]) -> Option<[Span; N]> {
    let mut cursor = Cursor::new(text.as_bytes());
    let mut spans = [Span::default(); N];
    let mut nesting = Vec::new();
    cursor.blanks();
    cursor.took(b'{')?;
    cursor.blanks();
    // Members come mostly in the order in which they are asked for.
    let mut expected = 0;
    let mut more = cursor.took(b'}').is_none();
    while more {
        let name = plain_name(&mut cursor, text)?;
        let start = cursor.at();
        skip_value(&mut cursor, &mut nesting, MAX_DEPTH)?;
        let end = cursor.at();
        let (before, from_expected) = keys.split_at(expected);
        let place = from_expected.iter().chain(before).position(|key| *key == name);
        if let Some(place) = place.map(|place| (expected + place) % N) {
            if spans[place] != Span::default() {
                return None;
            }
            spans[place] = Span { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? };
            expected = (place + 1) % N;
        }
        cursor.blanks();
        more = cursor.took(b',').is_some();
        if more {
            cursor.blanks();
        } else {
            cursor.took(b'}')?;
        }
    }
    cursor.blanks();
    cursor.is_at_end().then_some(spans)
}

/// What a string's text stands for, when there is no escape in it; `None` for any other value.
pub fn plain_string(value: &str) -> Option<&str> {
    let inside = value.strip_prefix('"')?.strip_suffix('"')?;
    (!inside.as_bytes().contains(&b'\\')).then_some(inside)
}

/// A member's name, up to where its value begins; `None` when it has an escape, or is none.
fn plain_name<'t>(cursor: &mut Cursor<'_>, text: &'t str) -> Option<&'t str> {
    cursor.took(b'"')?;
    let start = cursor.at();
    cursor.plain();
    let name = text.get(start..cursor.at())?;
    cursor.took(b'"')?;
    cursor.blanks();
    cursor.took(b':')?;
    cursor.blanks();
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::javascript::json::{parse, Value};
    use proptest::prelude::*;

    const KEYS: [&str; 3] = ["a", "b", "c"];

    fn outlined(text: &str) -> Option<[&str; 3]> {
        outline(text, &KEYS).map(|spans| spans.map(|span| span.of(text)))
    }

    #[test]
    fn members_are_found_as_they_are_written_in_whatever_order() {
        assert_eq!(outlined(r#"{"a":1,"b":"x","c":{"a":[2]}}"#), Some(["1", r#""x""#, r#"{"a":[2]}"#]));
        assert_eq!(outlined(" {\"c\" : 1e3 , \"x\":\"\\u0061\",\"a\": null }\n"), Some(["null", "", "1e3"]));
        assert_eq!(outlined("{}"), Some(["", "", ""]));
    }

    #[test]
    fn what_parsing_would_have_to_decide_is_not_outlined() {
        let deep = format!(r#"{{"x":{}{}}}"#, "[".repeat(66), "]".repeat(66));
        for text in
            [r#"{"a":1,"a":2}"#, r#"{"\u0061":1}"#, "[]", "1", "", "{", r#"{"a":1}}"#, r#"{"a":1,}"#, &deep]
        {
            assert_eq!(outlined(text), None, "{text}");
        }
    }

    #[test]
    fn a_plain_string_is_what_stands_between_its_quotes() {
        assert_eq!(plain_string(r#""grün""#), Some("grün"));
        for value in [r#""\n""#, "1", "", "null", "\""] {
            assert_eq!(plain_string(value), None, "{value}");
        }
    }

    proptest! {
        #[test]
        fn an_outline_is_what_parsing_gives(text in r#"\{("(a|b|c|\\u0061|é)":(1|"x"|"\\n"|null|\{"a":2\}|\[\]|), ?){0,4}"[abc]":(-0\.5|tru|true|"é")\}?"#) {
            let parsed = parse(text.as_bytes()).ok();
            if let Some(spans) = outline(&text, &KEYS) {
                let Some(Value::Object(object)) = parsed else { panic!("{text} is no object") };
                for (key, span) in KEYS.into_iter().zip(spans) {
                    let value = span.of(&text);
                    let value_parsed = parse(value.as_bytes()).ok();
                    prop_assert_eq!(object.get(key), value_parsed.as_ref());
                    prop_assert!(plain_string(value).is_none_or(|plain| object.get(key).unwrap().as_str() == Some(plain)));
                }
            }
        }
    }
}
