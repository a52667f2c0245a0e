//! What is judged before a vendor's own result is looked at, the same way for all of them.

use super::wording::{is_upstream_failure_text, vendor_failure_text, DEFAULT_MAX_CHARS};
use super::{FailureClass, RawResult};
use crate::javascript::json;
use crate::javascript::text::Text;

/// A vendor's program: what messages call it, how to get it and how to log in.
pub(super) struct Vendor {
    pub(super) name: &'static str,
    pub(super) binary: &'static str,
    pub(super) install: &'static str,
    pub(super) login: &'static str,
}

/// Why a run failed, before the evidence is gathered.
pub(super) struct Cause {
    pub(super) error: Text,
    pub(super) class: Option<FailureClass>,
}

/// The transport's failure, if there is one. The order counts: a program that was killed for its time may have exited
/// with any code.
pub(super) fn failure(vendor: &Vendor, raw: &RawResult) -> Option<Cause> {
    if raw.timed_out {
        let after = json::number(raw.duration_ms);
        return Some(Cause::work(format!("{} timed out after {after}ms and was killed", vendor.name)));
    }
    if raw.never_started() {
        return Some(Cause { class: Some(FailureClass::Environment), ..Cause::work(not_found(vendor)) });
    }
    if raw.exit_code == 0 {
        return None;
    }
    if raw.exit_code == 127 && raw.spawn_errno.is_none() {
        // A shell's or the vendor's own 127: nobody observed that the program was missing.
        return Some(Cause::work(not_found(vendor)));
    }
    let said = vendor_failure_text(&raw.stderr, &raw.stdout, DEFAULT_MAX_CHARS);
    let mut error = Text::from(format!("{} exited {}: ", vendor.binary, raw.exit_code));
    error.push_text(&said);
    Some(Cause { error, class: upstream(&said) })
}

impl Cause {
    /// A failure of the work itself, as far as anybody knows.
    fn work(error: String) -> Cause {
        Cause { error: error.into(), class: None }
    }
}

/// The class of a failure whose text is this.
pub(super) fn upstream(text: &Text) -> Option<FailureClass> {
    is_upstream_failure_text(text).then_some(FailureClass::Upstream)
}

fn not_found(vendor: &Vendor) -> String {
    let Vendor { binary, install, login, .. } = vendor;
    format!("{binary} CLI not found on PATH; install: {install}  then authenticate: {login}")
}
