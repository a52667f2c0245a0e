use harnery_native::javascript::text::Text;
use harnery_native::spawn::OutputSource::{Stdout, VendorEnvelope};
use harnery_native::spawn::{normalize_opencode_result, parse_opencode_stream, OpenCodeStream};

use crate::{answers, broken, check, exited, fails, transport};

const NAMES: transport::Names = transport::Names {
    timed_out: "opencode",
    exited: "opencode",
    missing: "opencode CLI not found on PATH; install: curl -fsSL https://opencode.ai/install | bash  then \
              authenticate: opencode auth login",
};

#[test]
fn opencode_results_are_judged_by_their_transport_first() {
    check(normalize_opencode_result, transport::rows(&NAMES));
}

fn text(part: &str) -> String {
    format!("{{\"type\":\"text\",\"sessionID\":\"s\",\"part\":{{\"type\":\"text\",\"text\":\"{part}\"}}}}\n")
}

#[test]
fn the_text_parts_of_an_opencode_stream_are_the_answer() {
    let (hello, world) = (text("Hello, "), text("world."));
    let rows = vec![
        (exited(0), answers("")),
        (exited(0).out(hello.as_str()), answers("Hello,").session("s")),
        (exited(0).out(format!("{hello}{world}")), answers("Hello, world.").session("s")),
        (
            exited(0).out(format!("stray log\n\n  {hello}{{broken\n{world}")),
            answers("Hello, world.").session("s"),
        ),
        (exited(0).out(format!("{hello}\r\n{world}\r\n")), answers("Hello, world.").session("s")),
        (exited(0).out(world.trim_end()), answers("world.").session("s")),
        (exited(0).out(format!("\u{feff}{}\u{a0}", world.trim_end())), answers("world.").session("s")),
        (exited(0).out(format!("{}{}", text(" a"), text("b "))), answers("ab").session("s")),
        (exited(0).out(format!("{}{}", text("a\\n"), text("\\nb"))), answers("a\n\nb").session("s")),
        // Halves of a character that come in two parts.
        (exited(0).out(format!("{}{}", text("\\ud83d"), text("\\ude00"))), answers("\u{1F600}").session("s")),
        (exited(0).out(text("\\ud83d")), answers(broken("\u{FFFD}")).session("s")),
        // The first session counts, and only one that is a text.
        (exited(0).out("{\"sessionID\":\"one\"}\n{\"sessionID\":\"two\"}"), answers("").session("one")),
        (
            exited(0).out("{\"sessionID\":\"\"}\n{\"sessionID\":7}\n{\"sessionID\":\"x\"}"),
            answers("").session("x"),
        ),
        (exited(0).out("{\"sessionid\":\"x\",\"session_id\":\"y\"}"), answers("")),
        // What is no text part.
        (exited(0).out(r#"{"type":"text","part":{"type":"text"}}"#), answers("")),
        (exited(0).out(r#"{"type":"text","part":{"text":5}}"#), answers("")),
        (exited(0).out(r#"{"type":"text","part":null}"#), answers("")),
        (exited(0).out(r#"{"type":"text","text":"a"}"#), answers("")),
        (exited(0).out(r#"{"type":"tool_use","part":{"text":"a"}}"#), answers("")),
        (exited(0).out(r#"{"type":"Text","part":{"text":"a"}}"#), answers("")),
        (exited(0).out(r#"{"part":{"type":"text","text":"a"}}"#), answers("")),
        (exited(0).out(r#"{"type":"text","part":{"type":"reasoning","text":"a"}}"#), answers("a")),
        // JSON that is no object; an array of events is one line, not several events.
        (exited(0).out(format!("null\n5\n\"s\"\n[]\n{world}")), answers("world.").session("s")),
        (exited(0).out(format!("[{}]", world.trim_end())), answers("")),
        (exited(0).out("plain answer"), answers("")),
        (exited(0).out(world.as_str()).err("HTTP 503").file("x"), answers("world.").session("s")),
        (exited(0).out(text("HTTP 503")), answers("HTTP 503").session("s")),
    ];
    assert!(transport::rows(&NAMES).len() + check(normalize_opencode_result, rows) >= 60);
}

#[test]
fn a_failed_opencode_run_keeps_its_text_and_its_session() {
    let timed_out = || fails("opencode timed out after 12ms and was killed");
    let half = text("half");
    let silent = r#"{"type":"step_start","sessionID":"s"}"#;
    let rows = vec![
        (exited(0).timed_out().out(half.as_str()), timed_out().session("s").said(VendorEnvelope, "half")),
        (exited(0).timed_out().out(format!(" {silent}\n")), timed_out().session("s").said(Stdout, silent)),
        (exited(0).timed_out().out(text(" ")), timed_out().session("s").said(Stdout, text(" ").trim())),
        (exited(0).timed_out().out(" log \n"), timed_out().said(Stdout, "log")),
        (
            exited(1).out(half.as_str()).err("e"),
            fails(format!("opencode exited 1: e\n{}", half.trim())).session("s").said(VendorEnvelope, "half"),
        ),
        (exited(127).out(half.as_str()), fails(NAMES.missing).session("s").said(VendorEnvelope, "half")),
        (
            exited(1).out(text("HTTP 503")),
            fails(format!("opencode exited 1: {}", text("HTTP 503").trim()))
                .upstream()
                .session("s")
                .said(VendorEnvelope, "HTTP 503"),
        ),
        // OpenCode documents no field that says that the model refused.
        (
            exited(1).out(r#"{"stop_reason":"refusal","type":"text","part":{"text":"no"}}"#),
            fails(r#"opencode exited 1: {"stop_reason":"refusal","type":"text","part":{"text":"no"}}"#)
                .said(VendorEnvelope, "no"),
        ),
    ];
    check(normalize_opencode_result, rows);
}

#[test]
fn an_opencode_stream_is_parsed_by_itself() {
    let stream = format!("{}stray\n{}", text("a"), text("b"));
    let parsed = parse_opencode_stream(&Text::from(stream));
    assert_eq!(parsed, OpenCodeStream { text: "ab".into(), session_id: Some("s".into()) });
    assert_eq!(parse_opencode_stream(&Text::from("not json\n{broken")), OpenCodeStream::default());
}
