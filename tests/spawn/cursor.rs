use harnery_native::javascript::text::Text;
use harnery_native::spawn::OutputSource::{Stdout, VendorEnvelope};
use harnery_native::spawn::{normalize_cursor_result, parse_cursor_output, CursorOutput};

use crate::{answers, broken, check, exited, fails, transport, Want};

const NAMES: transport::Names = transport::Names {
    timed_out: "cursor",
    exited: "cursor-agent",
    missing:
        "cursor-agent CLI not found on PATH; install: curl https://cursor.com/install -fsS | bash  then \
              authenticate: cursor-agent login",
};

#[test]
fn cursor_results_are_judged_by_their_transport_first() {
    check(normalize_cursor_result, transport::rows(&NAMES));
}

#[test]
fn a_cursor_envelope_is_the_answer_and_so_is_any_other_stdout() {
    let rows = vec![
        (exited(0).out(r#"{"result":"done","session_id":"s2"}"#), answers("done").session("s2")),
        (exited(0).out(r#"{"type":"result","is_error":false,"result":" done "}"#), answers(" done ")),
        (exited(0).out(r#"{"result":null,"session_id":null}"#), answers("")),
        (exited(0).out(r#"{"result":12,"session_id":12}"#), answers("12")),
        (exited(0).out("{}"), answers("")),
        (exited(0).out("[1]"), answers("")),
        (exited(0).out("7"), answers("")),
        (exited(0).out(r#"{"result":"a","total_cost_usd":1}"#), answers("a")),
        (exited(0).out(r#"{"result":"a","is_error":0}"#), answers("a")),
        (exited(0).out(r#"{"result":"a"}"#).file("b").err("HTTP 503"), answers("a")),
        (exited(0).out(""), answers("")),
        (exited(0).out(" plain \n"), answers(" plain \n")),
        (exited(0).out("null"), answers("null")),
        (exited(0).out("{broken"), answers("{broken")),
        (exited(0).out("HTTP 503"), answers("HTTP 503")),
        (exited(0).out(broken("\u{FFFD}")), answers(broken("\u{FFFD}"))),
        (exited(0).out(broken("{\"result\":\"\u{FFFD}\"}")), answers(broken("\u{FFFD}"))),
    ];
    check(normalize_cursor_result, rows);
}

fn reported(text: &str) -> Want {
    fails(format!("cursor-agent reported is_error: {text}"))
}

#[test]
fn an_error_in_a_cursor_envelope_is_the_failure() {
    let long = "y".repeat(301);
    let long_envelope = format!(r#"{{"is_error":true,"result":"{long}"}}"#);
    let pair = format!("{}\u{1F600}", "y".repeat(299));
    let pair_envelope = format!(r#"{{"is_error":true,"result":"{pair}"}}"#);
    let rows = vec![
        (
            exited(0).out(r#"{"is_error":true,"result":"no","session_id":"s3"}"#),
            reported("no").session("s3").said(VendorEnvelope, "no"),
        ),
        (
            exited(0).out(r#"{"is_error":true,"result":"429 too many requests"}"#),
            reported("429 too many requests").upstream().said(VendorEnvelope, "429 too many requests"),
        ),
        (
            exited(0).out(r#"{"is_error":true,"result":"at 429"}"#),
            reported("at 429").said(VendorEnvelope, "at 429"),
        ),
        (exited(0).out(r#"{"is_error":"no","result":"x"}"#), reported("x").said(VendorEnvelope, "x")),
        (exited(0).out(r#" {"is_error":true} "#), reported("").said(Stdout, r#" {"is_error":true} "#)),
        (
            exited(0).out(r#"{"is_error":{},"result":""}"#),
            reported("").said(Stdout, r#"{"is_error":{},"result":""}"#),
        ),
        (
            exited(0).out(r#"{"is_error":true,"result":503}"#),
            reported("503").said(Stdout, r#"{"is_error":true,"result":503}"#),
        ),
        (exited(0).out(long_envelope.as_str()), reported(&long[..300]).said(VendorEnvelope, long.as_str())),
        (exited(0).out(pair_envelope.as_str()), reported(&pair[..299]).said(VendorEnvelope, pair.as_str())),
        // Cursor documents no field that says that the model refused.
        (
            exited(0).out(r#"{"is_error":true,"result":"no","stop_reason":"refusal"}"#),
            reported("no").said(VendorEnvelope, "no"),
        ),
    ];
    check(normalize_cursor_result, rows);
}

#[test]
fn a_cursor_run_that_failed_by_transport_keeps_what_it_said_untrimmed() {
    let rows = vec![
        (
            exited(0).timed_out().out(" half \n"),
            fails("cursor timed out after 12ms and was killed").said(Stdout, " half \n"),
        ),
        (
            exited(0).timed_out().out("\n"),
            fails("cursor timed out after 12ms and was killed").said(Stdout, "\n"),
        ),
        (
            exited(0).timed_out().out(r#"{"result":"half","session_id":"s"}"#),
            fails("cursor timed out after 12ms and was killed").said(VendorEnvelope, "half"),
        ),
        (exited(1).out(" o ").err("e"), fails("cursor-agent exited 1: e\no").said(Stdout, " o ")),
        (
            exited(1).out(r#"{"result":"half"}"#),
            fails(r#"cursor-agent exited 1: {"result":"half"}"#).said(VendorEnvelope, "half"),
        ),
        (exited(1).out("null"), fails("cursor-agent exited 1: null").said(Stdout, "null")),
    ];
    assert!(transport::rows(&NAMES).len() + 27 + check(normalize_cursor_result, rows) >= 60);
}

#[test]
fn cursor_output_is_parsed_by_itself() {
    let parsed = |text: &str| parse_cursor_output(&Text::from(text));
    let output = |text: &str, id: Option<&str>, is_error| CursorOutput {
        text: text.into(),
        session_id: id.map(Text::from),
        is_error,
    };
    assert_eq!(parsed(r#"{"result":"a","session_id":"s","is_error":true}"#), output("a", Some("s"), true));
    assert_eq!(parsed(r#"{"result":"a"}"#), output("a", None, false));
    assert_eq!(parsed("not JSON"), output("not JSON", None, false));
    assert_eq!(parsed("null"), output("null", None, false));
    assert_eq!(parsed(""), output("", None, false));
}
