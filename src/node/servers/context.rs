//! What every call of the registry begins with: the contract, the machine, the configured host, the options.

use std::path::Path;

use napi::Result;

use super::answers::JsAnswers;
use crate::files::Sharing;
use crate::host::Host;
use crate::javascript::json::Value;
use crate::javascript::timestamp;
use crate::node::arguments::{Argument, Members};
use crate::node::errors::raise;
use crate::node::instance::host;
use crate::node::objects::{js_to_value, parse_json};
use crate::node::value::{Js, Scope};
use crate::servers::{CoordRoot, Error, Kind, Options, Owner, Project, Registry, Schema, ServerRecord};

/// One call's registry.
pub(super) struct Servers<'env> {
    pub(super) scope: Scope<'env>,
    pub(super) schema: Schema,
    pub(super) host: Host,
    pub(super) answers: JsAnswers<'env>,
}

impl<'env> Servers<'env> {
    pub(super) fn new(scope: Scope<'env>, schema: Schema) -> Result<Self> {
        Ok(Servers { scope, schema, host: host(scope)?, answers: JsAnswers::new(scope)? })
    }

    pub(super) fn registry(&self) -> Registry<'_> {
        Registry { host: &self.host, schema: self.schema, answers: &self.answers }
    }

    /// What the core gave, or its failure as an exception.
    pub(super) fn done<T>(&self, result: std::result::Result<T, Error>) -> Result<T> {
        result.map_err(|error| raise(self.scope, error))
    }

    pub(super) fn record_or_null(&self, record: Option<ServerRecord>) -> Result<Js<'env>> {
        record.map_or_else(|| self.scope.null(), |record| parse_json(self.scope, &record.json()))
    }
}

/// Who may look into a project's state: what the configured host, the environment or the project's own configuration
/// says. Without a project the first two alone.
pub(in crate::node) fn sharing(scope: Scope<'_>, coord_root: Option<&Path>) -> Result<Sharing> {
    let servers = Servers::new(scope, Schema::Current)?;
    let registry = servers.registry();
    Ok(match coord_root {
        None => registry.sharing_anywhere().unwrap_or_default(),
        Some(root) => {
            let coord_root = root.to_string_lossy().into_owned();
            registry.sharing(&Project { coord_root, path: root.to_owned() })
        }
    })
}

/// `ServerOptions`
pub(super) fn options(members: &Members<'_>) -> Result<Options> {
    let coord_root = match members.optional("coordRoot", |root| root.or_null(Argument::string))? {
        None => CoordRoot::Unset,
        Some(None) => CoordRoot::None,
        Some(Some(root)) => CoordRoot::At(root),
    };
    let defaults = Options::default();
    let custody_wait =
        members.optional("custodyWaitMs", Argument::milliseconds)?.unwrap_or(defaults.custody_wait);
    Ok(Options { coord_root, custody_wait })
}

/// A `Date`'s time in whole milliseconds.
pub(super) fn instant(date: Argument<'_>) -> Result<i64> {
    let given = date.clone().date()?;
    timestamp::from_number(given).ok_or_else(|| date.out_of_range("a Date", given))
}

/// A duration in hours.
pub(super) fn hours(hours: Argument<'_>) -> Result<f64> {
    let given = hours.clone().number()?;
    if !given.is_finite() || given < 0.0 {
        return Err(hours.out_of_range("a number of hours, 0 or more", given));
    }
    Ok(given)
}

pub(super) fn kind(kind: Argument<'_>) -> Result<Kind> {
    kind.word(&[("service", Kind::Service), ("session", Kind::Session)])
}

pub(super) fn owner(owner: Argument<'_>) -> Result<Owner> {
    let members = owner.object()?;
    Ok(Owner {
        instance_id: members.required("instance_id", Argument::text)?,
        name: members.optional("name", Argument::text)?,
    })
}

/// A record as the caller holds it.
pub(super) fn record(record: Argument<'_>) -> Result<ServerRecord> {
    match js_to_value(&record)? {
        Some(Value::Object(object)) => Ok(ServerRecord::given(object)),
        _ => Err(record.wrong_type("an object")),
    }
}
