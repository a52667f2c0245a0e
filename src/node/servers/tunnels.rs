//! How a tunnel is registered, under either contract.

use napi::Result;

use super::context::Servers;
use crate::node::arguments::Argument;
use crate::node::errors::raise;
use crate::node::objects::Factory;
use crate::node::value::Js;
use crate::servers::tunnels::{label, log, server_id};
use crate::servers::{Error, Schema};

const INPUT: Factory = Factory(
    "(id, label, url, port, pid, log, cwd, started_at) =>
       ({ id, kind: 'service', type: 'tunnel', label, url, port, pid, log, cwd, started_at, owner: null })",
);
const CUSTODY_INPUT: Factory = Factory(
    "(id, label, url, port, pid, log, cwd, started_at, start_token) =>
       ({ id, kind: 'service', type: 'tunnel', label, url, port, pid, start_token, log, cwd, started_at, owner: null })",
);

/// `tunnelServerId`
pub(super) fn id(name: Js<'_>) -> Result<String> {
    Ok(server_id(&Argument::new(name, "name").string()?))
}

/// `tunnelServerInput`
pub(super) fn input<'env>(
    servers: &Servers<'env>,
    state: Js<'env>,
    coord_root: Js<'env>,
) -> Result<Js<'env>> {
    let scope = servers.scope;
    let members = Argument::new(state, "state").object()?;
    if servers.schema == Schema::Custody && is_obsolete(state)? {
        let text = "obsolete tunnel provider authority is unknown; state retained";
        return Err(raise(scope, Error::Retained(text.to_owned())));
    }
    let root = Argument::new(coord_root, "coordRoot");
    let root = root.path().map(|root| root.to_string_lossy().into_owned())?;
    let name = members.required("name", Argument::string)?;
    let target = members.required("target", Argument::string)?;
    let vhost = members.optional("vhost", |vhost| vhost.or_null(Argument::string))?.flatten();
    let value = |name| members.required(name, |value| Ok(value.value()));
    let cwd = servers.host.environment.current_dir();
    let mut arguments = vec![
        scope.string(&server_id(&name))?,
        scope.string(&label(&name, &target, vhost.as_deref()))?,
        value("url")?,
        value("gate_port")?,
        value("gate_pid")?,
        scope.string(&log(&cwd, &root, &name).to_string_lossy())?,
        coord_root,
        value("started_at")?,
    ];
    if servers.schema == Schema::Current {
        return INPUT.call(scope, &arguments);
    }
    let token = value("gate_start_token")?;
    if !token.is_truthy() {
        let text = "tunnel gate generation witness is unavailable; state retained";
        return Err(raise(scope, Error::Retained(text.to_owned())));
    }
    arguments.push(token);
    CUSTODY_INPUT.call(scope, &arguments)
}

/// Whether an older version left it: it owns what named the provider's process, if only as `undefined`.
fn is_obsolete(state: Js<'_>) -> Result<bool> {
    Ok(state.owns("provider_pid")? || state.owns("provider_start_token")?)
}
