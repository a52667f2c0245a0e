//! A child that is given a time: what it wrote until then counts.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags, Timespec};

use crate::clock::{Clock, Pause, SystemClock};

/// What is kept of each of the child's two outputs.
const MOST_KEPT: usize = 16 << 20;

/// How often a child that has closed its outputs is asked whether it has ended.
const ASK_EVERY: Duration = Duration::from_millis(5);
/// How long a killed child may take to end before it is left alone: it may hang in the kernel.
const REAP_WITHIN: Duration = Duration::from_millis(100);

/// What a child wrote, and how it ended.
#[derive(Debug, Default)]
pub(super) struct Written {
    out: Vec<u8>,
    err: Vec<u8>,
    /// `None` when it had to be ended.
    pub(super) status: Option<ExitStatus>,
}

impl Written {
    /// Its output but for a last line that was cut.
    pub(super) fn whole_lines(&self) -> String {
        let end = self.out.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        String::from_utf8_lossy(&self.out[..end]).into_owned()
    }

    /// Whether all that it complained of was a warning (whose further lines are indented).
    pub(super) fn has_only_warnings(&self) -> bool {
        let complaints = String::from_utf8_lossy(&self.err);
        complaints.lines().all(|line| line.contains("WARNING") || line.starts_with(' ') || line.is_empty())
    }

    /// Its first complaint, or how it ended.
    pub(super) fn why(&self, status: ExitStatus) -> String {
        let complaints = String::from_utf8_lossy(&self.err);
        let first = complaints.lines().find(|line| !line.trim().is_empty() && !line.contains("WARNING"));
        first.map_or_else(|| status.to_string(), |line| format!("{status}: {}", line.trim()))
    }
}

/// Run the program until it ends, or until the time is over and it is killed.
///
/// # Errors
/// When it cannot be started.
#[expect(clippy::disallowed_methods, reason = "a probe: where the kernel cannot be asked, lsof has to tell")]
pub(super) fn run(program: &OsStr, arguments: &[&str], time: Duration) -> io::Result<Written> {
    let end = SystemClock.monotonic() + time;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut written = Written::default();
    read_outputs(&mut child, &mut written, end);
    written.status = wait(&mut child, end);
    if written.status.is_none() {
        // A child that cannot be killed has ended or is not ours any more: both are fine.
        let _ = child.kill();
        wait(&mut child, SystemClock.monotonic() + REAP_WITHIN);
    }
    Ok(written)
}

/// Read both outputs to their ends, or to the end of the time.
fn read_outputs(child: &mut Child, written: &mut Written, end: Duration) {
    let mut out = child.stdout.take();
    let mut err = child.stderr.take();
    loop {
        let ready = {
            let open: Vec<_> = out.iter().map(AsFd::as_fd).chain(err.iter().map(AsFd::as_fd)).collect();
            if open.is_empty() {
                return;
            }
            let left = end.saturating_sub(SystemClock.monotonic());
            if left.is_zero() {
                return;
            }
            readable(&open, left)
        };
        let first_is_out = out.is_some();
        if ready.first() == Some(&true) && first_is_out {
            take_some(&mut out, &mut written.out);
        }
        if ready.get(usize::from(first_is_out)) == Some(&true) {
            take_some(&mut err, &mut written.err);
        }
    }
}

/// Which of these have something to read, or have ended.
fn readable(open: &[std::os::fd::BorrowedFd<'_>], within: Duration) -> Vec<bool> {
    let mut polled: Vec<_> = open.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let timeout = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: within.subsec_nanos().into() };
    // After a signal, or any other failure, the caller looks at the time and asks again.
    let _ = poll(&mut polled, Some(&timeout));
    polled.iter().map(|fd| !fd.revents().is_empty()).collect()
}

/// One read; an output that has ended, fails or is too long is closed.
fn take_some(output: &mut Option<impl Read>, kept: &mut Vec<u8>) {
    let mut buffer = [0; 16 * 1024];
    let length = output.as_mut().map_or(0, |output| output.read(&mut buffer).unwrap_or(0));
    kept.extend_from_slice(&buffer[..length]);
    if length == 0 || kept.len() > MOST_KEPT {
        *output = None;
    }
}

fn wait(child: &mut Child, end: Duration) -> Option<ExitStatus> {
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        let left = end.saturating_sub(SystemClock.monotonic());
        if left.is_zero() {
            return None;
        }
        SystemClock.pause(&Pause { at_most: left.min(ASK_EVERY), wake: Vec::new() });
    }
}
