//! Sockets: who listens where, and how many connections a port has.

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use super::arguments::Argument;
use super::errors::raise;
use super::instance::host;
use super::objects::Factory;
use super::value::{Js, Scope};
use crate::net::lsof::parse_lsof_listen as parse_lsof;
use crate::net::procfs::parse_proc_net_tcp as parse_procfs;
use crate::net::{self, Family, ListeningSocket, ScanSupport};

const LISTENING_SOCKET: Factory = Factory("(pid, port, address) => ({ pid, port, address })");
const LISTENER: Factory =
    Factory("(port, address, family, inode, uid, pids) => ({ port, address, family, inode, uid, pids })");
const ROW: Factory =
    Factory("(localAddress, localPort, state, inode) => ({ localAddress, localPort, state, inode })");
const SET: Factory = Factory("(values) => new Set(values)");
/// Of keys and values in turn.
const MAP: Factory = Factory(
    "(flat) => { const map = new Map(); for (let i = 0; i < flat.length; i += 2) map.set(flat[i], flat[i + 1]); return map }",
);

/// How this machine's sockets can be looked at. Where they cannot (`"unsupported"`), every list is empty.
#[napi(catch_unwind, ts_return_type = "ScanSupport")]
pub(crate) fn scan_support(env: &Env) -> Result<&'static str> {
    Ok(match net::scan_support(&*host(Scope::from(env))?.sockets) {
        ScanSupport::Procfs => "procfs",
        ScanSupport::Lsof => "lsof",
        ScanSupport::Unsupported => "unsupported",
    })
}

/// Who listens on which port, as far as owners can be seen: sorted by port, one entry per pid and port (the IPv4 one
/// first), a shared socket with its lowest pid.
#[napi(catch_unwind, ts_return_type = "ListeningSocket[]")]
pub(crate) fn list_listening_sockets<'env>(env: &'env Env) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let sockets = net::list_listening_sockets(&*host(scope)?.sockets).map_err(|error| raise(scope, error))?;
    listening_sockets(scope, &sockets)
}

/// Every port that is listened on, whether its owner can be seen or not.
#[napi(catch_unwind, ts_return_type = "Set<number>")]
pub(crate) fn list_listening_ports<'env>(env: &'env Env) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let ports = net::list_listening_ports(&*host(scope)?.sockets).map_err(|error| raise(scope, error))?;
    let ports: Vec<u16> = ports.into_iter().collect();
    SET.call(scope, &[scope.array(ports.iter().map(|port| scope.number(f64::from(*port))))?])
}

/// Every listening socket, also those whose owner cannot be seen, each with every owner that can.
#[napi(catch_unwind, ts_return_type = "Listener[]")]
pub(crate) fn list_listeners<'env>(env: &'env Env) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let listeners = net::list_listeners(&*host(scope)?.sockets).map_err(|error| raise(scope, error))?;
    scope.array(listeners.iter().map(|listener| {
        let family = match listener.family {
            Family::Tcp => "tcp",
            Family::Tcp6 => "tcp6",
        };
        let arguments = [
            scope.number(f64::from(listener.port))?,
            scope.string(&listener.address)?,
            scope.string(family)?,
            // Below 2³², whatever the type has room for.
            scope.number(listener.inode as f64)?,
            scope.number(f64::from(listener.uid))?,
            scope.array(listener.pids.iter().map(|pid| scope.number(f64::from(pid.get()))))?,
        ];
        LISTENER.call(scope, &arguments)
    }))
}

/// Established connections to servers on these ports of this machine, by port; a port without any has no entry.
///
/// A client that a deferred-accept server keeps waiting counts as well.
#[napi(catch_unwind, ts_args_type = "ports: number[]", ts_return_type = "Map<number, number>")]
pub(crate) fn established_connection_counts<'env>(env: &'env Env, ports: Js<'env>) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let ports = Argument::new(ports, "ports").array(Argument::port)?;
    let counts = net::established_connection_counts(&*host(scope)?.sockets, &ports);
    let counts = counts.map_err(|error| raise(scope, error))?;
    let flat: Vec<f64> = counts.iter().flat_map(|(port, count)| [f64::from(*port), *count as f64]).collect();
    MAP.call(scope, &[scope.array(flat.iter().map(|number| scope.number(*number)))?])
}

/// The rows of `/proc/net/tcp` or `tcp6`. The first line is the heading; lines that are no rows are passed over.
#[napi(catch_unwind, ts_args_type = "text: string", ts_return_type = "ProcNetTcpRow[]")]
pub(crate) fn parse_proc_net_tcp<'env>(env: &'env Env, text: Js<'env>) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let text = Argument::new(text, "text").string()?;
    let rows: Vec<_> = parse_procfs(&text).collect();
    scope.array(rows.iter().map(|row| {
        let address = scope.string(&row.local_address.to_string())?;
        let port = scope.number(f64::from(row.local_port))?;
        ROW.call(scope, &[address, port, scope.string(row.state)?, scope.string(row.inode)?])
    }))
}

/// The listening sockets in what `lsof -nP -iTCP -sTCP:LISTEN -Fpn` wrote: sorted by port, one per pid and port.
#[napi(catch_unwind, ts_args_type = "text: string", ts_return_type = "ListeningSocket[]")]
pub(crate) fn parse_lsof_listen<'env>(env: &'env Env, text: Js<'env>) -> Result<Js<'env>> {
    let text = Argument::new(text, "text").string()?;
    listening_sockets(Scope::from(env), &parse_lsof(&text))
}

fn listening_sockets<'env>(scope: Scope<'env>, sockets: &[ListeningSocket]) -> Result<Js<'env>> {
    scope.array(sockets.iter().map(|socket| {
        let pid = scope.number(f64::from(socket.pid.get()))?;
        let port = scope.number(f64::from(socket.port))?;
        LISTENING_SOCKET.call(scope, &[pid, port, scope.string(&socket.address)?])
    }))
}
