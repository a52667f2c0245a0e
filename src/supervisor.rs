//! The supervisor: whether one is at work on a project, and asking it to stop.
//!
//! ```text
//! <coordRoot>/.harnery/supervisor/
//!   service.json         what the supervisor says of itself, with its heartbeat
//!   service.lease.json   its own
//!   stop.json            a request to stop
//!   snapshot.json        its own
//! ```

use std::path::{Path, PathBuf};

use crate::files::record::{self, Read};
use crate::files::{Access, Dir, PathError, Sharing};
use crate::host::users::{owner_to_keep, Foreign, Writer};
use crate::host::Host;
use crate::javascript::json::{self, Object, Value};
use crate::javascript::timestamp;
use crate::process::generation::{self, PidToken};
use crate::process::signal::{self, signal_if_same, Signalled};
use crate::process::{Asked, Dependencies, Generation, Pid, Presence, Signal};

/// A heartbeat older than this is stale.
const STALE_HEARTBEAT_MS: i64 = 15_000;
/// A larger record is none.
const RECORD_LIMIT_BYTES: usize = 64 * 1024;
const SERVICE: &str = "service.json";
const STOP: &str = "stop.json";

/// Where the supervisor of a project keeps its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    pub root: PathBuf,
    pub service: PathBuf,
    pub lease: PathBuf,
    pub stop: PathBuf,
    pub snapshot: PathBuf,
}

/// What is known of the supervisor.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub is_running: bool,
    /// Its heartbeat is too old, or no instant.
    pub is_stale: bool,
    /// As it is on disk; `None` when there is no valid one.
    pub record: Option<Value>,
}

/// What became of a request to stop.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// Read after the request.
    pub status: Status,
    pub requested_at: String,
    /// `None` when there was nobody to signal.
    pub signal: Option<Signalled>,
}

/// The request could not be made, or not be carried to the process. In the second case it is on disk.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Signal(#[from] signal::Error),
}

/// The paths below an absolute coordination root.
pub fn paths(coord_root: &Path) -> Paths {
    let root = coord_root.join(".harnery").join("supervisor");
    Paths {
        service: root.join(SERVICE),
        lease: root.join("service.lease.json"),
        stop: root.join(STOP),
        snapshot: root.join("snapshot.json"),
        root,
    }
}

/// Whether a supervisor is at work, at `now_ms` by the system clock. What cannot be read is no supervisor.
pub fn read_status(host: &Host, coord_root: &Path, now_ms: i64, dependencies: &dyn Dependencies) -> Status {
    match Service::read(host, coord_root) {
        None => Status { is_running: false, is_stale: false, record: None },
        Some(service) => Status {
            is_running: service.is_running(host, now_ms, dependencies),
            is_stale: service.is_stale(now_ms),
            record: Some(service.record),
        },
    }
}

/// Ask the supervisor to stop: the request goes to disk first, so that it survives a signal that is lost; then a
/// running supervisor of this host gets SIGTERM, if its process still is the one that wrote the record, and whoever
/// wrote it may signal it: else it is not sent.
///
/// # Errors
/// [`Error`]
pub fn request_stop(
    host: &Host,
    coord_root: &Path,
    sharing: Sharing,
    dependencies: &dyn Dependencies,
) -> Result<Stop, Error> {
    let now_ms = host.clock.now_ms();
    let running =
        Service::read(host, coord_root).filter(|service| service.is_running(host, now_ms, dependencies));
    let requested_at = timestamp::format(now_ms).unwrap_or_default();
    write_request(host, coord_root, &requested_at, sharing)?;
    let mut signal = None;
    if let Some((pid, service)) = running.and_then(|service| Some((service.pid()?, service))) {
        let (processes, token) = (host.processes.as_ref(), service.start_token());
        signal = Some(match service.writer.may_signal(host, pid) {
            true => signal_if_same(processes, pid, token, Signal::SIGTERM, dependencies)?,
            false => Signalled { verdict: Generation::Unknown, outcome: None },
        });
    }
    let status = read_status(host, coord_root, host.clock.now_ms(), dependencies);
    Ok(Stop { status, requested_at, signal })
}

