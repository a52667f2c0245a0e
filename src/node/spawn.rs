//! Evidence about failed agent runs: what a finished, killed or never started agent program left behind.

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use super::arguments::{Argument, Members};
use super::objects::value_to_js;
use super::value::{Js, Scope};
use crate::javascript::json::Value;
use crate::javascript::text::Text;
use crate::spawn::{self, OutputSource, RawResult, SpawnResult};

/// Read a finished run of `claude -p --output-format json`: one JSON envelope on stdout.
///
/// A failed result keeps what the run said as `text` and carries `failureEvidence`. `ENOENT` is class `environment`, a
/// text that names a refusal by the vendor is class `upstream`.
#[napi(catch_unwind, ts_args_type = "raw: AdapterRawResult", ts_return_type = "SpawnResult")]
pub(crate) fn normalize_claude_result<'env>(env: &'env Env, raw: Js<'env>) -> Result<Js<'env>> {
    normalize(env, raw, spawn::normalize_claude_result)
}

/// Read a finished run of `codex exec`: the final message's file, or else stdout. See {@link normalizeClaudeResult}.
#[napi(catch_unwind, ts_args_type = "raw: AdapterRawResult", ts_return_type = "SpawnResult")]
pub(crate) fn normalize_codex_result<'env>(env: &'env Env, raw: Js<'env>) -> Result<Js<'env>> {
    normalize(env, raw, spawn::normalize_codex_result)
}

/// Read a finished run of `cursor-agent -p --output-format json`: one JSON envelope on stdout; stdout that is none is
/// the answer. See {@link normalizeClaudeResult}.
#[napi(catch_unwind, ts_args_type = "raw: AdapterRawResult", ts_return_type = "SpawnResult")]
pub(crate) fn normalize_cursor_result<'env>(env: &'env Env, raw: Js<'env>) -> Result<Js<'env>> {
    normalize(env, raw, spawn::normalize_cursor_result)
}

/// Read a finished run of `opencode run --format json`: one JSON object a line, with the answer in parts. See
/// {@link normalizeClaudeResult}.
#[napi(
    catch_unwind,
    js_name = "normalizeOpenCodeResult",
    ts_args_type = "raw: AdapterRawResult",
    ts_return_type = "SpawnResult"
)]
pub(crate) fn normalize_opencode_result<'env>(env: &'env Env, raw: Js<'env>) -> Result<Js<'env>> {
    normalize(env, raw, spawn::normalize_opencode_result)
}

/// Gather the evidence about a failed run that said `text`, found at `source`.
///
/// Nothing is inferred: an effect is ruled out by `ENOENT` only, a refusal is one only where an envelope on stdout
/// (`source` `"vendor_envelope"`) says so in a documented field, and an empty text after a timeout is unknown. `bytes` and
/// `sha256` are of the text's UTF-8.
#[napi(
    catch_unwind,
    ts_args_type = "raw: AdapterRawResult, text: string, source: SpawnOutputSource",
    ts_return_type = "SpawnFailureEvidence"
)]
pub(crate) fn observe_spawn_failure<'env>(
    env: &'env Env,
    raw: Js<'env>,
    text: Js<'env>,
    source: Js<'env>,
) -> Result<Js<'env>> {
    let raw = raw_result(raw)?;
    let text = Argument::new(text, "text").text()?;
    let sources = OutputSource::ALL.map(|source| (source.name(), source));
    let source = Argument::new(source, "source").word(&sources)?;
    value_to_js(Scope::from(env), &spawn::observe_spawn_failure(&raw, &text, source).into())
}

