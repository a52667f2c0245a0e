use harnery_native::javascript::text::Text;
use harnery_native::spawn::{is_upstream_failure_text, vendor_failure_text};
use proptest::prelude::*;

use crate::broken;

#[test]
fn a_status_counts_where_a_status_stands() {
    for text in [
        // After HTTP.
        "HTTP 429",
        "http 500",
        "HTTP/1.1 503 Service",
        "HTTP/2 599",
        "HTTP/1.1  502.",
        "HTTP  .. 504",
        "got HTTP 503!",
        "(HTTP 503)",
        "HTTP 1503",
        "HTTP/503",
        "HTTP 200 503",
        "HTTP 4290 500",
        "HTTP 404, HTTP 503",
        // After status, or status code.
        "status 500",
        "Status: 429",
        "STATUS=502",
        "status:=: 503",
        "status\t503",
        "status\n\u{a0}503",
        "status code 502",
        "status code: 502",
        "status  \n code=502",
        "statuscode 503",
        "statusCode: 503",
        "exit status 500",
        "status:status 500",
        "the status 503.",
        // At the start of the text or of a line.
        "503 Service",
        "429 items",
        "  \t529 Overload",
        "log\n503 S",
        "log\n\n \r\n 503 S",
        "503\nService",
        "503 \u{a0} x",
        "\u{feff}503 x",
        "\r503 x",
    ] {
        assert!(is_upstream_failure_text(&text.into()), "{text:?}");
    }
}

#[test]
fn a_number_elsewhere_is_no_status() {
    for text in [
        "",
        "429",
        "503",
        "503 ",
        "503 !",
        "503: Service",
        "503-Service",
        "503Service",
        "5031 Service",
        "503 9 x",
        "429 é",
        "got 429 items",
        "at line 500",
        "id 5031",
        "after 502 seconds",
        "log\r503 S",
        "x 503 S",
        "- 503 S",
        "499 x",
        "430 x",
        "600 x",
        "50 x",
        "5x0 y",
        "\u{ff15}03 x",
        "HTTP 404",
        "HTTP 428",
        "HTTP 5031",
        "HTTP 4295",
        "HTTP 50",
        "HTTP: 503",
        "HTTP\t503",
        "HTTP-503",
        "HTTP error 503",
        "HTTP503",
        "HTTPS 503",
        "xHTTP 503",
        "_http 503",
        "9http 503",
        "HTTP_503",
        "HTTP v1 503",
        "status 404",
        "status 5000",
        "status500",
        "status_500",
        "status-500",
        "status, 500",
        "status (500)",
        "status is 500",
        "statuses 500",
        "mystatus 500",
        "status codes 500",
        "status code500",
        "status code x 500",
        "status codecode 500",
        "code 500",
        "status: 1 500",
        "status /500",
    ] {
        assert!(!is_upstream_failure_text(&text.into()), "{text:?}");
    }
}

#[test]
fn a_few_phrases_count_in_any_case_and_nothing_near_them() {
    for text in [
        "circuit open",
        "circuit_open",
        "circuit-open",
        "circuitOpen",
        "Rate Limit exceeded",
        "rate_limit_error",
        "rate-limited",
        "RateLimitError",
        "Service Unavailable",
        "TOO MANY REQUESTS",
        "bad gateway",
        "Internal Server Error",
        "gateway timeout",
        "gateway time-out",
        "Overloaded",
        "preoverloadeds",
    ] {
        assert!(is_upstream_failure_text(&text.into()), "{text:?}");
    }
    for text in [
        "circuit  open",
        "circuit\topen",
        "circuit.open",
        "open circuit",
        "rate  limit",
        "rate: limit",
        "service  unavailable",
        "service-unavailable",
        "too-many-requests",
        "too many  requests",
        "bad_gateway",
        "internal server\nerror",
        "internal error",
        "gateway  timeout",
        "gateway-timeout",
        "gateway time out",
        "gateway time--out",
        "overload",
        "over loaded",
        "timeout",
        "unavailable",
        "rate lim\u{131}t",
        "\u{17f}ervice unavailable",
    ] {
        assert!(!is_upstream_failure_text(&text.into()), "{text:?}");
    }
}

#[test]
fn a_lone_surrogate_is_neither_a_word_nor_a_blank() {
    assert!(is_upstream_failure_text(&broken("\u{FFFD}HTTP 503\u{FFFD}")));
    assert!(!is_upstream_failure_text(&broken("\u{FFFD}503 x")));
}

fn text_of(stderr: &str, stdout: &str, max_chars: usize) -> String {
    vendor_failure_text(&stderr.into(), &stdout.into(), max_chars).to_string()
}

#[test]
fn the_failure_s_text_is_stderr_then_stdout_without_blanks() {
    assert_eq!(text_of("", "", 500), "");
    assert_eq!(text_of("  ", "\n", 500), "");
    assert_eq!(text_of("first", "second", 500), "first\nsecond");
    assert_eq!(text_of(" first\n", "\tsecond ", 500), "first\nsecond");
    assert_eq!(text_of("first", " ", 500), "first");
    assert_eq!(text_of("\u{feff}", "second", 500), "second");
    assert_eq!(text_of("a  b", "c\nd", 500), "a  b\nc\nd");
}

#[test]
fn the_last_characters_are_kept() {
    assert_eq!(text_of("abc", "def", 7), "abc\ndef");
    assert_eq!(text_of("abc", "def", 6), "…bc\ndef");
    assert_eq!(text_of("abc", "def", 4), "…\ndef");
    assert_eq!(text_of("abc", "", 1), "…c");
    assert_eq!(text_of("abc", "", 0), "…");
    assert_eq!(text_of("", "", 0), "");
    // Characters are UTF-16 code units; half a pair at the cut goes.
    assert_eq!(text_of("a\u{1F600}b", "", 4), "a\u{1F600}b");
    assert_eq!(text_of("a\u{1F600}b", "", 3), "…\u{1F600}b");
    assert_eq!(text_of("a\u{1F600}b", "", 2), "…b");
    let kept = vendor_failure_text(&broken("ab\u{FFFD}"), &Text::default(), 2);
    assert!(kept.units().eq([0x2026, u16::from(b'b'), 0xD83D]));
}

proptest! {
    #[test]
    fn any_text_is_judged(text in "(HTTP|status|code|[ \t\n:=./_-]|429|5[0-9]{2}|[0-9]|[a-z]|é){0,20}") {
        let found = is_upstream_failure_text(&text.as_str().into());
        // Digits are needed, or a phrase, which these letters hardly make.
        prop_assert!(!found || text.contains(|c: char| c.is_ascii_digit()) || text.contains("overloaded"));
    }
}
