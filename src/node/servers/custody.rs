//! The custody contract (schema 2), as the namespace `custody`: what differs from the current one. What does not is the
//! very same function ([`share`]); its types stand in `types/custody.d.ts`.

mod constants;
mod hold;
mod tunnels;

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use super::context::{self, record, Servers};
use super::stop;
use crate::node::arguments::Argument;
use crate::node::value::{Js, Scope};
use crate::node::waits::promise;
use crate::servers::custody::unregister::unregister;
use crate::servers::Schema;

/// The functions and constants that both contracts have in common.
const SHARED: [&str; 26] = [
    "SERVER_DEFAULT_IDLE_HOURS",
    "SERVER_DEFAULT_OWNER_STALE_HOURS",
    "acquireNoClobberLease",
    "ancestry",
    "configureHost",
    "ensureServersDir",
    "establishedConnectionCounts",
    "findUnregisteredListeners",
    "isValidServerId",
    "listListeners",
    "listListeningPorts",
    "listListeningSockets",
    "parseLsofListen",
    "parseProcNetTcp",
    "planServerGc",
    "processStartToken",
    "readProcessInfo",
    "scanSupport",
    "serverGcConfig",
    "serverId",
    "serverPortRange",
    "serverState",
    "serversDir",
    "signalIfSameGeneration",
    "tunnelServerId",
    "verifyProcessGeneration",
];

/// Give the namespace what it has in common with the top level.
pub(in crate::node) fn share(exports: Js<'_>) -> Result<()> {
    let custody = exports.get("custody")?;
    SHARED.iter().try_for_each(|name| custody.set(name, exports.get(name)?))
}

fn custody(env: &Env) -> Result<Servers<'_>> {
    Servers::new(Scope::from(env), Schema::Custody)
}

/// Register a server under its id's custody. The same running server gets the registration that it has; an id that a
/// live or unverifiable server has, and a file that cannot be read, are refused (`SERVER_CUSTODY`) and stay.
/// Like every change, it throws `LEASE_HELD` or `LEASE_RECOVERING` when another process has the id's mutation lease for
/// longer than `custodyWaitMs`. `null` when no coordination root resolves.
#[napi(
    namespace = "custody",
    catch_unwind,
    ts_args_type = "input: RegisterServerInput, options?: ServerOptions",
    ts_return_type = "ServerRecord | null"
)]
pub(crate) fn register_server<'env>(env: &'env Env, input: Js<'env>, options: Js<'env>) -> Result<Js<'env>> {
    custody(env)?.register(input, options)
}

/// {@link registerServer} for paths that start servers: `null` instead of whatever it throws.
#[napi(
    namespace = "custody",
    catch_unwind,
    ts_args_type = "input: RegisterServerInput, options?: ServerOptions",
    ts_return_type = "ServerRecord | null"
)]
pub(crate) fn try_register_server<'env>(
    env: &'env Env,
    input: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    custody(env)?.try_register(input, options)
}

/// Remove exactly the registration that `record` is the receipt of. Whether it was removed.
#[napi(namespace = "custody", catch_unwind, ts_args_type = "record: ServerRecord, options?: ServerOptions")]
pub(crate) fn unregister_server<'env>(env: &'env Env, record: Js<'env>, options: Js<'env>) -> Result<bool> {
    let servers = custody(env)?;
    let options = context::options(&Argument::new(options, "options").options()?)?;
    // As in the harness, nothing is nobody's receipt.
    if record.is_undefined() || record.is_null() {
        return Ok(false);
    }
    let record = self::record(Argument::new(record, "record"))?;
    servers.done(unregister(&servers.registry(), &record, &options))
}

/// A server's record; `null` where there is none. Throws for a file that holds no record of this schema
/// (`SERVER_RETAINED`).
#[napi(
    namespace = "custody",
    catch_unwind,
    ts_args_type = "id: string, options?: ServerOptions",
    ts_return_type = "ServerRecord | null"
)]
pub(crate) fn read_server<'env>(env: &'env Env, id: Js<'env>, options: Js<'env>) -> Result<Js<'env>> {
    custody(env)?.read(id, options)
}

