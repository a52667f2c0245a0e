//! Names and places that do not depend on the contract.

use napi::Result;

use super::context::Servers;
use crate::javascript::json::Value;
use crate::javascript::paths;
use crate::node::arguments::Argument;
use crate::node::objects::{value_to_js, Factory};
use crate::node::value::Js;
use crate::servers::config::Configuration;
use crate::servers::listeners::find_unregistered;
use crate::servers::migrate::migrate;
use crate::servers::names;
use crate::servers::{CoordRoot, Error, Options, Project, ServerId, ServerRecord, Store};

const RANGE: Factory = Factory("(low, high) => [low, high]");
const GC_CONFIG: Factory = Factory(
    "(idle, stale) => ({ ...(idle === undefined ? {} : { idle_hours: idle }), ...(stale === undefined ? {} : { owner_stale_hours: stale }) })",
);

impl<'env> Servers<'env> {
    /// A project that is named, not looked for.
    fn project(&self, root: Js<'env>) -> Result<Project> {
        let root = Argument::new(root, "coordRoot").string()?;
        let project = self.registry().project(&CoordRoot::At(root));
        self.done(project.and_then(|project| project.ok_or(Error::NoProject)))
    }

    pub(super) fn directory(&self, root: Js<'env>) -> Result<String> {
        let root = Argument::new(root, "coordRoot").path()?;
        Ok(paths::join(&root, ".harnery/servers").to_string_lossy().into_owned())
    }

    pub(super) fn ensure_directory(&self, root: Js<'env>) -> Result<String> {
        let project = self.project(root)?;
        self.done(Store::ensure(&self.host, &self.registry().site(&project)))?;
        self.directory(root)
    }

    pub(super) fn find_unregistered(&self, root: Js<'env>, servers: Js<'env>) -> Result<Js<'env>> {
        let project = self.project(root)?;
        let views = Argument::new(servers, "servers").array(|view| {
            let members = view.object()?;
            let is_running = members.required("state", Argument::string)? == "running";
            let record = members.required("record", super::context::record)?;
            Ok(is_running.then_some(record))
        })?;
        let running: Vec<ServerRecord> = views.into_iter().flatten().collect();
        let found = self.done(find_unregistered(&self.host, &project.path, &running))?;
        let found = found.iter().map(|listener| listener.to_value()).collect();
        value_to_js(self.scope, &Value::Array(found))
    }

    pub(super) fn port_range(&self, server_type: Js<'env>, root: Js<'env>) -> Result<Js<'env>> {
        let server_type = Argument::new(server_type, "type").string()?;
        let project = self.project(root)?;
        match Configuration::of(&self.host, &project.path).port_range(&server_type) {
            None => self.scope.null(),
            Some((low, high)) => {
                let port = |port: u16| self.scope.number(f64::from(port));
                RANGE.call(self.scope, &[port(low)?, port(high)?])
            }
        }
    }

    pub(super) fn gc_config(&self, root: Js<'env>) -> Result<Js<'env>> {
        let project = self.project(root)?;
        let config = Configuration::of(&self.host, &project.path).gc();
        let hours =
            |hours: Option<f64>| hours.map_or_else(|| self.scope.undefined(), |n| self.scope.number(n));
        GC_CONFIG.call(self.scope, &[hours(config.idle_hours)?, hours(config.owner_stale_hours)?])
    }

    /// `migrateServerRecords`, to this contract.
    pub(super) fn migrate(&self, root: Js<'env>) -> Result<Js<'env>> {
        let project = self.project(root)?;
        let migration = self.done(migrate(&self.registry(), &project, &Options::default()))?;
        value_to_js(self.scope, &migration.into_value())
    }

    pub(super) fn id(&self, server_type: Js<'env>, scope: Js<'env>) -> Result<String> {
        let server_type = Argument::new(server_type, "type").string()?;
        let scope = Argument::new(scope, "scope").optional().map(Argument::string).transpose()?;
        let scope = scope.filter(|scope| !scope.is_empty()).map(|scope| self.registry().resolve(&scope));
        Ok(names::server_id(&server_type, scope.as_deref()))
    }
}

pub(super) fn is_valid_id(id: Js<'_>) -> Result<bool> {
    Ok(ServerId::new(&Argument::new(id, "id").string()?).is_some())
}
