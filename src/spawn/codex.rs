//! Codex: the final message in a file of its own, or else stdout.

use super::evidence::{observe, OutputSource, Refusal};
use super::transport::{self, Vendor};
use super::{Failure, RawResult, SpawnResult};

const CODEX: Vendor =
    Vendor { name: "codex", binary: "codex", install: "npm install -g @openai/codex", login: "codex login" };

/// Read a finished run of `codex exec --output-last-message`. There is no session and no cost in it.
pub fn normalize_codex_result(raw: &RawResult) -> SpawnResult {
    let (text, failure) = match transport::failure(&CODEX, raw) {
        // A file that is there is the answer of a run that succeeded, even an empty one.
        None => (raw.result_file_text.as_ref().unwrap_or(&raw.stdout).trim(), None),
        Some(cause) => {
            let message =
                raw.result_file_text.as_ref().map(|text| text.trim()).filter(|text| !text.is_empty());
            let source = if message.is_some() { OutputSource::FinalMessage } else { OutputSource::Stdout };
            let text = message.unwrap_or_else(|| raw.stdout.trim());
            let evidence = observe(raw, &text, source, Refusal::Unknown);
            (text, Some(Failure { error: cause.error, class: cause.class, evidence }))
        }
    };
    SpawnResult { text, session_id: None, cost_usd: None, duration_ms: raw.duration_ms, failure }
}
