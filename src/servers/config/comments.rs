//! Comments of JSON text: `//` to the end of the line and `/* */`, outside strings.

/// The text with a blank for each comment; `None` when one does not end.
///
/// Bytes are enough: what opens and closes comments and strings is ASCII, which is never part of another character.
pub(super) fn strip(text: &[u8]) -> Option<Vec<u8>> {
    let mut kept = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(&byte) = rest.first() {
        let length = match rest {
            [b'"', ..] => {
                let length = string_length(rest);
                kept.extend_from_slice(&rest[..length]);
                length
            }
            [b'/', b'/', ..] => {
                kept.push(b' ');
                rest.iter().take_while(|byte| !matches!(byte, b'\n' | b'\r')).count()
            }
            [b'/', b'*', inside @ ..] => {
                kept.push(b' ');
                4 + inside.windows(2).position(|two| two == b"*/")?
            }
            _ => {
                kept.push(byte);
                1
            }
        };
        rest = &rest[length..];
    }
    Some(kept)
}

/// How long the string at the start of the text is, quotes included; one that does not end takes all.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::strip;

    fn stripped(text: &str) -> Option<String> {
        strip(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn comments_become_blanks_and_strings_stay() {
        let text = "{ // one\n\"a//b\": \"/* \\\" */\", /* two\n*/ \"c\\\\\": 1/**/2 }//";
        let kept = "{  \n\"a//b\": \"/* \\\" */\",   \"c\\\\\": 1 2 } ";
        assert_eq!(stripped(text).as_deref(), Some(kept));
    }

    #[test]
    fn a_comment_that_does_not_end_is_an_error() {
        assert_eq!(stripped("{} /* "), None);
        assert_eq!(stripped("{} /*/"), None);
        assert_eq!(stripped("{} /**/").as_deref(), Some("{}  "));
    }

    #[test]
    fn a_lone_slash_and_an_open_string_are_left_to_the_parser() {
        assert_eq!(stripped("1 / 2").as_deref(), Some("1 / 2"));
        assert_eq!(stripped("\"a // \\").as_deref(), Some("\"a // \\"));
    }
}
