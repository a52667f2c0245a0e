//! The caller's functions in the machine's place: `readToken`, `probePid`, `kill`.

use napi::Result;

use crate::node::arguments::{Argument, Members};
use crate::node::call::{Callback, KeptCallback};
use crate::node::value::{Js, Scope};
use crate::process::{Asked, Dependencies, Pid, Signal};

/// The functions within one native call. A throw is an answer: nothing is known, nothing was sent.
#[derive(Default)]
pub(in crate::node) struct StandIns<'env> {
    pub(super) read_token: Option<Callback<'env>>,
    pub(super) probe_pid: Option<Callback<'env>>,
    pub(super) kill: Option<Callback<'env>>,
}

/// The functions of a caller whose call returns before they are needed.
pub(in crate::node) struct KeptStandIns {
    read_token: Option<KeptCallback>,
    probe_pid: Option<KeptCallback>,
    kill: Option<KeptCallback>,
}

impl<'env> StandIns<'env> {
    /// `ProcessGenerationSignalDependencies`
    pub(super) fn of_a_signal(members: &Members<'env>) -> Result<Self> {
        Ok(StandIns {
            read_token: members.optional("readToken", Argument::function)?,
            probe_pid: None,
            kill: members.optional("kill", Argument::function)?,
        })
    }

    /// `ServerProcessDependencies`
    pub(in crate::node) fn of_a_server(members: &Members<'env>) -> Result<Self> {
        Ok(StandIns {
            probe_pid: members.optional("probePid", Argument::function)?,
            ..StandIns::of_a_signal(members)?
        })
    }

    pub(in crate::node) fn keep(&self) -> Result<KeptStandIns> {
        let keep = |function: &Option<Callback<'_>>| function.as_ref().map(Callback::keep).transpose();
        Ok(KeptStandIns {
            read_token: keep(&self.read_token)?,
            probe_pid: keep(&self.probe_pid)?,
            kill: keep(&self.kill)?,
        })
    }
}

impl KeptStandIns {
    pub(in crate::node) fn get<'env>(&self, scope: Scope<'env>) -> Result<StandIns<'env>> {
        let get = |kept: &Option<KeptCallback>| kept.as_ref().map(|kept| kept.get(scope)).transpose();
        Ok(StandIns {
            read_token: get(&self.read_token)?,
            probe_pid: get(&self.probe_pid)?,
            kill: get(&self.kill)?,
        })
    }
}

impl Dependencies for StandIns<'_> {
    fn read_token(&self, pid: Pid) -> Asked<Option<String>> {
        ask(self.read_token.as_ref(), pid.get(), None, |token| Some(token.as_string()))
    }

    fn probe_pid(&self, pid: Pid) -> Asked<bool> {
        // What is neither yes nor no cannot say.
        ask(self.probe_pid.as_ref(), pid.get(), None, Js::as_boolean)
    }

    fn kill(&self, pid: i32, signal: Signal) -> Asked<()> {
        ask(self.kill.as_ref(), pid, Some(signal), |_| Some(()))
    }

    fn replaces_kill(&self) -> bool {
        self.kill.is_some()
    }
}

fn ask<'env, T>(
    function: Option<&Callback<'env>>,
    pid: i32,
    signal: Option<Signal>,
    read: impl FnOnce(Js<'env>) -> Option<T>,
) -> Asked<T> {
    let Some(function) = function else { return Asked::NotSupplied };
    let scope = function.scope();
    let arguments = || -> Result<Vec<Js<'env>>> {
        let mut arguments = vec![scope.number(pid.into())?];
        if let Some(signal) = signal {
            arguments.push(scope.string(signal.as_str())?);
        }
        Ok(arguments)
    };
    match arguments().map(|arguments| function.call(&arguments)) {
        Ok(Ok(answer)) => read(answer).map_or(Asked::Threw, Asked::Answered),
        Ok(Err(_)) | Err(_) => Asked::Threw,
    }
}
