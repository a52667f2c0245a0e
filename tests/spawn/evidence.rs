use harnery_native::javascript::json::{self, Value};
use harnery_native::javascript::text::Text;
use harnery_native::spawn::OutputSource::{self, FinalMessage, Stdout, VendorEnvelope};
use harnery_native::spawn::{
    normalize_claude_result, observe_spawn_failure, Effect, PartialOutput, RawResult, Refusal,
};

use crate::{broken, exited, Run};

fn partial(run: Run, text: &str, source: OutputSource) -> PartialOutput {
    observe_spawn_failure(&run.0, &text.into(), source).partial_output
}

#[test]
fn only_a_program_that_was_not_there_is_known_to_have_done_nothing() {
    let effect = |run: Run| observe_spawn_failure(&run.0, &Text::default(), Stdout).effect;
    assert_eq!(effect(exited(127).errno("ENOENT")), Effect::NoneAsNeverStarted);
    for run in [
        exited(127),
        exited(0),
        exited(1).err("ENOENT"),
        exited(127).errno("EACCES"),
        exited(127).errno("ENOENT "),
        exited(0).timed_out(),
        exited(1).err("HTTP 503"),
    ] {
        assert_eq!(effect(run.clone()), Effect::Unknown, "{run:?}");
    }
}

#[test]
fn an_empty_text_is_absent_unless_the_program_was_killed() {
    for source in OutputSource::ALL {
        let absent = PartialOutput::Absent { source };
        assert_eq!(partial(exited(0), "", source), absent);
        assert_eq!(partial(exited(1), "", source), absent);
        assert_eq!(partial(exited(127).errno("ENOENT"), "", source), absent);
        assert_eq!(partial(exited(0).timed_out(), "", source), PartialOutput::Unknown);
    }
}

#[test]
fn a_text_is_present_with_the_length_and_hash_of_its_utf_8() {
    let present =
        |bytes, sha256: &str| PartialOutput::Present { source: Stdout, bytes, sha256: sha256.into() };
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(partial(exited(1), "abc", Stdout), present(3, hash));
    assert_eq!(partial(exited(0).timed_out(), "abc", Stdout), present(3, hash));
    let hash = "36a9e7f1c95b82ffb99743e0c5c4ce95d83c9a430aac59f84ef3cbfab6145068";
    assert_eq!(partial(exited(1), " ", Stdout), present(1, hash));
    // A lone surrogate is hashed as the U+FFFD that Buffer.from and TextEncoder make of it.
    let lone = observe_spawn_failure(&exited(1).0, &broken("\u{FFFD}"), Stdout).partial_output;
    assert_eq!(lone, partial(exited(1), "\u{FFFD}", Stdout));
    assert!(matches!(lone, PartialOutput::Present { bytes: 3, .. }));
}

#[test]
fn a_refusal_is_read_from_an_envelope_only() {
    let refusing = exited(1).out(r#"{"stop_reason":"refusal","result":"no"}"#).0;
    let refusal = |raw: &RawResult, source| observe_spawn_failure(raw, &"no".into(), source).refusal;
    let refused = Refusal::Refused { reference: "stop_reason:refusal" };
    assert_eq!(refusal(&refusing, VendorEnvelope), refused);
    assert_eq!(refusal(&refusing, Stdout), Refusal::Unknown);
    assert_eq!(refusal(&refusing, FinalMessage), Refusal::Unknown);
    for stdout in
        ["", "null", "refusal", r#"{"stop_reason":"end_turn"}"#, r#"{"a":{"stop_reason":"refusal"}}"#]
    {
        assert_eq!(refusal(&exited(1).out(stdout).0, VendorEnvelope), Refusal::Unknown, "{stdout}");
    }
}

#[test]
fn results_have_the_members_that_the_harness_reads() {
    let printed = |run: Run| json::stringify(&Value::from(normalize_claude_result(&run.0)));
    assert_eq!(
        printed(exited(0).out(r#"{"result":"a","session_id":"s","total_cost_usd":0.5}"#)),
        r#"{"ok":true,"text":"a","sessionId":"s","costUsd":0.5,"durationMs":12}"#
    );
    assert_eq!(
        printed(exited(1).err("HTTP 503")),
        concat!(
            r#"{"ok":false,"text":"","durationMs":12,"error":"claude exited 1: HTTP 503","class":"upstream","#,
            r#""failureEvidence":{"effect":{"state":"unknown"},"refusal":{"state":"unknown"},"#,
            r#""partial_output":{"state":"absent","source":"stdout"}}}"#
        )
    );
    assert_eq!(
        printed(exited(0).timed_out()),
        concat!(
            r#"{"ok":false,"text":"","durationMs":12,"error":"claude timed out after 12ms and was killed","#,
            r#""failureEvidence":{"effect":{"state":"unknown"},"refusal":{"state":"unknown"},"#,
            r#""partial_output":{"state":"unknown"}}}"#
        )
    );
    let missing = printed(exited(127).errno("ENOENT"));
    assert!(missing.contains(
        r#""class":"environment","failureEvidence":{"effect":{"state":"none","source":"spawn_errno","reference":"ENOENT"}"#
    ));
    let refusing = printed(exited(0).out(r#"{"is_error":true,"stop_reason":"refusal","result":"abc"}"#));
    assert!(refusing.ends_with(concat!(
        r#""refusal":{"state":"refused","source":"vendor_envelope","reference":"stop_reason:refusal"},"#,
        r#""partial_output":{"state":"present","source":"vendor_envelope","bytes":3,"#,
        r#""sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}}}"#
    )));
}
