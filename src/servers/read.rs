//! Reading records.

use std::ffi::OsStr;

use super::registry::{Options, Project, Registry};
use super::store::Found;
use super::{Error, Schema, ServerId, ServerRecord, Store};
use crate::javascript::collate::Order;

/// The record of an id; `None` when there is none.
///
/// # Errors
/// Under custody, [`Error::Retained`] for a file that holds no record of the schema.
pub fn read_server(
    registry: &Registry<'_>,
    id: &str,
    options: &Options,
) -> Result<Option<ServerRecord>, Error> {
    let (Some(project), Some(id)) = (registry.project(&options.coord_root)?, ServerId::new(id)) else {
        return Ok(None);
    };
    let Some(store) = Store::open(registry.host, &project.path)? else { return Ok(None) };
    readable(registry.schema, id.as_str(), store.read(&id, registry.schema)?)
}

/// All records by kind, type and id; none without a project.
///
/// # Errors
/// Under custody, [`Error::Retained`] for the first file that holds no record of the schema.
pub fn read_records(registry: &Registry<'_>, options: &Options) -> Result<Vec<ServerRecord>, Error> {
    match registry.project(&options.coord_root)? {
        Some(project) => records(registry, &project),
        None => Ok(Vec::new()),
    }
}

/// [`read_records`] of a known project.
pub(super) fn records(registry: &Registry<'_>, project: &Project) -> Result<Vec<ServerRecord>, Error> {
    let Some(store) = Store::open(registry.host, &project.path)? else { return Ok(Vec::new()) };
    let mut records = Vec::new();
    for name in store.names()? {
        let found = store.read_name(&name, registry.schema)?;
        records.extend(readable(registry.schema, &shown(&name), found)?);
    }
    Ok(sorted(records))
}

/// The record that was found. What is none is skipped under the current contract and refused under custody.
pub(super) fn readable(schema: Schema, name: &str, found: Found) -> Result<Option<ServerRecord>, Error> {
    match (found, schema) {
        (Found::Record(record, _), _) => Ok(Some(*record)),
        (Found::Missing, _) | (Found::Invalid(_) | Found::Unreadable(_), Schema::Current) => Ok(None),
        (Found::Invalid(_) | Found::Unreadable(_), Schema::Custody) => Err(Error::Retained(format!(
            "server record {name} is invalid or uses an older schema; retained without custody"
        ))),
    }
}

fn shown(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

/// By kind, type and id, as `localeCompare` orders them; records that are equal in all three stay as they are.
fn sorted(records: Vec<ServerRecord>) -> Vec<ServerRecord> {
    let mut keyed: Vec<_> = records
        .into_iter()
        .map(|record| {
            let kind = record.kind().map_or("", |kind| kind.as_str());
            ((kind, record.server_type().into_owned(), record.id().into_owned()), record)
        })
        .collect();
    let order = Order::new();
    keyed.sort_by(|((kind_a, type_a, id_a), _), ((kind_b, type_b, id_b), _)| {
        let types = || order.compare(type_a, type_b);
        kind_a.cmp(kind_b).then_with(types).then_with(|| order.compare(id_a, id_b))
    });
    keyed.into_iter().map(|(_, record)| record).collect()
}
