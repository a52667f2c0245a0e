//! What a finished, killed or never started agent program left behind is read as the harness reads it.
//!
//! Tables: each row is a raw result and what is made of it. The rows of `transport` hold for all four adapters.

mod claude;
mod codex;
mod cursor;
mod evidence;
mod opencode;
mod transport;
mod wording;

use harnery_native::javascript::json::sha256_hex;
use harnery_native::javascript::text::Text;
use harnery_native::spawn::{
    Effect, Evidence, Failure, FailureClass, OutputSource, PartialOutput, RawResult, Refusal, SpawnResult,
};

/// A raw result in the making.
#[derive(Debug, Clone)]
struct Run(RawResult);

fn exited(code: i64) -> Run {
    Run(RawResult { exit_code: code, duration_ms: 12.0, ..RawResult::default() })
}

impl Run {
    fn out(mut self, stdout: impl Into<Text>) -> Run {
        self.0.stdout = stdout.into();
        self
    }

    fn err(mut self, stderr: impl Into<Text>) -> Run {
        self.0.stderr = stderr.into();
        self
    }

    fn file(mut self, text: impl Into<Text>) -> Run {
        self.0.result_file_text = Some(text.into());
        self
    }

    fn timed_out(mut self) -> Run {
        self.0.timed_out = true;
        self
    }

    fn errno(mut self, errno: &str) -> Run {
        self.0.spawn_errno = Some(errno.into());
        self
    }

    fn after(mut self, ms: f64) -> Run {
        self.0.duration_ms = ms;
        self
    }
}

/// What is to be made of it.
#[derive(Debug, Clone)]
struct Want(SpawnResult);

fn answers(text: impl Into<Text>) -> Want {
    Want(SpawnResult {
        text: text.into(),
        session_id: None,
        cost_usd: None,
        duration_ms: 12.0,
        failure: None,
    })
}

/// A failure that said nothing on stdout, which was read to its end.
fn fails(error: impl Into<Text>) -> Want {
    let partial_output = PartialOutput::Absent { source: OutputSource::Stdout };
    let evidence = Evidence { effect: Effect::Unknown, refusal: Refusal::Unknown, partial_output };
    let failure = Failure { error: error.into(), class: None, evidence };
    Want(SpawnResult { failure: Some(failure), ..answers("").0 })
}

impl Want {
    fn session(mut self, id: &str) -> Want {
        self.0.session_id = Some(id.into());
        self
    }

    fn cost(mut self, usd: f64) -> Want {
        self.0.cost_usd = Some(usd);
        self
    }

    fn after(mut self, ms: f64) -> Want {
        self.0.duration_ms = ms;
        self
    }

    fn upstream(self) -> Want {
        self.failure(|failure| failure.class = Some(FailureClass::Upstream))
    }

    fn never_started(self) -> Want {
        self.failure(|failure| {
            failure.class = Some(FailureClass::Environment);
            failure.evidence.effect = Effect::NoneAsNeverStarted;
        })
    }

    fn refused(self) -> Want {
        let refusal = Refusal::Refused { reference: "stop_reason:refusal" };
        self.failure(|failure| failure.evidence.refusal = refusal)
    }

    fn lost(self) -> Want {
        self.failure(|failure| failure.evidence.partial_output = PartialOutput::Unknown)
    }

    fn said(mut self, source: OutputSource, text: impl Into<Text>) -> Want {
        self.0.text = text.into();
        let utf8 = self.0.text.to_string();
        let (bytes, sha256) = (utf8.len(), sha256_hex(utf8.as_bytes()));
        self.failure(|failure| {
            failure.evidence.partial_output = PartialOutput::Present { source, bytes, sha256 }
        })
    }

    fn failure(mut self, change: impl FnOnce(&mut Failure)) -> Want {
        change(self.0.failure.as_mut().expect("a failure"));
        self
    }
}

type Normalize = fn(&RawResult) -> SpawnResult;

fn check(normalize: Normalize, rows: Vec<(Run, Want)>) -> usize {
    for (place, (run, want)) in rows.iter().enumerate() {
        assert_eq!(normalize(&run.0), want.0, "row {place}: {:?}", run.0);
    }
    rows.len()
}

/// A text with a lone surrogate, `\u{FFFD}` standing for it.
fn broken(text: &str) -> Text {
    text.encode_utf16().map(|unit| if unit == 0xFFFD { 0xD83D } else { unit }).collect()
}
