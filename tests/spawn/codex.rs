use harnery_native::spawn::normalize_codex_result;
use harnery_native::spawn::OutputSource::{FinalMessage, Stdout};

use crate::{answers, broken, check, exited, fails, transport};

const NAMES: transport::Names = transport::Names {
    timed_out: "codex",
    exited: "codex",
    missing:
        "codex CLI not found on PATH; install: npm install -g @openai/codex  then authenticate: codex login",
};

#[test]
fn codex_results_are_judged_by_their_transport_first() {
    check(normalize_codex_result, transport::rows(&NAMES));
}

#[test]
fn the_final_message_of_codex_is_the_answer_or_else_stdout() {
    let rows = vec![
        (exited(0), answers("")),
        (exited(0).out("events"), answers("events")),
        (exited(0).out(" events \n"), answers("events")),
        (exited(0).out("events").file("done\n"), answers("done")),
        (exited(0).out("events").file("\t done and more \u{a0}"), answers("done and more")),
        // A file that is there counts, even an empty one.
        (exited(0).out("events").file(""), answers("")),
        (exited(0).out("events").file(" \n"), answers("")),
        (exited(0).file("done").err("HTTP 503"), answers("done")),
        (exited(0).out(r#"{"is_error":true,"result":"x"}"#), answers(r#"{"is_error":true,"result":"x"}"#)),
        (exited(0).file("HTTP 503"), answers("HTTP 503")),
        (exited(0).file(broken("\u{FFFD} ")), answers(broken("\u{FFFD}"))),
        (exited(0).file("done").errno("EAGAIN"), answers("done")),
        (exited(0).file("done").after(3.0), answers("done").after(3.0)),
        (exited(0).out("null"), answers("null")),
    ];
    check(normalize_codex_result, rows);
}

#[test]
fn a_failed_codex_run_keeps_its_final_message_or_else_stdout() {
    let timed_out = || fails("codex timed out after 12ms and was killed");
    let rows = vec![
        (exited(0).timed_out().out("events").file(" half \n"), timed_out().said(FinalMessage, "half")),
        (exited(0).timed_out().out(" events ").file(""), timed_out().said(Stdout, "events")),
        (exited(0).timed_out().out("events").file(" \n"), timed_out().said(Stdout, "events")),
        (exited(0).timed_out().file(" \n"), timed_out().lost()),
        (exited(1).file("half"), fails("codex exited 1: ").said(FinalMessage, "half")),
        (exited(1).err("e").out("o").file("half"), fails("codex exited 1: e\no").said(FinalMessage, "half")),
        // The message is no part of the failure's text.
        (exited(1).err("e").file("HTTP 503"), fails("codex exited 1: e").said(FinalMessage, "HTTP 503")),
        (
            exited(1).out("rate limit").file("half"),
            fails("codex exited 1: rate limit").upstream().said(FinalMessage, "half"),
        ),
        (exited(1).out("o").file(""), fails("codex exited 1: o").said(Stdout, "o")),
        (exited(127).file("half"), fails(NAMES.missing).said(FinalMessage, "half")),
        (
            exited(127).errno("ENOENT").file("of an earlier run"),
            fails(NAMES.missing).never_started().said(FinalMessage, "of an earlier run"),
        ),
        (
            exited(1).file(broken("a\u{FFFD}")),
            fails("codex exited 1: ").said(FinalMessage, broken("a\u{FFFD}")),
        ),
        // Codex has no envelope that could say that the model refused.
        (
            exited(1).out(r#"{"stop_reason":"refusal"}"#),
            fails(r#"codex exited 1: {"stop_reason":"refusal"}"#)
                .said(Stdout, r#"{"stop_reason":"refusal"}"#),
        ),
        (
            exited(1).file(r#"{"stop_reason":"refusal"}"#),
            fails("codex exited 1: ").said(FinalMessage, r#"{"stop_reason":"refusal"}"#),
        ),
    ];
    assert!(transport::rows(&NAMES).len() + 14 + check(normalize_codex_result, rows) >= 60);
}
