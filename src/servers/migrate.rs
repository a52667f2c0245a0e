//! Changing a project over from one contract to the other, record by record.
//!
//! Each record is rewritten under its id's mutation lease and replaced by one rename, so a migration that is killed at
//! any step leaves each in one of its two forms.

use std::ffi::OsStr;

use super::custody::lease;
use super::record::is_receipt;
use super::registry::{Options, Project, Registry};
use super::store::{Changed, Found, Invalid, Replacement, Synced};
use super::{Error, Schema, ServerId, ServerRecord, Site, Store};
use crate::host::users::owner_to_keep;
use crate::javascript::json::{Object, Value};

/// What became of the records that were not yet of the schema.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Migration {
    pub migrated: Vec<String>,
    /// Left as they were.
    pub kept: Vec<Kept>,
}

/// A record that was left as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub id: String,
    pub reason: String,
}

impl Migration {
    /// `ServerMigration`
    pub fn into_value(self) -> Value {
        let kept = self
            .kept
            .into_iter()
            .map(|kept| Object::new().with("id", Some(kept.id)).with("reason", Some(kept.reason)).into());
        let migrated = self.migrated.into_iter().map(Value::from);
        Object::new()
            .with("migrated", Some(Value::Array(migrated.collect())))
            .with("kept", Some(Value::Array(kept.collect())))
            .into()
    }
}

/// What one record came to.
enum Outcome {
    /// It is of the schema already, or gone.
    Nothing,
    Migrated,
    Kept(String),
}

/// Rewrite every readable record of a project for the registry's schema.
///
/// # Errors
/// A registry that cannot be read. What one record comes to is in [`Migration`].
pub fn migrate(registry: &Registry<'_>, project: &Project, options: &Options) -> Result<Migration, Error> {
    let mut migration = Migration::default();
    let Some(store) = Store::open(registry.host, &project.path)? else { return Ok(migration) };
    let site = registry.site(project);
    for name in store.names()? {
        let stem = stem(&name);
        let outcome = match ServerId::new(&stem) {
            Some(id) => one(registry, &store, &site, options, &id)
                .unwrap_or_else(|error| Outcome::Kept(error.to_string())),
            None => Outcome::Kept("its file's name is no server id".to_owned()),
        };
        match outcome {
            Outcome::Nothing => {}
            Outcome::Migrated => migration.migrated.push(stem),
            Outcome::Kept(reason) => migration.kept.push(Kept { id: stem, reason }),
        }
    }
    Ok(migration)
}

fn one(
    registry: &Registry<'_>,
    store: &Store,
    site: &Site,
    options: &Options,
    id: &ServerId,
) -> Result<Outcome, Error> {
    let to = registry.schema;
    if let Found::Record(..) | Found::Missing = store.read(id, to)? {
        return Ok(Outcome::Nothing);
    }
    lease::under(registry.host, &site.coord_root, id, options.custody_wait, || {
        let (seen, stat) = match store.read(id, other(to))? {
            Found::Record(record, stat) => (record, stat),
            Found::Missing => return Ok(Outcome::Nothing),
            Found::Invalid(Invalid::NotAFile) => return Ok(kept("it is no plain file")),
            Found::Invalid(Invalid::Content) => return Ok(kept("it is no valid record")),
            Found::Unreadable(error) => return Err(error.into()),
        };
        let after = match rewritten(registry, &seen) {
            Ok(after) => after,
            Err(reason) => return Ok(kept(reason)),
        };
        let Ok(owner) = owner_to_keep(registry.host, &stat) else { return Ok(kept("it is another user's")) };
        let replacement = Replacement {
            record: &after,
            schema: other(to),
            synced: Synced::Yes,
            sharing: site.sharing,
            owner,
        };
        let is_as_seen = |found: &Found| matches!(found, Found::Record(now, _) if *now == seen);
        Ok(match store.replace(id, &replacement, is_as_seen)? {
            Changed::Done => Outcome::Migrated,
            Changed::Superseded => kept("it changed meanwhile"),
            Changed::Busy => return Err(store.busy()),
        })
    })
}

/// The record in its other form: its receipt and every unknown field are kept.
fn rewritten(registry: &Registry<'_>, record: &ServerRecord) -> Result<ServerRecord, &'static str> {
    let after = record.clone().with("schema_version", registry.schema.version());
    match (registry.schema, record.get("registration_id")) {
        (Schema::Custody, None) => Ok(after.with("registration_id", registry.host.processes.fresh_id())),
        (Schema::Custody, Some(id)) if !id.as_str().is_some_and(is_receipt) => {
            Err("its registration_id is no receipt")
        }
        (Schema::Custody | Schema::Current, _) => Ok(after),
    }
}

fn other(schema: Schema) -> Schema {
    match schema {
        Schema::Current => Schema::Custody,
        Schema::Custody => Schema::Current,
    }
}

fn kept(reason: &str) -> Outcome {
    Outcome::Kept(reason.to_owned())
}

/// `<id>` of `<id>.json`
fn stem(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    name.strip_suffix(".json").unwrap_or(&name).to_owned()
}
