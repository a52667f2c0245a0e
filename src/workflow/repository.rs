//! What a repository is like, as Git tells it: the only file that starts a program.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use rustix::io::Errno;

use super::status::{self, Status};
use super::{Error, Result};
use crate::clock::Pause;
use crate::host::Host;
use crate::javascript::json::{Object, Value};
use crate::javascript::text::Text;
use crate::process::{Pid, Signal};

/// For all of what is asked of Git together.
const TIME_LIMIT: Duration = Duration::from_secs(10);
pub const DEFAULT_MAX_PATHS: usize = 15;
const DETAIL_LIMIT: usize = 500;

/// More than this of either output is not read.
const OUTPUT_LIMIT_BYTES: usize = 4 << 20;

/// Observe the work tree that a directory is in. What Git cannot tell is left out, and the observation says so.
///
/// # Errors
/// [`Error::Input`] for a directory that is no absolute path.
pub fn observe(host: &Host, cwd: &str, max_paths: usize) -> Result<Value> {
    if !cwd.starts_with('/') || cwd.contains('\0') {
        return Err(Error::Input("a repository is observed at an absolute path".to_owned()));
    }
    let deadline = host.clock.monotonic() + TIME_LIMIT;
    let ask = |arguments: &[&str]| run(host, Path::new(cwd), arguments, deadline);
    let root = ask(&["rev-parse", "--show-toplevel"]).map(|answer| line(&answer));
    let status = ask(&["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"])
        .map(|answer| status::read(&answer.stdout, answer.is_cut, max_paths));
    // Without a work tree there may still be a branch and a commit.
    let (branch, head) = match &status {
        Ok(status) => (status.branch.clone(), status.head.clone()),
        Err(_) => (
            ask(&["rev-parse", "--symbolic-full-name", "--abbrev-ref", "HEAD"])
                .ok()
                .map(|answer| line(&answer)),
            ask(&["rev-parse", "--verify", "--quiet", "HEAD"]).ok().map(|answer| line(&answer)),
        ),
    };
    Ok(snapshot(cwd, &root, &status, branch, head))
}

fn snapshot(
    cwd: &str,
    root: &std::result::Result<String, Reason>,
    status: &std::result::Result<Status, Reason>,
    branch: Option<String>,
    head: Option<String>,
) -> Value {
    let is_whole = root.is_ok() && status.is_ok() && head.is_some();
    let is_nothing = root.is_err() && status.is_err() && head.is_none() && branch.is_none();
    let observation = match (is_whole, is_nothing) {
        (true, _) => "ok",
        (_, true) => "unavailable",
        _ => "partial",
    };
    let mut reasons: Vec<String> = Vec::new();
    for reason in [root.as_ref().err(), status.as_ref().err()].into_iter().flatten() {
        if !reasons.contains(reason) {
            reasons.push(reason.clone());
        }
    }
    if head.is_none() && status.is_ok() {
        reasons.push("there is no commit yet".to_owned());
    }
    let detail = (!is_whole).then(|| Value::String(Text::from(reasons.join("; ")).first(DETAIL_LIMIT)));
    let nothing = Status::default();
    let status = status.as_ref().unwrap_or(&nothing);
    let dirty = status.dirty_paths.iter().cloned().map(Value::String).collect();
    let members = Object::new()
        .with("cwd", Some(cwd))
        .with("observation", Some(observation))
        .with("observation_detail", detail)
        .with("root", root.as_deref().ok())
        .with("branch", branch)
        .with("head", head)
        .with("dirty_paths", Some(Value::Array(dirty)))
        .with("dirty_paths_truncated", status.is_truncated.then_some(Value::Bool(true)));
    Value::Object(members)
}

/// The one line of an answer. A path may have line feeds of its own: only the last is Git's.
fn line(answer: &Answer) -> String {
    let line = answer.stdout.strip_suffix(b"\n").unwrap_or(&answer.stdout);
    String::from_utf8_lossy(line).into_owned()
}

/// What `git` answered.
#[derive(Debug)]
struct Answer {
    stdout: Vec<u8>,
    /// There was more than was read.
    is_cut: bool,
}

/// Why there is no answer, in one sentence.
type Reason = String;

/// Variables that would make `git` look at another repository than the one that the directory is in.
const ELSEWHERE: [&str; 13] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Variables that are the caller's, where its runtime has them: the process's own may be others.
const CALLERS: [&str; 3] = ["PATH", "HOME", "XDG_CONFIG_HOME"];

