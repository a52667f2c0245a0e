//! What a failed run is known to have done, refused and said.

use super::envelope::Envelope;
use super::RawResult;
use crate::javascript::json::{sha256_hex, Object, Value};
use crate::javascript::text::Text;

/// Observations about a failed run (`SpawnFailureEvidence`). What is missing is unknown, and unknown allows nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    pub effect: Effect,
    pub refusal: Refusal,
    pub partial_output: PartialOutput,
}

/// Whether the run changed anything (`SpawnEffectEvidence`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Unknown,
    /// The program never started: the spawn failed with `ENOENT`.
    NoneAsNeverStarted,
}

/// Whether the model refused the work (`SpawnRefusalEvidence`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Unknown,
    /// The vendor's envelope says so, in the documented field that is named.
    Refused {
        reference: &'static str,
    },
}

/// What there was of an answer (`SpawnPartialOutputEvidence`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartialOutput {
    /// Empty, but the kill may have lost it.
    Unknown,
    Absent {
        source: OutputSource,
    },
    /// Length and lower-case hexadecimal SHA-256 of its UTF-8.
    Present {
        source: OutputSource,
        bytes: usize,
        sha256: String,
    },
}

/// Where a failed run's text was found (`SpawnOutputSource`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputSource {
    FinalMessage,
    VendorEnvelope,
    Stdout,
}

impl OutputSource {
    pub const ALL: [OutputSource; 3] =
        [OutputSource::FinalMessage, OutputSource::VendorEnvelope, OutputSource::Stdout];

    pub fn name(self) -> &'static str {
        match self {
            OutputSource::FinalMessage => "final_message",
            OutputSource::VendorEnvelope => "vendor_envelope",
            OutputSource::Stdout => "stdout",
        }
    }
}

/// Gather the evidence about a failed run that said `text`, found at `source`.
///
/// A refusal is read from stdout only where the text came from an envelope there.
pub fn observe_spawn_failure(raw: &RawResult, text: &Text, source: OutputSource) -> Evidence {
    let refusal = match source {
        OutputSource::VendorEnvelope => {
            Envelope::read(&raw.stdout).map_or(Refusal::Unknown, |it| it.refusal())
        }
        OutputSource::FinalMessage | OutputSource::Stdout => Refusal::Unknown,
    };
    observe(raw, text, source, refusal)
}

/// [`observe_spawn_failure`] with what the vendor's own module knows about a refusal.
pub(super) fn observe(raw: &RawResult, text: &Text, source: OutputSource, refusal: Refusal) -> Evidence {
    let effect = if raw.never_started() { Effect::NoneAsNeverStarted } else { Effect::Unknown };
    let partial_output = if !text.is_empty() {
        let utf8 = text.to_string_lossy();
        PartialOutput::Present { source, bytes: utf8.len(), sha256: sha256_hex(utf8.as_bytes()) }
    } else if raw.timed_out {
        PartialOutput::Unknown
    } else {
        PartialOutput::Absent { source }
    };
    Evidence { effect, refusal, partial_output }
}

impl From<Evidence> for Value {
    fn from(evidence: Evidence) -> Self {
        Object::new()
            .with("effect", Some(evidence.effect))
            .with("refusal", Some(evidence.refusal))
            .with("partial_output", Some(evidence.partial_output))
            .into()
    }
}

impl From<Effect> for Value {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Unknown => state("unknown"),
            Effect::NoneAsNeverStarted => {
                state("none").with("source", Some("spawn_errno")).with("reference", Some("ENOENT"))
            }
        }
        .into()
    }
}

impl From<Refusal> for Value {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unknown => state("unknown"),
            Refusal::Refused { reference } => {
                state("refused").with("source", Some("vendor_envelope")).with("reference", Some(reference))
            }
        }
        .into()
    }
}

impl From<PartialOutput> for Value {
    fn from(output: PartialOutput) -> Self {
        match output {
            PartialOutput::Unknown => state("unknown"),
            PartialOutput::Absent { source } => state("absent").with("source", Some(source.name())),
            PartialOutput::Present { source, bytes, sha256 } => state("present")
                .with("source", Some(source.name()))
                .with("bytes", Some(bytes as i64))
                .with("sha256", Some(sha256)),
        }
        .into()
    }
}

fn state(name: &str) -> Object {
    Object::new().with("state", Some(name))
}
