use harnery_native::spawn::normalize_claude_result;
use harnery_native::spawn::OutputSource::{Stdout, VendorEnvelope};

use crate::{answers, broken, check, exited, fails, transport, Want};

const NAMES: transport::Names = transport::Names {
    timed_out: "claude",
    exited: "claude",
    missing:
        "claude CLI not found on PATH; install: npm install -g @anthropic-ai/claude-code  then authenticate: \
              run `claude` and use /login",
};

#[test]
fn claude_results_are_judged_by_their_transport_first() {
    check(normalize_claude_result, transport::rows(&NAMES));
}

#[test]
fn a_claude_envelope_is_the_answer() {
    let rows = vec![
        (exited(0).out(r#"{"result":"done"}"#), answers("done")),
        (
            exited(0).out(r#"{"type":"result","result":"done","session_id":"s1","total_cost_usd":0.02}"#),
            answers("done").session("s1").cost(0.02),
        ),
        (exited(0).out(" \n{\"result\":\" kept as it is \"}\n"), answers(" kept as it is ")),
        (exited(0).out(r#"{"result":""}"#), answers("")),
        (exited(0).out(r#"{"result":null}"#), answers("")),
        (exited(0).out("{}"), answers("")),
        (exited(0).out(r#"{"result":"a","is_error":false}"#), answers("a")),
        (exited(0).out(r#"{"result":"a","is_error":0}"#), answers("a")),
        (exited(0).out(r#"{"result":"a","is_error":""}"#), answers("a")),
        (exited(0).out(r#"{"result":"a","is_error":null}"#), answers("a")),
        (exited(0).out(r#"{"result":"HTTP 503","subtype":"success"}"#), answers("HTTP 503")),
        (exited(0).out(r#"{"result":"no","stop_reason":"refusal"}"#), answers("no")),
        (exited(0).out(r#"{"result":5}"#), answers("5")),
        (exited(0).out(r#"{"result":1e21}"#), answers("1e+21")),
        (exited(0).out(r#"{"result":true}"#), answers("true")),
        (exited(0).out(r#"{"result":{"a":1}}"#), answers("[object Object]")),
        (exited(0).out(r#"{"result":["a",null,[1,2],{}]}"#), answers("a,,1,2,[object Object]")),
        (
            exited(0).out(r#"{"result":"a","session_id":"","total_cost_usd":0}"#),
            answers("a").session("").cost(0.0),
        ),
        (exited(0).out(r#"{"result":"a","session_id":7,"total_cost_usd":"1"}"#), answers("a")),
        (exited(0).out(r#"{"result":"\ud83d"}"#), answers(broken("\u{FFFD}"))),
        (exited(0).out(r#"{"result":"a","result":"b"}"#), answers("b")),
        // JSON that is no object has no members, as in JavaScript.
        (exited(0).out("[]"), answers("")),
        (exited(0).out("5"), answers("")),
        (exited(0).out("\"text\""), answers("")),
        // What else a program says does not count once it has ended well.
        (exited(0).out(r#"{"result":"a"}"#).err("HTTP 503"), answers("a")),
        (exited(0).out(r#"{"result":"a"}"#).file("b"), answers("a")),
        (exited(0).out(r#"{"result":"a"}"#).errno("EACCES"), answers("a")),
        (exited(0).out(r#"{"result":"a"}"#).after(7.5), answers("a").after(7.5)),
    ];
    assert!(transport::rows(&NAMES).len() + check(normalize_claude_result, rows) >= 60);
}

fn no_json(start: &str) -> Want {
    fails(format!("result envelope was not JSON: {start}"))
}

#[test]
fn claude_stdout_that_is_no_json_is_a_failure_of_the_work() {
    let long = "x".repeat(301);
    let pair = format!("{}\u{1F600}", "x".repeat(299));
    let rows = vec![
        (exited(0), no_json("")),
        (exited(0).out("plain"), no_json("plain").said(Stdout, "plain")),
        (exited(0).out(" a \n"), no_json(" a \n").said(Stdout, "a")),
        (exited(0).out("   "), no_json("   ")),
        (exited(0).out("null"), no_json("null").said(Stdout, "null")),
        (exited(0).out("{\"result\":\"a\""), no_json("{\"result\":\"a\"").said(Stdout, "{\"result\":\"a\"")),
        (exited(0).out("{} {}"), no_json("{} {}").said(Stdout, "{} {}")),
        (exited(0).out("\u{feff}{}"), no_json("\u{feff}{}").said(Stdout, "{}")),
        // A text that names a refusal is still no refusal of the vendor's.
        (exited(0).out("HTTP 503"), no_json("HTTP 503").said(Stdout, "HTTP 503")),
        (exited(0).out(long.as_str()), no_json(&long[..300]).said(Stdout, long.as_str())),
        (exited(0).out(pair.as_str()), no_json(&pair[..299]).said(Stdout, pair.as_str())),
    ];
    check(normalize_claude_result, rows);
}

fn reported(subtype: &str, errors: &str) -> Want {
    fails(format!("adapter error ({subtype}): {errors}"))
}

#[test]
fn an_error_in_a_claude_envelope_keeps_what_was_said() {
    let envelope = |text: &str| exited(0).out(text);
    let stdout = |want: Want, text: &str| want.said(Stdout, text);
    let rows = vec![
        (
            envelope(
                r#"{"is_error":true,"subtype":"error_max_turns","errors":["a","b"],"result":"half","session_id":"s"}"#,
            ),
            reported("error_max_turns", "a; b").session("s").said(VendorEnvelope, "half"),
        ),
        (
            envelope(r#"{"is_error":true,"result":"half","total_cost_usd":1.5}"#),
            reported("unknown", "see envelope").cost(1.5).said(VendorEnvelope, "half"),
        ),
        (
            envelope(r#"{"is_error":true}"#),
            stdout(reported("unknown", "see envelope"), r#"{"is_error":true}"#),
        ),
        (envelope(r#" {"is_error":1} "#), stdout(reported("unknown", "see envelope"), r#"{"is_error":1}"#)),
        (
            envelope(r#"{"is_error":"false","result":""}"#),
            stdout(reported("unknown", "see envelope"), r#"{"is_error":"false","result":""}"#),
        ),
        (
            envelope(r#"{"is_error":[],"result":5}"#),
            stdout(reported("unknown", "see envelope"), r#"{"is_error":[],"result":5}"#),
        ),
        (
            envelope(r#"{"is_error":true,"subtype":null,"errors":null,"result":"r"}"#),
            reported("unknown", "see envelope").said(VendorEnvelope, "r"),
        ),
        (
            envelope(r#"{"is_error":true,"errors":[],"result":"r"}"#),
            reported("unknown", "see envelope").said(VendorEnvelope, "r"),
        ),
        (
            envelope(r#"{"is_error":true,"errors":[""],"result":"r"}"#),
            reported("unknown", "see envelope").said(VendorEnvelope, "r"),
        ),
        (
            envelope(r#"{"is_error":true,"errors":["",null],"result":"r"}"#),
            reported("unknown", "; ").said(VendorEnvelope, "r"),
        ),
        (
            envelope(r#"{"is_error":true,"errors":[1,true],"result":"r"}"#),
            reported("unknown", "1; true").said(VendorEnvelope, "r"),
        ),
        (
            envelope(r#"{"is_error":true,"errors":"text","result":"r"}"#),
            reported("unknown", "see envelope").said(VendorEnvelope, "r"),
        ),
        (
            envelope(r#"{"is_error":true,"subtype":"","result":"r"}"#),
            reported("", "see envelope").said(VendorEnvelope, "r"),
        ),
        (
            envelope(r#"{"is_error":true,"result":" r "}"#),
            reported("unknown", "see envelope").said(VendorEnvelope, " r "),
        ),
    ];
    check(normalize_claude_result, rows);
}

#[test]
fn upstream_is_judged_over_subtype_errors_and_result_of_a_claude_envelope() {
    let rows = vec![
        (
            exited(0).out(r#"{"is_error":true,"subtype":"rate_limit","result":"r"}"#),
            reported("rate_limit", "see envelope").upstream().said(VendorEnvelope, "r"),
        ),
        (
            exited(0).out(
                r#"{"is_error":true,"subtype":"api_error","errors":["provider is overloaded"],"result":"r"}"#,
            ),
            reported("api_error", "provider is overloaded").upstream().said(VendorEnvelope, "r"),
        ),
        (
            exited(0).out(r#"{"is_error":true,"result":"API Error: HTTP 529"}"#),
            reported("unknown", "see envelope").upstream().said(VendorEnvelope, "API Error: HTTP 529"),
        ),
        // Parts are joined by a blank, so a status can stand at the start only in the subtype …
        (
            exited(0).out(r#"{"is_error":true,"subtype":"503","errors":["unavailable"],"result":"r"}"#),
            reported("503", "unavailable").upstream().said(VendorEnvelope, "r"),
        ),
        // … or where nothing stands before it.
        (
            exited(0).out(r#"{"is_error":true,"result":"503 unavailable"}"#),
            reported("unknown", "see envelope").upstream().said(VendorEnvelope, "503 unavailable"),
        ),
        (
            exited(0).out(r#"{"is_error":true,"subtype":"error","result":"503 unavailable"}"#),
            reported("error", "see envelope").said(VendorEnvelope, "503 unavailable"),
        ),
        (
            exited(0).out(r#"{"is_error":true,"subtype":"error","errors":["took 503 s"],"result":"r"}"#),
            reported("error", "took 503 s").said(VendorEnvelope, "r"),
        ),
        // Standard error is not part of the envelope.
        (
            exited(0).out(r#"{"is_error":true,"result":"r"}"#).err("HTTP 503"),
            reported("unknown", "see envelope").said(VendorEnvelope, "r"),
        ),
    ];
    check(normalize_claude_result, rows);
}

#[test]
fn a_claude_envelope_that_says_so_is_a_refusal_and_nothing_else_is() {
    let refusing = r#"{"is_error":true,"stop_reason":"refusal","result":"I cannot"}"#;
    let silent = r#"{"is_error":true,"stop_reason":"refusal"}"#;
    let said = |want: Want| want.said(VendorEnvelope, "I cannot");
    let rows = vec![
        (exited(0).out(refusing), said(reported("unknown", "see envelope")).refused()),
        (exited(0).out(silent), reported("unknown", "see envelope").said(Stdout, silent).refused()),
        (exited(1).out(refusing), said(fails(format!("claude exited 1: {refusing}"))).refused()),
        (
            exited(0).timed_out().out(refusing),
            said(fails("claude timed out after 12ms and was killed")).refused(),
        ),
        (
            exited(0).out(r#"{"is_error":true,"stop_reason":"Refusal","result":"I cannot"}"#),
            said(reported("unknown", "see envelope")),
        ),
        (
            exited(0).out(r#"{"is_error":true,"stop_reason":["refusal"],"result":"I cannot"}"#),
            said(reported("unknown", "see envelope")),
        ),
        (
            exited(0)
                .out(r#"{"is_error":true,"stop_reason":"end_turn","subtype":"refusal","result":"I cannot"}"#),
            said(reported("refusal", "see envelope")),
        ),
        (
            exited(0).out(r#"{"is_error":true,"message":{"stop_reason":"refusal"},"result":"I cannot"}"#),
            said(reported("unknown", "see envelope")),
        ),
        (exited(0).out("refusal"), no_json("refusal").said(Stdout, "refusal")),
    ];
    check(normalize_claude_result, rows);
}

#[test]
fn a_claude_run_that_failed_by_transport_keeps_its_envelope_s_answer_alone() {
    let envelope = r#"{"result":"half","session_id":"s","total_cost_usd":1}"#;
    let rows = vec![
        (
            exited(0).timed_out().out(envelope),
            fails("claude timed out after 12ms and was killed").said(VendorEnvelope, "half"),
        ),
        (exited(127).out(envelope), fails(NAMES.missing).said(VendorEnvelope, "half")),
        (
            exited(3).out(envelope).err("e"),
            fails(format!("claude exited 3: e\n{envelope}")).said(VendorEnvelope, "half"),
        ),
        (
            exited(3).out(r#"{"result":""}"#),
            fails(r#"claude exited 3: {"result":""}"#).said(Stdout, r#"{"result":""}"#),
        ),
        (exited(3).out(" null "), fails("claude exited 3: null").said(Stdout, "null")),
    ];
    check(normalize_claude_result, rows);
}