/// Run `git` in a directory until `deadline` by the monotonic clock. It takes no locks, asks nobody, and starts no file
/// system monitor of the repository's. It does start the clean filter that the configuration has for a file that may
/// have changed: without it, what differs from the commit only before the filter would be called dirty.
fn run(
    host: &Host,
    cwd: &Path,
    arguments: &[&str],
    deadline: Duration,
) -> std::result::Result<Answer, Reason> {
    let mut child =
        start(host, cwd, arguments).map_err(|error| format!("git could not be started: {error}"))?;
    let mut outputs = [Vec::new(), Vec::new()];
    let read = read_outputs(host, &mut child, &mut outputs, deadline);
    let [stdout, stderr] = outputs;
    let status = match read {
        Ok(Ended::Closed) => wait(host, &mut child, deadline),
        Ok(Ended::Full) => {
            end(host, &mut child);
            return Ok(Answer { stdout, is_cut: true });
        }
        Ok(Ended::Late) => Ok(None),
        Err(error) => Err(error),
    };
    match status {
        Ok(Some(0)) => Ok(Answer { stdout, is_cut: false }),
        Ok(Some(_)) => Err(first_line(&stderr)),
        Ok(None) => {
            end(host, &mut child);
            Err("git did not answer in time".to_owned())
        }
        Err(error) => {
            end(host, &mut child);
            Err(format!("git could not be read: {error}"))
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "git itself is the only one that knows what a work tree is like"
)]
fn start(host: &Host, cwd: &Path, arguments: &[&str]) -> io::Result<Child> {
    let mut git = Command::new("git");
    git.arg("-C").arg(cwd).args(["--no-optional-locks", "-c", "core.fsmonitor=false"]).args(arguments);
    for variable in ELSEWHERE {
        git.env_remove(variable);
    }
    for variable in CALLERS {
        match host.environment.get(variable) {
            Some(value) => git.env(variable, value),
            None => git.env_remove(variable),
        };
    }
    git.envs([("LC_ALL", "C"), ("GIT_TERMINAL_PROMPT", "0")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own, so that what it starts can be ended with it.
        .process_group(0)
        .spawn()
}

enum Ended {
    /// Both outputs were closed.
    Closed,
    /// One of them is longer than what is read.
    Full,
    Late,
}

fn read_outputs(
    host: &Host,
    child: &mut Child,
    outputs: &mut [Vec<u8>; 2],
    deadline: Duration,
) -> io::Result<Ended> {
    let pipes = (child.stdout.take(), child.stderr.take());
    let (Some(stdout), Some(stderr)) = pipes else { return Err(io::ErrorKind::BrokenPipe.into()) };
    let pipes = [Rc::new(OwnedFd::from(stdout)), Rc::new(OwnedFd::from(stderr))];
    for pipe in &pipes {
        rustix::io::ioctl_fionbio(pipe, true)?;
    }
    loop {
        let mut wake = Vec::new();
        for (pipe, output) in pipes.iter().zip(outputs.iter_mut()) {
            if read_what_is_there(pipe, output)? {
                wake.push(Rc::clone(pipe));
            }
            if output.len() >= OUTPUT_LIMIT_BYTES {
                return Ok(Ended::Full);
            }
        }
        let left = deadline.saturating_sub(host.clock.monotonic());
        if wake.is_empty() {
            return Ok(Ended::Closed);
        }
        if left.is_zero() {
            return Ok(Ended::Late);
        }
        host.clock.pause(&Pause { at_most: left, wake });
    }
}

/// Whether more may come.
fn read_what_is_there(pipe: &OwnedFd, output: &mut Vec<u8>) -> io::Result<bool> {
    while output.len() < OUTPUT_LIMIT_BYTES {
        output.reserve(16 * 1024);
        match rustix::io::read(pipe, rustix::buffer::spare_capacity(output)) {
            Ok(0) => return Ok(false),
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

/// The exit status; `None` when it has not ended in time, or by a signal.
fn wait(host: &Host, child: &mut Child, deadline: Duration) -> io::Result<Option<i32>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        if host.clock.monotonic() >= deadline {
            return Ok(None);
        }
        // Its outputs are closed: it is about to end.
        host.clock.pause(&Pause { at_most: Duration::from_millis(1), wake: Vec::new() });
    }
}

/// End it with everything that it has started. It is not reaped before, so its number is nobody else's.
fn end(host: &Host, child: &mut Child) {
    let held = Pid::new(i64::from(child.id())).map(|pid| host.processes.open(pid));
    if let Some(Ok(Some(group))) = held {
        let _ = group.signal_group(Signal::SIGKILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn first_line(stderr: &[u8]) -> Reason {
    let text = String::from_utf8_lossy(stderr);
    match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => format!("git: {line}"),
        None => "git failed and did not say why".to_owned(),
    }
}
