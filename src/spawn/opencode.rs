//! OpenCode: one JSON object a line, with the answer in parts.

use super::evidence::{observe, OutputSource, Refusal};
use super::transport::{self, Vendor};
use super::{Failure, RawResult, SpawnResult};
use crate::javascript::json::{self, Object, Value};
use crate::javascript::text::Text;

const OPENCODE: Vendor = Vendor {
    name: "opencode",
    binary: "opencode",
    install: "curl -fsSL https://opencode.ai/install | bash",
    login: "opencode auth login",
};

/// What `opencode run --format json` streamed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpenCodeStream {
    pub text: Text,
    pub session_id: Option<Text>,
}

/// Join the text parts of a stream in their order; the first session id counts. Lines that are no JSON objects (a stray
/// log line) are passed over.
pub fn parse_opencode_stream(stdout: &Text) -> OpenCodeStream {
    let mut stream = OpenCodeStream::default();
    for line in stdout.lines() {
        let Ok(Value::Object(event)) = json::parse_text(&line.trim()) else {
            continue;
        };
        if stream.session_id.is_none() {
            let id = event.get("sessionID").and_then(Value::as_text);
            stream.session_id = id.filter(|id| !id.is_empty()).cloned();
        }
        if event.get("type").and_then(Value::as_str) == Some("text") {
            let part = event.get("part").and_then(Value::as_object);
            if let Some(text) = part.and_then(|part| part.get("text")).and_then(Value::as_text) {
                stream.text.push_text(text);
            }
        }
    }
    stream.text = stream.text.trim();
    stream
}

/// Read a finished run of `opencode run --format json`. There is no cost in it.
pub fn normalize_opencode_result(raw: &RawResult) -> SpawnResult {
    let OpenCodeStream { text, session_id } = parse_opencode_stream(&raw.stdout);
    let (text, failure) = match transport::failure(&OPENCODE, raw) {
        None => (text, None),
        Some(cause) => {
            let source = if text.is_empty() { OutputSource::Stdout } else { OutputSource::VendorEnvelope };
            let text = if text.is_empty() { raw.stdout.trim() } else { text };
            let evidence = observe(raw, &text, source, Refusal::Unknown);
            (text, Some(Failure { error: cause.error, class: cause.class, evidence }))
        }
    };
    SpawnResult { text, session_id, cost_usd: None, duration_ms: raw.duration_ms, failure }
}

impl From<OpenCodeStream> for Value {
    fn from(stream: OpenCodeStream) -> Self {
        Object::new()
            .with("text", Some(Value::String(stream.text)))
            .with("sessionId", stream.session_id.map(Value::String))
            .into()
    }
}
