//! Who answers for what a record says.

use std::path::Path;

use super::{Found, Store};
use crate::files::Kind;
use crate::host::users::Writer;
use crate::servers::{Error, Schema, ServerId, ServerRecord};

impl Store {
    /// Who answers for a record: the writer of the file that holds this very record. Where no file does (any more),
    /// whoever can have put one there and taken it away again.
    ///
    /// # Errors
    /// A failed system call.
    pub fn writer(&self, record: &ServerRecord, schema: Schema) -> Result<Writer, Error> {
        if let Some(id) = ServerId::new(&record.id()) {
            match self.read(&id, schema)? {
                Found::Record(now, stat) if says_the_same(&now, record) => {
                    return Ok(Writer::of(&self.host, &stat))
                }
                Found::Unreadable(error) => return Err(error.into()),
                _ => {}
            }
        }
        // The registry's directory, and the two above it, through which another one can have stood here.
        let mut writer = Writer::of(&self.host, &self.dir.stat()?);
        for above in self.dir.path().ancestors().skip(1).take(2) {
            writer = writer.or(self.writer_of(above));
        }
        Ok(writer)
    }

    fn writer_of(&self, path: &Path) -> Writer {
        match self.host.files.stat_followed(path) {
            Ok(stat) if stat.kind == Kind::Directory => Writer::of(&self.host, &stat),
            _ => Writer::Anyone,
        }
    }
}

/// Whether two records name the same processes, as the same registration.
fn says_the_same(one: &ServerRecord, other: &ServerRecord) -> bool {
    one.is_same_registration(other) && one.id() == other.id() && one.processes() == other.processes()
}
