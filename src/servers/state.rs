//! Whether a record's server runs here.

use super::{RecordedProcess, ServerRecord};
use crate::process::generation::{check_pid_token, PidToken};
use crate::process::observer::Observer;
use crate::process::{Judgement, Presence, Processes};

/// What can be said of a server from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    Running,
    /// Its process has ended; the number may be another's by now.
    Dead,
    /// It runs, if at all, on another host or in another pid namespace.
    OtherHost,
}

impl ServerState {
    pub fn as_str(self) -> &'static str {
        match self {
            ServerState::Running => "running",
            ServerState::Dead => "dead",
            ServerState::OtherHost => "other-host",
        }
    }
}

/// The state of a record's server.
pub fn server_state(processes: &dyn Processes, record: &ServerRecord) -> ServerState {
    state_seen(&Observer::new(processes), record)
}

/// [`server_state`], as one operation sees it.
pub(super) fn state_seen(observer: &Observer<'_>, record: &ServerRecord) -> ServerState {
    if record.host() != Some(observer.host_name()) {
        return ServerState::OtherHost;
    }
    let leader = record.leader();
    // A number that no process has says nothing about the server.
    let Some(pid) = leader.pid() else { return ServerState::Running };
    if let Some(recorded) = &leader.witness {
        return match observer.judge(pid, recorded) {
            Judgement::Elsewhere => ServerState::OtherHost,
            Judgement::Gone | Judgement::Different => ServerState::Dead,
            Judgement::Same | Judgement::Unknown => ServerState::Running,
        };
    }
    let is_gone = || observer.presence(pid) == Presence::Absent;
    let is_another = |recorded| {
        check_pid_token(Some(recorded), observer.start_token(pid).as_deref()) == PidToken::Mismatch
    };
    if is_gone() || leader.start_token.as_deref().is_some_and(is_another) {
        return ServerState::Dead;
    }
    ServerState::Running
}

/// Whether every process that the record names is absent here. What cannot be looked at from here is not.
pub fn all_absent(processes: &dyn Processes, record: &ServerRecord) -> bool {
    let observer = Observer::new(processes);
    record.processes().iter().all(|process| is_absent(&observer, process))
}

fn is_absent(observer: &Observer<'_>, process: &RecordedProcess) -> bool {
    let Some(pid) = process.pid() else { return false };
    let is_elsewhere = || {
        let recorded = process.witness.as_ref();
        recorded.is_some_and(|recorded| observer.judge(pid, recorded) == Judgement::Elsewhere)
    };
    observer.presence(pid) == Presence::Absent && !is_elsewhere()
}
