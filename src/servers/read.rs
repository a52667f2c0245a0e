//! Reading records.

use std::fmt::Display;
use std::rc::Rc;

use super::registry::{Options, Project, Registry};
use super::remembered::Remembered;
use super::store::Found;
use super::{Error, Kind, Schema, ServerId, ServerRecord, Store};
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
    readable(registry.schema, &id, store.read(&id, registry.schema)?)
}

/// All records by kind, type and id; none without a project.
///
/// # Errors
/// Under custody, [`Error::Retained`] for the first file that holds no record of the schema.
pub fn read_records(registry: &Registry<'_>, options: &Options) -> Result<Vec<ServerRecord>, Error> {
    Ok(shared_records(registry, options)?.into_iter().map(Rc::unwrap_or_clone).collect())
}

/// [`read_records`] for whoever only looks at them.
///
/// # Errors
/// As [`read_records`].
pub fn shared_records(registry: &Registry<'_>, options: &Options) -> Result<Vec<Rc<ServerRecord>>, Error> {
    match registry.project(&options.coord_root)? {
        Some(project) => records(registry, &project),
        None => Ok(Vec::new()),
    }
}

/// [`shared_records`] of a known project. One that has not changed since the last time is the same `Rc` again.
pub(super) fn records(registry: &Registry<'_>, project: &Project) -> Result<Vec<Rc<ServerRecord>>, Error> {
    let Registry { host, schema, .. } = *registry;
    let Some(store) = Store::open(host, &project.path)? else { return Ok(Vec::new()) };
    let remembered = host.memory.part::<Remembered>();
    let mut listing = remembered.listing(host.clock.now_ms());
    let mut records = Vec::new();
    for name in store.names()? {
        let known = listing.known(&name);
        if let Some(known) = known.filter(|known| store.shows(&name, |now| known.stands(schema, now))) {
            records.push(known.record());
            listing.keep(known);
            continue;
        }
        let found = store.read_name(&name, schema)?;
        let stat = if let Found::Record(_, stat) = &found { Some(*stat) } else { None };
        if let (Some(record), Some(stat)) = (readable(schema, name.display(), found)?.map(Rc::new), stat) {
            listing.read(name, schema, stat, &record);
            records.push(record);
        }
    }
    listing.end();
    Ok(sorted(records))
}

/// The record that was found. What is none is skipped under the current contract and refused under custody.
pub(super) fn readable(
    schema: Schema,
    name: impl Display,
    found: Found,
) -> Result<Option<ServerRecord>, Error> {
    match (found, schema) {
        (Found::Record(record, _), _) => Ok(Some(*record)),
        (Found::Missing, _) | (Found::Invalid(_) | Found::Unreadable(_), Schema::Current) => Ok(None),
        (Found::Invalid(_), Schema::Custody) => {
            Err(Error::Retained(format!("{}; {WHAT_TO_DO}", without_custody(name))))
        }
        (Found::Unreadable(error), Schema::Custody) => {
            Err(Error::Retained(format!("{}: {error}", without_custody(name))))
        }
    }
}

/// About a file that holds no record of custody's.
pub(super) const WHAT_TO_DO: &str =
    "migrateServerRecords changes a record of schema 1 over, anything else is to be removed by hand";

fn without_custody(name: impl Display) -> String {
    format!("server record {name} is invalid or uses an older schema; retained without custody")
}

/// By kind, type and id, as `localeCompare` orders them; records that are equal in all three stay as they are.
fn sorted(records: Vec<Rc<ServerRecord>>) -> Vec<Rc<ServerRecord>> {
    let keys: Vec<_> = records
        .iter()
        .map(|record| (record.kind().map_or("", Kind::as_str), record.server_type(), record.id()))
        .collect();
    let order = Order::new();
    let mut places: Vec<usize> = (0..keys.len()).collect();
    places.sort_by(|a, b| {
        let ((kind_a, type_a, id_a), (kind_b, type_b, id_b)) = (&keys[*a], &keys[*b]);
        let types = || order.compare(type_a, type_b);
        kind_a.cmp(kind_b).then_with(types).then_with(|| order.compare(id_a, id_b))
    });
    drop(keys);
    let mut records: Vec<_> = records.into_iter().map(Some).collect();
    places.into_iter().filter_map(|place| records[place].take()).collect()
}