/// All records, by kind, type and id. Throws for the first file that holds no record of this schema
/// (`SERVER_RETAINED`).
#[napi(
    namespace = "custody",
    catch_unwind,
    ts_args_type = "options?: ServerOptions",
    ts_return_type = "ServerRecord[]"
)]
pub(crate) fn read_server_records<'env>(env: &'env Env, options: Js<'env>) -> Result<Js<'env>> {
    custody(env)?.read_all(options)
}

/// Mark a server as used now (or at `now`), under its id's mutation lease.
#[napi(
    namespace = "custody",
    catch_unwind,
    ts_args_type = "id: string, options?: ServerOptions & { now?: Date }",
    ts_return_type = "void"
)]
pub(crate) fn touch_server<'env>(env: &'env Env, id: Js<'env>, options: Js<'env>) -> Result<()> {
    custody(env)?.touch(id, options)
}

/// A function that marks a server as used, at most once a minute, and never throws.
#[napi(
    namespace = "custody",
    catch_unwind,
    ts_args_type = "id: string, options?: ServerOptions",
    ts_return_type = "() => void"
)]
pub(crate) fn create_server_toucher<'env>(
    env: &'env Env,
    id: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    custody(env)?.toucher(id, options)
}

/// Every server of a project with what can be said of it now. Throws for a file that holds no record of this schema
/// (`SERVER_RETAINED`), and without a project (`SERVER_NO_PROJECT`).
#[napi(
    namespace = "custody",
    catch_unwind,
    ts_args_type = "options?: ListServersOptions",
    ts_return_type = "ServersReport"
)]
pub(crate) fn list_servers<'env>(env: &'env Env, options: Js<'env>) -> Result<Js<'env>> {
    custody(env)?.list(options)
}

/// Register a process that listens inside the project and that nobody registered.
#[napi(
    namespace = "custody",
    catch_unwind,
    ts_args_type = "pid: number, options?: AdoptServerOptions",
    ts_return_type = "ServerRecord"
)]
pub(crate) fn adopt_server<'env>(env: &'env Env, pid: Js<'env>, options: Js<'env>) -> Result<Js<'env>> {
    custody(env)?.adopt(pid, options)
}

/// The first port of a type's configured range that nobody listens on and no running server has recorded; `null`
/// without a range.
#[napi(
    namespace = "custody",
    catch_unwind,
    ts_args_type = "type: string, options?: ServerOptions",
    ts_return_type = "number | null"
)]
pub(crate) fn allocate_server_port<'env>(
    env: &'env Env,
    server_type: Js<'env>,
    options: Js<'env>,
) -> Result<Option<u16>> {
    custody(env)?.allocate(server_type, options)
}

/// Stop a server under its id's custody, only while `record` is still the receipt of its registration: SIGTERM to each
/// of its processes through its own hold (no group is signalled), SIGKILL to what is left after `graceMs` (5000).
///
/// The lease is waited for at most `custodyWaitMs`, without blocking. Refused, with the record left in place:
/// `registration custody root is unavailable`, `registration custody is unavailable`, `registration custody changed;
/// retained current server`, a process that is not the recorded one, a signal that could not be sent.
#[napi(
    namespace = "custody",
    catch_unwind,
    ts_args_type = "record: ServerRecord, options?: StopServerOptions",
    ts_return_type = "Promise<StopResult>"
)]
pub(crate) fn stop_server<'env>(env: &'env Env, record: Js<'env>, options: Js<'env>) -> Result<Js<'env>> {
    promise(Scope::from(env), || {
        stop::begin(&custody(env)?, Argument::new(record, "record"), Argument::new(options, "options"))
    })
}
