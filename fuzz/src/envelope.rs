//! What an agent program left behind: no claim without its evidence, whatever the program wrote.

use harnery_native::javascript::json::{parse, sha256_hex, stringify, Value};
use harnery_native::javascript::text::Text;
use harnery_native::spawn::{
    is_upstream_failure_text, normalize_claude_result, normalize_codex_result, normalize_cursor_result,
    normalize_opencode_result, vendor_failure_text, Effect, PartialOutput, RawResult, Refusal, SpawnResult,
};

use super::wording::says_upstream;

type Normalize = fn(&RawResult) -> SpawnResult;
const VENDORS: [Normalize; 4] =
    [normalize_claude_result, normalize_codex_result, normalize_cursor_result, normalize_opencode_result];

/// The first byte says how the program ended; what it wrote follows, parts ended by NULs: stdout, stderr, its final message.
pub fn hold(bytes: &[u8]) {
    let Some((end, written)) = bytes.split_first() else { return };
    let mut parts =
        written.split(|byte| *byte == 0).map(|part| Text::from(String::from_utf8_lossy(part).into_owned()));
    let raw = RawResult {
        stdout: parts.next().unwrap_or_default(),
        stderr: parts.next().unwrap_or_default(),
        result_file_text: parts.next(),
        exit_code: [0, 0, 1, 127][usize::from(end & 3)],
        timed_out: end & 4 != 0,
        spawn_errno: [None, None, Some("ENOENT"), Some("EACCES")][usize::from(end >> 3 & 3)].map(Text::from),
        duration_ms: 12.5,
    };
    for normalize in VENDORS {
        holds(&raw, normalize(&raw));
    }
    for text in [&raw.stdout, &raw.stderr] {
        let lossy = text.to_string_lossy();
        assert_eq!(is_upstream_failure_text(text), says_upstream(&lossy), "{lossy:?}");
    }
    is_the_end_of_what_was_said(&raw, usize::from(*end));
}

fn holds(raw: &RawResult, result: SpawnResult) {
    assert_eq!(result.duration_ms, raw.duration_ms);
    let never_started = raw.spawn_errno.as_ref().is_some_and(|errno| *errno == "ENOENT");
    match &result.failure {
        None => assert!(raw.exit_code == 0 && !raw.timed_out && !never_started),
        Some(failure) => {
            let evidence = &failure.evidence;
            assert!(!failure.error.is_empty());
            assert_eq!(evidence.effect == Effect::NoneAsNeverStarted, never_started);
            if matches!(evidence.refusal, Refusal::Refused { .. }) {
                assert!(raw.stdout.to_string_lossy().contains("refusal"));
            }
            match &evidence.partial_output {
                PartialOutput::Present { bytes, sha256, .. } => {
                    let text = result.text.to_string_lossy();
                    assert!(*bytes > 0);
                    assert_eq!((*bytes, sha256), (text.len(), &sha256_hex(text.as_bytes())));
                }
                PartialOutput::Absent { .. } => assert!(result.text.is_empty() && !raw.timed_out),
                PartialOutput::Unknown => assert!(result.text.is_empty() && raw.timed_out),
            }
        }
    }
    let value = Value::from(result);
    assert_eq!(parse(stringify(&value).as_bytes()), Ok(value));
}

fn is_the_end_of_what_was_said(raw: &RawResult, limit: usize) {
    let kept = vendor_failure_text(&raw.stderr, &raw.stdout, limit);
    let said = vendor_failure_text(&raw.stderr, &raw.stdout, usize::MAX);
    assert!(kept.length() <= limit + 1);
    if said.length() <= limit {
        assert_eq!(kept, said);
    } else {
        let (kept, said) = (kept.to_string_lossy(), said.to_string_lossy());
        assert!(kept.starts_with('…') && said.ends_with(kept.trim_start_matches('…')));
    }
}
