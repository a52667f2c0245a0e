//! Whether a record's server runs here.

use super::{RecordedProcess, ServerRecord};
use crate::process::generation::{check_pid_token, PidToken};
use crate::process::{witness, Judgement, Presence, Processes};

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
    if record.host() != Some(processes.host_name().as_str()) {
        return ServerState::OtherHost;
    }
    let leader = record.leader();
    // A number that no process has says nothing about the server.
    let Some(pid) = leader.pid() else { return ServerState::Running };
    if let Some(recorded) = &leader.witness {
        return match witness::judge(processes, pid, recorded) {
            Judgement::Elsewhere => ServerState::OtherHost,
            Judgement::Gone | Judgement::Different => ServerState::Dead,
            Judgement::Same | Judgement::Unknown => ServerState::Running,
        };
    }
    if processes.presence(pid) == Presence::Absent {
        return ServerState::Dead;
    }
    match (&leader.start_token, || processes.start_token(pid)) {
        (Some(recorded), now)
            if check_pid_token(Some(recorded.as_str()), now().as_deref()) == PidToken::Mismatch =>
        {
            ServerState::Dead
        }
        _ => ServerState::Running,
    }
}

/// Whether every process that the record names is absent here. What cannot be looked at from here is not.
pub fn all_absent(processes: &dyn Processes, record: &ServerRecord) -> bool {
    record.processes().iter().all(|process| is_absent(processes, process))
}

fn is_absent(processes: &dyn Processes, process: &RecordedProcess) -> bool {
    let Some(pid) = process.pid() else { return false };
    let is_elsewhere = || {
        let recorded = process.witness.as_ref();
        recorded.is_some_and(|recorded| witness::judge(processes, pid, recorded) == Judgement::Elsewhere)
    };
    processes.presence(pid) == Presence::Absent && !is_elsewhere()
}
