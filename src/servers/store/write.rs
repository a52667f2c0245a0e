//! A record written whole under another name, then renamed to its own.

use super::{Replacement, Store, Synced};
use crate::files::PathError;
use crate::servers::record::RECORD_LIMIT_BYTES;
use crate::servers::{Error, ServerId};

/// A written record without its name yet; gone when dropped.
#[derive(Debug)]
#[must_use = "a prepared record that is dropped is removed"]
pub(super) struct Prepared<'a> {
    store: &'a Store,
    temporary: Option<String>,
}

/// Write the record as `<id>.json.tmp.<pid>.<unique>`.
pub(super) fn prepare<'a>(
    store: &'a Store,
    id: &ServerId,
    replacement: &Replacement<'_>,
) -> Result<Prepared<'a>, Error> {
    let text = replacement.record.text();
    if text.len() > RECORD_LIMIT_BYTES {
        return Err(Error::Input(format!(
            "server record {id} would have {} bytes; readers take at most {RECORD_LIMIT_BYTES}",
            text.len()
        )));
    }
    let processes = &store.host.processes;
    let temporary = format!("{}.tmp.{}.{}", id.file_name(), processes.me(), processes.fresh_id());
    let file = replacement.sharing.create_file(&store.dir, &temporary)?;
    // A failing call below drops this, and with it the file.
    let prepared = Prepared { store, temporary: Some(temporary) };
    if let Some((uid, gid)) = replacement.owner {
        file.set_owner(uid, gid)?;
    }
    file.write_all_at(0, text.as_bytes())?;
    if replacement.synced == Synced::Yes {
        file.sync()?;
    }
    Ok(prepared)
}

impl Prepared<'_> {
    /// Give it the record's name. The caller holds the lock and has looked again.
    pub(super) fn publish(mut self, id: &ServerId) -> Result<(), PathError> {
        if let Some(temporary) = &self.temporary {
            self.store.dir.rename(temporary, id.file_name())?;
        }
        self.temporary = None;
        Ok(())
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Best effort: the failure that is reported is the one that led here.
            let _ = self.store.dir.unlink(temporary);
        }
    }
}
