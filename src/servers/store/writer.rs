//! Who answers for what a record says.

use super::Store;
use crate::servers::{Error, ServerId};

/// Whoever can have written a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    User(u32),
    Anyone,
}

impl Store {
    /// Who answers for the record of an id: the owner of its file. Where there is none any more, whoever can have put
    /// one there and taken it away again.
    ///
    /// # Errors
    /// A failed system call.
    pub fn writer(&self, id: &ServerId) -> Result<Writer, Error> {
        const OTHERS_WRITE: u32 = 0o022;
        if let Some(file) = self.dir.look(id.file_name())? {
            return Ok(Writer::User(file.uid));
        }
        let dir = self.dir.stat()?;
        Ok(if dir.mode & OTHERS_WRITE == 0 { Writer::User(dir.uid) } else { Writer::Anyone })
    }
}
