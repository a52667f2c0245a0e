//! The server registry. [`verbs`], [`project`] and [`gc`] hold what both contracts share; here and in [`custody`] each
//! has its names.

mod answers;
mod constants;
mod context;
pub(super) mod custody;
mod gc;
mod listed;
mod project;
mod stop;
mod tunnels;
mod verbs;

pub(super) use context::sharing;

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use self::context::{record, Servers};
use super::arguments::Argument;
use super::value::{Js, Scope};
use crate::servers::unregister::unregister;
use crate::servers::{server_state as state_of, Schema};

fn current(env: &Env) -> Result<Servers<'_>> {
    Servers::new(Scope::from(env), Schema::Current)
}

/// Tell the addon what only the harness knows: the coordination root, who is calling, whether agents are alive, and
/// who shares the project. Each function is optional and called at the time of need; one that throws cannot say.
/// `null` forgets a host.
#[napi(catch_unwind, ts_args_type = "host: ServerHost | null", ts_return_type = "void")]
pub(crate) fn configure_host(host: Js<'_>) -> Result<()> {
    answers::configure(Argument::new(host, "host"))
}

/// Where a project's records are: `<coordRoot>/.harnery/servers`.
#[napi(catch_unwind, ts_args_type = "coordRoot: string")]
pub(crate) fn servers_dir<'env>(env: &'env Env, coord_root: Js<'env>) -> Result<String> {
    current(env)?.directory(coord_root)
}

/// Create the directory of a project's records, with the modes of its sharing, and return it.
#[napi(catch_unwind, ts_args_type = "coordRoot: string")]
pub(crate) fn ensure_servers_dir<'env>(env: &'env Env, coord_root: Js<'env>) -> Result<String> {
    current(env)?.ensure_directory(coord_root)
}

/// Whether a text is a server's id: `^[a-z0-9][a-z0-9._-]{0,95}$`.
#[napi(catch_unwind, ts_args_type = "id: string")]
pub(crate) fn is_valid_server_id(id: Js<'_>) -> Result<bool> {
    project::is_valid_id(id)
}

/// The id of a server that is given none: made of its type and, where there is one, its scope.
#[napi(catch_unwind, ts_args_type = "type: string, scope?: string")]
pub(crate) fn server_id<'env>(env: &'env Env, server_type: Js<'env>, scope: Js<'env>) -> Result<String> {
    current(env)?.id(server_type, scope)
}

/// Write a server's record, replacing one of the same id. `null` when no coordination root resolves; else exactly what
/// was written.
///
/// Throws before anything is written: `invalid server pid: …`, `invalid server port: …`, `invalid server id: …`, and
/// `pid … generation could not be verified before registration` when `start_token` is not the process's own
/// (`SERVER_INPUT`). `SERVER_BUSY` when another process holds the registry's lock for two seconds.
#[napi(
    catch_unwind,
    ts_args_type = "input: RegisterServerInput, options?: ServerOptions",
    ts_return_type = "ServerRecord | null"
)]
pub(crate) fn register_server<'env>(env: &'env Env, input: Js<'env>, options: Js<'env>) -> Result<Js<'env>> {
    current(env)?.register(input, options)
}

/// {@link registerServer} for paths that start servers: `null` instead of whatever it throws.
#[napi(
    catch_unwind,
    ts_args_type = "input: RegisterServerInput, options?: ServerOptions",
    ts_return_type = "ServerRecord | null"
)]
pub(crate) fn try_register_server<'env>(
    env: &'env Env,
    input: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    current(env)?.try_register(input, options)
}

/// Remove a server's record; with `pid` only while it still names that process, so that a replacement that registered
/// the same id meanwhile survives. Whether a file was removed.
#[napi(catch_unwind, ts_args_type = "id: string, options?: ServerOptions & { pid?: number }")]
pub(crate) fn unregister_server<'env>(env: &'env Env, id: Js<'env>, options: Js<'env>) -> Result<bool> {
    let servers = current(env)?;
    let id = Argument::new(id, "id").string()?;
    let members = Argument::new(options, "options").options()?;
    let pid = members.optional("pid", Argument::number)?;
    let options = context::options(&members)?;
    servers.done(unregister(&servers.registry(), &id, pid, &options))
}

/// A server's record; `null` where there is none that can be read.
#[napi(
    catch_unwind,
    ts_args_type = "id: string, options?: ServerOptions",
    ts_return_type = "ServerRecord | null"
)]
pub(crate) fn read_server<'env>(env: &'env Env, id: Js<'env>, options: Js<'env>) -> Result<Js<'env>> {
    current(env)?.read(id, options)
}

/// All records that can be read, by kind, type and id.
#[napi(catch_unwind, ts_args_type = "options?: ServerOptions", ts_return_type = "ServerRecord[]")]
pub(crate) fn read_server_records<'env>(env: &'env Env, options: Js<'env>) -> Result<Js<'env>> {
    current(env)?.read_all(options)
}

/// Mark a server as used now (or at `now`). Nothing but `last_active_at` changes; a server that is not registered is
/// no error.
#[napi(
    catch_unwind,
    ts_args_type = "id: string, options?: ServerOptions & { now?: Date }",
    ts_return_type = "void"
)]
pub(crate) fn touch_server<'env>(env: &'env Env, id: Js<'env>, options: Js<'env>) -> Result<()> {
    current(env)?.touch(id, options)
}

/// A function that marks a server as used, at most once a minute, and never throws.
#[napi(catch_unwind, ts_args_type = "id: string, options?: ServerOptions", ts_return_type = "() => void")]
pub(crate) fn create_server_toucher<'env>(
    env: &'env Env,
    id: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    current(env)?.toucher(id, options)
}

