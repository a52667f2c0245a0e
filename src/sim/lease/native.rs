//! A native contender: the production code.

use std::path::PathBuf;

use super::{authority, PATH, SCOPE, STALE_AFTER_MS};
use crate::lease::{acquire, Durability, Error, Input, NoHooks};
use crate::sim::explore::{Ending, Program, Stage};

/// Acquires the lease once and lets it go.
#[derive(Debug, Clone, Copy, Default)]
pub struct Native {
    pub durability: Durability,
    /// Calls are made to fail: then a failed call is reported as it is, and a release tried again.
    pub calls_fail: bool,
}

impl Program for Native {
    fn run(&self, stage: &Stage<'_>) -> Ending {
        let input = Input {
            path: PathBuf::from(PATH),
            scope: SCOPE.to_owned(),
            authority_sha256: authority(),
            metadata: None,
            stale_after_ms: STALE_AFTER_MS as f64,
            pid: None,
            host: None,
            durability: self.durability,
        };
        let mut lease = match acquire(stage.host, &input, &NoHooks) {
            Ok(lease) => lease,
            Err(error) => return self.ending_of(&error),
        };
        stage.holds();
        let recovered = lease.recovered_owner.is_some();
        stage.lets_go();
        let mut released = lease.release(stage.host);
        if self.calls_fail && matches!(released, Err(Error::Path(_))) {
            released = lease.release(stage.host);
        }
        match released {
            Ok(()) if recovered => Ending::new("recovered, released"),
            Ok(()) => Ending::new("released"),
            Err(error) => Ending::fault("release failed", format!("release failed: {}", general(&error))),
        }
    }
}

impl Native {
    /// A refusal is an answer; every other failure is none that a contender among contenders may give.
    fn ending_of(&self, error: &Error) -> Ending {
        match error {
            Error::Held { reason, .. } => Ending::new(format!("held: {}", reason.as_str())),
            Error::Recovering(text) => Ending::new(match text {
                text if text.contains("raced") => "recovery raced",
                text if text.contains("repeatedly") => "changed repeatedly",
                _ => "recovery in progress",
            }),
            Error::Path(source) | Error::At { source, .. } if self.calls_fail => {
                Ending::new(format!("failed: {}", source.code().unwrap_or_default()))
            }
            error => Ending::fault("failed", general(error)),
        }
    }
}

/// The error without the names in it, which are another in every run.
fn general(error: &Error) -> String {
    let text = error.to_string();
    let words: Vec<_> = text.split(' ').filter(|word| !word.contains("0000-4000-8000")).collect();
    format!("{} {}", error.code().unwrap_or_default(), words.join(" "))
}
