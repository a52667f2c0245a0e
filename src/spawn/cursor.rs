//! Cursor: one JSON envelope on stdout; anything else there is the answer.

use super::envelope::Envelope;
use super::evidence::{observe, OutputSource, Refusal};
use super::transport::{self, Cause, Vendor};
use super::{Failure, RawResult, SpawnResult};
use crate::javascript::json::{Object, Value};
use crate::javascript::text::Text;

const CURSOR: Vendor = Vendor {
    name: "cursor",
    binary: "cursor-agent",
    install: "curl https://cursor.com/install -fsS | bash",
    login: "cursor-agent login",
};

/// What `cursor-agent` printed.
#[derive(Debug, Clone, PartialEq)]
pub struct CursorOutput {
    pub text: Text,
    pub session_id: Option<Text>,
    pub is_error: bool,
}

/// Read the envelope on stdout; stdout that is none is the answer itself.
pub fn parse_cursor_output(stdout: &Text) -> CursorOutput {
    match Envelope::read(stdout) {
        Some(envelope) => CursorOutput {
            text: envelope.string("result").unwrap_or_default(),
            session_id: envelope.text("session_id"),
            is_error: envelope.is_error(),
        },
        None => CursorOutput { text: stdout.clone(), session_id: None, is_error: false },
    }
}

/// Read a finished run of `cursor-agent -p --output-format json`.
pub fn normalize_cursor_result(raw: &RawResult) -> SpawnResult {
    if let Some(cause) = transport::failure(&CURSOR, raw) {
        return failed(raw, cause, None);
    }
    let CursorOutput { text, session_id, is_error } = parse_cursor_output(&raw.stdout);
    if is_error {
        let mut error = Text::from("cursor-agent reported is_error: ");
        error.push_text(&text.first(300));
        return failed(raw, Cause { error, class: transport::upstream(&text) }, session_id);
    }
    SpawnResult { text, session_id, cost_usd: None, duration_ms: raw.duration_ms, failure: None }
}

fn failed(raw: &RawResult, cause: Cause, session_id: Option<Text>) -> SpawnResult {
    let answer = Envelope::read(&raw.stdout).and_then(|envelope| envelope.answer());
    let source = if answer.is_some() { OutputSource::VendorEnvelope } else { OutputSource::Stdout };
    let text = answer.unwrap_or_else(|| raw.stdout.clone());
    // Cursor documents no field that would say that the model refused.
    let evidence = observe(raw, &text, source, Refusal::Unknown);
    SpawnResult {
        text,
        session_id,
        cost_usd: None,
        duration_ms: raw.duration_ms,
        failure: Some(Failure { error: cause.error, class: cause.class, evidence }),
    }
}

impl From<CursorOutput> for Value {
    fn from(output: CursorOutput) -> Self {
        Object::new()
            .with("text", Some(Value::String(output.text)))
            .with("sessionId", output.session_id.map(Value::String))
            .with("isError", Some(Value::Bool(output.is_error)))
            .into()
    }
}