fn write_request(
    host: &Host,
    coord_root: &Path,
    requested_at: &str,
    sharing: Sharing,
) -> Result<(), PathError> {
    let root = paths(coord_root).root;
    sharing.make_dirs(&host.files, &root)?;
    let dir = Dir::open(&host.files, &root)?;
    let me = host.processes.me();
    let request = Object::new()
        .with("requested_at", Some(requested_at))
        .with("requested_by_pid", Some(i64::from(me.get())));
    let text = json::stringify(&Value::Object(request)) + "\n";
    let temporary = format!("{STOP}.tmp.{me}.{}", host.processes.fresh_id());
    sharing.write_new(&dir, &temporary, text.as_bytes())?;
    let published = give_to_owner(host, &dir, &temporary).and_then(|()| dir.rename(&temporary, STOP));
    if published.is_err() {
        // Best effort: the failure that is reported is the first one.
        let _ = dir.unlink(&temporary);
    }
    published
}

/// What root asks for is for the directory's user to read.
fn give_to_owner(host: &Host, dir: &Dir, name: &str) -> Result<(), PathError> {
    match owner_to_keep(host, &dir.stat()?) {
        Ok(Some((uid, gid))) => dir.open_file(name, Access::Read)?.set_owner(uid, gid),
        Ok(None) | Err(Foreign) => Ok(()),
    }
}

/// A valid record of a supervisor.
struct Service {
    writer: Writer,
    record: Value,
    /// `None` when it is no instant.
    heartbeat_ms: Option<i64>,
}

impl Service {
    fn read(host: &Host, coord_root: &Path) -> Option<Service> {
        let dir = Dir::open(&host.files, &paths(coord_root).root).ok()?;
        let Ok(Read::Bytes { bytes, stat }) = record::read(&dir, SERVICE, RECORD_LIMIT_BYTES) else {
            return None;
        };
        let record = json::parse(&bytes).ok()?;
        let members = record.as_object()?;
        let is_valid = members.get("schema_version").and_then(Value::as_number) == Some(1.0)
            && members.get("pid").and_then(Value::as_safe_integer).is_some_and(|pid| pid > 0)
            && members.get("host").is_some_and(|host| host.as_text().is_some())
            && members.get("keep_alive").is_some_and(|keep| keep.as_bool().is_some());
        let heartbeat = members.get("heartbeat_at").and_then(Value::as_text).filter(|_| is_valid)?;
        let heartbeat_ms = heartbeat.to_str().and_then(timestamp::parse);
        Some(Service { writer: Writer::of(host, &stat), heartbeat_ms, record })
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.record.as_object()?.get(name)?.as_str()
    }

    /// `None` for a number that no process can have.
    fn pid(&self) -> Option<Pid> {
        self.record.as_object()?.get("pid")?.as_safe_integer().and_then(Pid::new)
    }

    fn start_token(&self) -> Option<&str> {
        self.text("start_token")
    }

    fn is_stale(&self, now_ms: i64) -> bool {
        self.heartbeat_ms.is_none_or(|beat| now_ms.saturating_sub(beat) > STALE_HEARTBEAT_MS)
    }

    fn is_running(&self, host: &Host, now_ms: i64, dependencies: &dyn Dependencies) -> bool {
        let processes = host.processes.as_ref();
        let is_at_work = matches!(self.text("state"), Some("starting" | "running" | "stopping"));
        let is_here = self.text("host") == Some(processes.host_name().as_str());
        let Some(pid) = self.pid().filter(|_| is_at_work && is_here && !self.is_stale(now_ms)) else {
            return false;
        };
        if generation::presence(processes, pid, dependencies) != Presence::Present {
            return false;
        }
        let current = match dependencies.read_token(pid) {
            Asked::NotSupplied => processes.start_token(pid),
            Asked::Answered(token) => token,
            Asked::Threw => None,
        };
        generation::check_pid_token(self.start_token(), current.as_deref()) != PidToken::Mismatch
    }
}
