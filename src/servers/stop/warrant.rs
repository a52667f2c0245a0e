//! Whether a record may ask for what it asks for.
//!
//! A record is a file, and in a directory that others can write it may be anybody's.

use super::super::{store::Store, Error, Schema, ServerRecord, Site};
use super::target::Target;
use crate::host::users::Writer;
use crate::host::Host;

/// Why the record is no warrant for one of its processes; `None` when it is one for all that are there.
pub(super) fn missing(
    host: &Host,
    record: &ServerRecord,
    schema: Schema,
    site: Option<&Site>,
    targets: &[Target],
) -> Result<Option<String>, Error> {
    let Some(site) = site else { return Ok(None) };
    let Some(store) = Store::open(host, &site.coord_root)? else { return Ok(None) };
    let writer = store.writer(record, schema)?;
    let is_unwarranted = |target: &&Target| target.present().is_some_and(|pid| !writer.may_signal(host, pid));
    Ok(targets.iter().find(is_unwarranted).map(|target| {
        let who = match writer {
            Writer::User(user) => format!("it belongs to uid {user}, who may not signal that process"),
            Writer::Anyone => "anyone can have written it".to_owned(),
        };
        format!("the server record is no warrant to stop pid {}: {who}; left it in place", target.number)
    }))
}
