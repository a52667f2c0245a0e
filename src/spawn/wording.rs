//! What the text of a failure says: its end, where the reason is, and whether the vendor refused.

use crate::javascript::text::{is_white_space, Text};

/// Characters of a failure's text that are kept when nobody says otherwise.
pub const DEFAULT_MAX_CHARS: usize = 500;

/// What a finished program said about its failure: stderr, then stdout, without the blanks around them.
///
/// Of a longer text the **last** `max_chars` characters are kept, after `…`: programs print their banner first and the
/// reason last.
pub fn vendor_failure_text(stderr: &Text, stdout: &Text, max_chars: usize) -> Text {
    let mut said = stderr.trim();
    let stdout = stdout.trim();
    if !said.is_empty() && !stdout.is_empty() {
        said.push_str("\n");
    }
    said.push_text(&stdout);
    if said.length() <= max_chars {
        return said;
    }
    let mut kept = Text::from("…");
    kept.push_text(&said.last(max_chars));
    kept
}

/// Whether a failure's text says that the vendor was reached and refused: a status of 429 or 500 to 599 where a
/// status stands, or one of a few phrases. Case does not count.
///
/// It is kept tight: a number alone may be a line, a count or a duration, and then the failure is the work's own.
pub fn is_upstream_failure_text(text: &Text) -> bool {
    let text = text.to_string_lossy().to_ascii_lowercase();
    PHRASES.iter().any(|phrase| text.contains(phrase))
        || status_after_http(&text)
        || status_after_status(&text)
        || status_at_line_start(&text)
}

const PHRASES: [&str; 15] = [
    "circuitopen",
    "circuit open",
    "circuit_open",
    "circuit-open",
    "ratelimit",
    "rate limit",
    "rate_limit",
    "rate-limit",
    "service unavailable",
    "too many requests",
    "overloaded",
    "bad gateway",
    "gateway timeout",
    "gateway time-out",
    "internal server error",
];

/// `HTTP 429`, `HTTP/1.1 503 …`.
fn status_after_http(text: &str) -> bool {
    after_word_start(text, "http").filter(|rest| word_ends(rest)).any(|rest| {
        let label = rest.trim_start_matches(|c| matches!(c, '/' | '0'..='9' | '.' | ' '));
        // The status is itself part of the run of digits and dots.
        (0..rest.len() - label.len()).any(|at| starts_with_status(&rest[at..]))
    })
}

/// `status 500`, `status: 429`, `status code 502`, `statusCode=503`.
fn status_after_status(text: &str) -> bool {
    after_word_start(text, "status").any(|rest| {
        let code = rest.trim_start_matches(is_white_space).strip_prefix("code");
        code.into_iter().chain([rest]).filter(|rest| word_ends(rest)).any(|rest| {
            starts_with_status(rest.trim_start_matches(|c| is_white_space(c) || matches!(c, ':' | '=')))
        })
    })
}

/// `503 Service Unavailable` on a line of its own: the status, white space, and a letter to begin the reason.
fn status_at_line_start(text: &str) -> bool {
    let mut at_start = true;
    text.char_indices().any(|(at, c)| {
        let found = at_start && starts_with_status(&text[at..]) && {
            let rest = &text[at + 3..];
            let reason = rest.trim_start_matches(is_white_space);
            reason.len() < rest.len() && reason.starts_with(|c: char| c.is_ascii_alphabetic())
        };
        at_start = c == '\n' || (at_start && is_white_space(c));
        found
    })
}

/// 429 or 5 and two digits, and no digit after them.
fn starts_with_status(text: &str) -> bool {
    match text.as_bytes() {
        [b'4', b'2', b'9', after @ ..] | [b'5', b'0'..=b'9', b'0'..=b'9', after @ ..] => {
            !after.first().is_some_and(u8::is_ascii_digit)
        }
        _ => false,
    }
}

/// What stands behind each place where a word begins with `start`.
fn after_word_start<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(start)
        .filter(|(at, _)| !text[..*at].ends_with(is_word))
        .map(|(at, found)| &text[at + found.len()..])
}

fn word_ends(rest: &str) -> bool {
    !rest.starts_with(is_word)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
