//! Claude Code: one JSON envelope on stdout.

use super::envelope::Envelope;
use super::evidence::{observe, OutputSource, Refusal};
use super::transport::{self, Cause, Vendor};
use super::{Failure, RawResult, SpawnResult};
use crate::javascript::text::Text;

const CLAUDE: Vendor = Vendor {
    name: "claude",
    binary: "claude",
    install: "npm install -g @anthropic-ai/claude-code",
    login: "run `claude` and use /login",
};

/// Read a finished run of `claude -p --output-format json`.
///
/// Stdout that is no JSON is a failure.
pub fn normalize_claude_result(raw: &RawResult) -> SpawnResult {
    let envelope = Envelope::read(&raw.stdout);
    if let Some(cause) = transport::failure(&CLAUDE, raw) {
        return failed(raw, envelope.as_ref(), cause, None);
    }
    let Some(envelope) = envelope else {
        let mut error = Text::from("result envelope was not JSON: ");
        error.push_text(&raw.stdout.first(300));
        return failed(raw, None, Cause { error, class: None }, None);
    };
    if envelope.is_error() {
        return failed(raw, Some(&envelope), reported(&envelope), Some(&envelope));
    }
    SpawnResult {
        text: envelope.string("result").unwrap_or_default(),
        session_id: envelope.text("session_id"),
        cost_usd: envelope.number("total_cost_usd"),
        duration_ms: raw.duration_ms,
        failure: None,
    }
}

/// The failure that the envelope itself reports.
fn reported(envelope: &Envelope) -> Cause {
    let (subtype, errors) = (envelope.string("subtype"), envelope.errors());
    let mut judged = subtype.clone().unwrap_or_default();
    for more in [&errors, &envelope.string("result").unwrap_or_default()] {
        judged.push_str(" ");
        judged.push_text(more);
    }
    let mut error = Text::from("adapter error (");
    error.push_text(&subtype.unwrap_or_else(|| "unknown".into()));
    error.push_str("): ");
    error.push_text(&if errors.is_empty() { "see envelope".into() } else { errors });
    Cause { error, class: transport::upstream(&judged) }
}

/// A failed run keeps what it said. Session and cost are an envelope's that was taken for the result.
fn failed(raw: &RawResult, said: Option<&Envelope>, cause: Cause, result: Option<&Envelope>) -> SpawnResult {
    let answer = said.and_then(Envelope::answer);
    let source = if answer.is_some() { OutputSource::VendorEnvelope } else { OutputSource::Stdout };
    let text = answer.unwrap_or_else(|| raw.stdout.trim());
    let refusal = said.map_or(Refusal::Unknown, Envelope::refusal);
    let evidence = observe(raw, &text, source, refusal);
    SpawnResult {
        text,
        session_id: result.and_then(|envelope| envelope.text("session_id")),
        cost_usd: result.and_then(|envelope| envelope.number("total_cost_usd")),
        duration_ms: raw.duration_ms,
        failure: Some(Failure { error: cause.error, class: cause.class, evidence }),
    }
}
