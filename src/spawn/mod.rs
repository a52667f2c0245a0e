//! Evidence about failed agent runs: what a finished (or killed, or never started) agent program left behind, read
//! as one result. Pure: building invocations and spawning stay with the harness.
//!
//! Each vendor's module reads that vendor's own result; [`transport`] is judged first, the same way for all. A claim is
//! made only where an observation supports it: nothing is inferred from an empty reply.

mod claude;
mod codex;
mod cursor;
mod envelope;
mod evidence;
mod opencode;
mod transport;
mod wording;

use crate::javascript::json::{Object, Value};
use crate::javascript::text::Text;

pub use claude::normalize_claude_result;
pub use codex::normalize_codex_result;
pub use cursor::{normalize_cursor_result, parse_cursor_output, CursorOutput};
pub use evidence::{observe_spawn_failure, Effect, Evidence, OutputSource, PartialOutput, Refusal};
pub use opencode::{normalize_opencode_result, parse_opencode_stream, OpenCodeStream};
pub use wording::{is_upstream_failure_text, vendor_failure_text, DEFAULT_MAX_CHARS};

/// What a spawn of an agent program left behind (`AdapterRawResult`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RawResult {
    pub stdout: Text,
    pub stderr: Text,
    pub exit_code: i64,
    /// Milliseconds.
    pub duration_ms: f64,
    /// The final message, where the adapter delivers it in a file.
    pub result_file_text: Option<Text>,
    /// The host killed the program for exceeding its time. It may have exited with 0 all the same.
    pub timed_out: bool,
    /// The `code` of a spawn that failed: `ENOENT` when there is no such program.
    pub spawn_errno: Option<Text>,
}

impl RawResult {
    /// The program was never there, and so never ran.
    fn never_started(&self) -> bool {
        self.spawn_errno.as_ref().is_some_and(|errno| *errno == "ENOENT")
    }
}

/// One run of an agent (`SpawnResult`).
#[derive(Debug, Clone, PartialEq)]
pub struct SpawnResult {
    /// The answer, or what a failed run said.
    pub text: Text,
    pub session_id: Option<Text>,
    pub cost_usd: Option<f64>,
    /// Milliseconds.
    pub duration_ms: f64,
    /// `None` when the run succeeded.
    pub failure: Option<Failure>,
}

/// How a run failed, and what is known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub error: Text,
    pub class: Option<FailureClass>,
    pub evidence: Evidence,
}

/// The positively identified transport cause of a failure (`SpawnFailureClass`). It proves neither that there were no
/// effects nor that a retry is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureClass {
    /// The program was not there.
    Environment,
    /// The vendor was reached and refused.
    Upstream,
}

impl FailureClass {
    pub fn name(self) -> &'static str {
        match self {
            FailureClass::Environment => "environment",
            FailureClass::Upstream => "upstream",
        }
    }
}

impl From<SpawnResult> for Value {
    /// The object that JavaScript gets, absent members left out.
    fn from(result: SpawnResult) -> Self {
        let (error, class, evidence) = match result.failure {
            Some(Failure { error, class, evidence }) => (Some(error), class, Some(evidence)),
            None => (None, None, None),
        };
        Object::new()
            .with("ok", Some(Value::Bool(error.is_none())))
            .with("text", Some(Value::String(result.text)))
            .with("sessionId", result.session_id.map(Value::String))
            .with("costUsd", result.cost_usd.map(Value::Number))
            .with("durationMs", Some(Value::Number(result.duration_ms)))
            .with("error", error.map(Value::String))
            .with("class", class.map(FailureClass::name))
            .with("failureEvidence", evidence.map(Value::from))
            .into()
    }
}
