//! Whether a record may ask for what it asks for.
//!
//! A record is a file, and in a directory that others can write it may be anybody's. What the caller may signal and
//! the file's owner may not is never stopped at the file's word: otherwise a record that names a process of root's
//! would have root kill it.

use super::super::store::{Store, Writer};
use super::super::{Error, ServerId, ServerRecord, Site};
use super::target::Target;
use crate::host::Host;

/// Why the record is no warrant for one of its processes; `None` when it is one for all that are there.
pub(super) fn missing(
    host: &Host,
    record: &ServerRecord,
    site: Option<&Site>,
    targets: &[Target],
) -> Result<Option<String>, Error> {
    let (Some(site), Some(id)) = (site, ServerId::new(&record.id())) else { return Ok(None) };
    let Some(store) = Store::open(host, &site.coord_root)? else { return Ok(None) };
    let me = host.processes.effective_uid();
    let writer = match store.writer(&id)? {
        Writer::User(user) if user == me || user == ROOT => return Ok(None),
        Writer::User(user) => Some(user),
        Writer::Anyone => None,
    };
    // What I may not signal is left to the kernel to refuse.
    let may_signal = |user: Option<u32>| me == ROOT || user.is_none_or(|user| user == me);
    let is_unwarranted = |user: &Option<u32>| may_signal(*user) && (user.is_none() || *user != writer);
    let unwarranted = targets.iter().find(|target| target.user(host).as_ref().is_some_and(is_unwarranted));
    Ok(unwarranted.map(|target| {
        let who = writer.map_or_else(
            || "anyone can have written it".to_owned(),
            |user| format!("it belongs to uid {user}, who may not signal that process"),
        );
        format!("the server record is no warrant to stop pid {}: {who}; left it in place", target.number)
    }))
}

const ROOT: u32 = 0;