/// What a finished program said about its failure: stderr, then stdout, trimmed, joined by a line feed.
///
/// Of a longer text the last `maxChars` characters (UTF-16 code units; 500 unless given) are kept, after `…`.
#[napi(
    catch_unwind,
    ts_args_type = "raw: { stdout?: string; stderr?: string }, maxChars?: number",
    ts_return_type = "string"
)]
pub(crate) fn vendor_failure_text<'env>(
    env: &'env Env,
    raw: Js<'env>,
    max_chars: Js<'env>,
) -> Result<Js<'env>> {
    let raw = Argument::new(raw, "raw").object()?;
    let stderr = raw.optional("stderr", Argument::text)?.unwrap_or_default();
    let stdout = raw.optional("stdout", Argument::text)?.unwrap_or_default();
    let max_chars = Argument::new(max_chars, "maxChars").optional().map(count).transpose()?;
    let max_chars = max_chars.unwrap_or(spawn::DEFAULT_MAX_CHARS);
    Scope::from(env).text(&spawn::vendor_failure_text(&stderr, &stdout, max_chars))
}

/// Whether a failure's text says that the vendor was reached and refused: a status of 429 or 500 to 599 after `HTTP`,
/// after `status`, or at the start of a line before a word; or a phrase such as `rate limit` or `overloaded`.
#[napi(catch_unwind, ts_args_type = "text: string")]
pub(crate) fn is_upstream_failure_text(text: Js<'_>) -> Result<bool> {
    Ok(spawn::is_upstream_failure_text(&Argument::new(text, "text").text()?))
}

/// Read what `cursor-agent --output-format json` printed: its envelope, or else the text itself.
#[napi(
    catch_unwind,
    ts_args_type = "stdout: string",
    ts_return_type = "{ text: string; sessionId?: string; isError: boolean }"
)]
pub(crate) fn parse_cursor_output<'env>(env: &'env Env, stdout: Js<'env>) -> Result<Js<'env>> {
    parse(env, stdout, |stdout| spawn::parse_cursor_output(stdout).into())
}

/// Read what `opencode run --format json` streamed: its text parts joined, and the first session id. Lines that are no
/// JSON objects are passed over.
#[napi(
    catch_unwind,
    js_name = "parseOpenCodeStream",
    ts_args_type = "stdout: string",
    ts_return_type = "{ text: string; sessionId?: string }"
)]
pub(crate) fn parse_opencode_stream<'env>(env: &'env Env, stdout: Js<'env>) -> Result<Js<'env>> {
    parse(env, stdout, |stdout| spawn::parse_opencode_stream(stdout).into())
}

fn normalize<'env>(env: &'env Env, raw: Js<'env>, read: fn(&RawResult) -> SpawnResult) -> Result<Js<'env>> {
    value_to_js(Scope::from(env), &read(&raw_result(raw)?).into())
}

fn parse<'env>(env: &'env Env, stdout: Js<'env>, read: fn(&Text) -> Value) -> Result<Js<'env>> {
    value_to_js(Scope::from(env), &read(&Argument::new(stdout, "stdout").text()?))
}

fn raw_result(raw: Js<'_>) -> Result<RawResult> {
    let raw: Members<'_> = Argument::new(raw, "raw").object()?;
    Ok(RawResult {
        stdout: raw.required("stdout", Argument::text)?,
        stderr: raw.required("stderr", Argument::text)?,
        exit_code: raw.required("exitCode", Argument::safe_integer)?,
        duration_ms: raw.required("durationMs", finite)?,
        result_file_text: raw.optional("resultFileText", Argument::text)?,
        timed_out: raw.optional("timedOut", Argument::boolean)?.unwrap_or(false),
        spawn_errno: raw.optional("spawnErrno", Argument::text)?,
    })
}

/// A duration as two readings of a clock give it: fractional, or negative when the clock was set back.
fn finite(duration: Argument<'_>) -> Result<f64> {
    let number = duration.clone().number()?;
    if !number.is_finite() {
        return Err(duration.out_of_range("a finite number of milliseconds", number));
    }
    Ok(number)
}

fn count(argument: Argument<'_>) -> Result<usize> {
    let number = argument.clone().safe_integer()?;
    usize::try_from(number).map_err(|_| argument.out_of_range("0 or more", number as f64))
}
