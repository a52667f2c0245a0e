//! Everything that is in a directory, a lease's mostly, as a list that two looks can be compared by.

use std::ffi::OsStr;

use sha2::{Digest, Sha256};

use crate::files::{Access, Dir, Identity, Kind, PathError};
use crate::javascript::json::{self, Value};

/// One entry, of the directory or of one below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// Relative to the directory.
    pub(crate) name: String,
    pub(crate) identity: Identity,
    pub(crate) size: u64,
    /// Lower-case hexadecimal, of the first mebibyte; `None` for what is no plain file.
    pub(crate) sha256: Option<String>,
}

/// How many directories below it are looked into. What anybody puts there is three deep; whatever somebody else has
/// put there is listed down to here, so that it cannot use up the stack or the descriptors.
const DEPTH: usize = 16;
/// How much of a file is hashed: far more than any that belongs there has, so that nobody waits for what does not.
const HASHED_BYTES: u64 = 1024 * 1024;

/// Everything, sorted by name. What goes away while it is read is left out.
pub(crate) fn read(dir: &Dir) -> Result<Vec<Item>, PathError> {
    let mut items = Vec::new();
    read_into(&mut items, dir, "")?;
    items.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(items)
}

/// One entry of the directory, with what is below it.
pub(crate) fn read_name(dir: &Dir, name: &str) -> Result<Vec<Item>, PathError> {
    let mut items = Vec::new();
    read_item(&mut items, dir, OsStr::new(name), "")?;
    items.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(items)
}

/// The stable digest of a list of `[name, device, inode, size, sha256]`, all strings; no hash is an empty one.
pub(crate) fn digest(items: &[Item]) -> String {
    let rows = items.iter().map(|item| {
        Value::Array(vec![
            item.name.as_str().into(),
            item.identity.device.to_string().into(),
            item.identity.inode.to_string().into(),
            item.size.to_string().into(),
            item.sha256.as_deref().unwrap_or_default().into(),
        ])
    });
    json::digest(&Value::Array(rows.collect()))
}

fn read_into(items: &mut Vec<Item>, dir: &Dir, prefix: &str) -> Result<(), PathError> {
    for name in dir.list()? {
        read_item(items, dir, &name, prefix)?;
    }
    Ok(())
}

fn read_item(items: &mut Vec<Item>, dir: &Dir, name: &OsStr, prefix: &str) -> Result<(), PathError> {
    let Some(stat) = dir.look(name)? else { return Ok(()) };
    let path = format!("{prefix}{}", name.to_string_lossy());
    let sha256 = match stat.kind {
        Kind::File => match hash(dir, name) {
            Err(error) if error.is_missing() => return Ok(()),
            hashed => Some(hashed?),
        },
        Kind::Directory | Kind::Symlink | Kind::Other => None,
    };
    items.push(Item { name: path.clone(), identity: stat.identity, size: stat.size, sha256 });
    if stat.kind == Kind::Directory && path.matches('/').count() < DEPTH {
        match dir.open_dir(name) {
            Err(error) if error.is_missing() => {}
            opened => read_into(items, &opened?, &format!("{path}/"))?,
        }
    }
    Ok(())
}

fn hash(dir: &Dir, name: &OsStr) -> Result<String, PathError> {
    let file = dir.open_file(name, Access::Read)?;
    let (mut hasher, mut offset, mut buffer) = (Sha256::new(), 0, vec![0; 64 * 1024]);
    while offset < HASHED_BYTES {
        match file.read_at(offset, &mut buffer)? {
            0 => break,
            count => {
                hasher.update(&buffer[..count]);
                offset += count as u64;
            }
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::files::disk::Disk;
    use crate::files::Files;

    #[test]
    fn a_file_that_is_no_lease_s_is_not_read_to_its_end() {
        let root = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(root.path().join("f")).unwrap();
        // A day's reading, if it were read.
        file.set_len(1 << 42).unwrap();
        let files: Rc<dyn Files> = Rc::new(Disk::default());
        let items = read(&Dir::open(&files, root.path()).unwrap()).unwrap();
        assert_eq!(items[0].size, 1 << 42);
        assert!(items[0].sha256.is_some());
    }

    #[test]
    fn what_is_nested_deeper_than_anybody_nests_is_not_looked_into() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("d/".repeat(100))).unwrap();
        let files: Rc<dyn Files> = Rc::new(Disk::default());
        let items = read(&Dir::open(&files, root.path()).unwrap()).unwrap();
        assert_eq!(items.len(), DEPTH + 1);
    }
}