/// Whether a record's server runs here, as far as can be told from here.
#[napi(catch_unwind, ts_args_type = "record: ServerRecord", ts_return_type = "ServerState")]
pub(crate) fn server_state<'env>(env: &'env Env, record: Js<'env>) -> Result<&'static str> {
    let servers = current(env)?;
    let record = self::record(Argument::new(record, "record"))?;
    Ok(state_of(servers.host.processes.as_ref(), &record).as_str())
}

/// Every server of a project with its state, its owner's state, its connections and its idle time; the listeners that
/// nobody registered; and the dead records that were removed.
///
/// Throws `no Harnery project found (coordination root did not resolve)` (`SERVER_NO_PROJECT`).
#[napi(catch_unwind, ts_args_type = "options?: ListServersOptions", ts_return_type = "ServersReport")]
pub(crate) fn list_servers<'env>(env: &'env Env, options: Js<'env>) -> Result<Js<'env>> {
    current(env)?.list(options)
}

/// The listeners inside a project that none of these servers accounts for.
#[napi(
    catch_unwind,
    ts_args_type = "coordRoot: string, servers: ServerView[]",
    ts_return_type = "UnregisteredListener[]"
)]
pub(crate) fn find_unregistered_listeners<'env>(
    env: &'env Env,
    coord_root: Js<'env>,
    servers: Js<'env>,
) -> Result<Js<'env>> {
    current(env)?.find_unregistered(coord_root, servers)
}

/// Register a process that listens inside the project and that nobody registered, as the scan sees it right now.
///
/// Throws `pid … is not an unregistered listener inside this project` (`SERVER_INPUT`).
#[napi(
    catch_unwind,
    ts_args_type = "pid: number, options?: AdoptServerOptions",
    ts_return_type = "ServerRecord"
)]
pub(crate) fn adopt_server<'env>(env: &'env Env, pid: Js<'env>, options: Js<'env>) -> Result<Js<'env>> {
    current(env)?.adopt(pid, options)
}

/// The first port of a type's configured range that nobody listens on and no running server has recorded; `null`
/// without a range.
///
/// Throws `no free port for … in …` (`SERVER_INPUT`) when the range is used up.
#[napi(
    catch_unwind,
    ts_args_type = "type: string, options?: ServerOptions",
    ts_return_type = "number | null"
)]
pub(crate) fn allocate_server_port<'env>(
    env: &'env Env,
    server_type: Js<'env>,
    options: Js<'env>,
) -> Result<Option<u16>> {
    current(env)?.allocate(server_type, options)
}

/// A type's configured range of ports, both ends included; `null` where there is none.
#[napi(
    catch_unwind,
    ts_args_type = "type: string, coordRoot: string",
    ts_return_type = "[low: number, high: number] | null"
)]
pub(crate) fn server_port_range<'env>(
    env: &'env Env,
    server_type: Js<'env>,
    coord_root: Js<'env>,
) -> Result<Js<'env>> {
    current(env)?.port_range(server_type, coord_root)
}

/// What a project (or the user) has configured for garbage collection, in hours.
#[napi(
    catch_unwind,
    ts_args_type = "coordRoot: string",
    ts_return_type = "{ idle_hours?: number; owner_stale_hours?: number }"
)]
pub(crate) fn server_gc_config<'env>(env: &'env Env, coord_root: Js<'env>) -> Result<Js<'env>> {
    current(env)?.gc_config(coord_root)
}

/// Which of these servers may be stopped because the agent that started them is gone and nobody uses them, with a
/// reason for each. Looks at nothing and stops nothing.
#[napi(
    catch_unwind,
    ts_args_type = "views: ServerView[], policy?: GcPolicy",
    ts_return_type = "GcDecision[]"
)]
pub(crate) fn plan_server_gc<'env>(env: &'env Env, views: Js<'env>, policy: Js<'env>) -> Result<Js<'env>> {
    gc::plan(Scope::from(env), views, policy)
}

/// The id of a tunnel's server.
#[napi(catch_unwind, ts_args_type = "name: string")]
pub(crate) fn tunnel_server_id(name: Js<'_>) -> Result<String> {
    tunnels::id(name)
}

/// A tunnel's registration: a service that its gate's process is. Helper processes are not carried: nobody witnessed
/// their generation.
#[napi(
    catch_unwind,
    ts_args_type = "state: TunnelState, coordRoot: string",
    ts_return_type = "RegisterServerInput"
)]
pub(crate) fn tunnel_server_input<'env>(
    env: &'env Env,
    state: Js<'env>,
    coord_root: Js<'env>,
) -> Result<Js<'env>> {
    tunnels::input(&current(env)?, state, coord_root)
}

/// Change a project over to one of the two contracts: rewrite each readable record, under its id's mutation lease, for
/// schema `to`. Its receipt and every other field are kept. What is invalid, held, or changes meanwhile is kept as it
/// is and named.
#[napi(catch_unwind, ts_args_type = "coordRoot: string, to: 1 | 2", ts_return_type = "ServerMigration")]
pub(crate) fn migrate_server_records<'env>(
    env: &'env Env,
    coord_root: Js<'env>,
    to: Js<'env>,
) -> Result<Js<'env>> {
    let to = Argument::new(to, "to");
    let schema = match to.clone().number()? {
        1.0 => Schema::Current,
        2.0 => Schema::Custody,
        given => return Err(to.out_of_range("1 or 2", given)),
    };
    Servers::new(Scope::from(env), schema)?.migrate(coord_root)
}
