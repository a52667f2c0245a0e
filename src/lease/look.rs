//! Reading what stands in a lease directory: bounded, without following links, each flaw named with its path.

use super::claim::{self, Claim};
use super::owner::{self, Flaw, Owner};
use super::{Error, CLAIM};
use crate::files::record::{self, Read};
use crate::files::{Dir, Identity, PathError, Stat};

/// An owner's text as it was read.
#[derive(Debug)]
pub(super) struct OwnerFile {
    pub(super) owner: Owner,
    pub(super) bytes: Vec<u8>,
    pub(super) stat: Stat,
}

/// What is under the name of a claim's file.
#[derive(Debug)]
pub(super) enum ClaimFile {
    Missing,
    /// A torn text, no text of a claim, no plain file.
    Invalid,
    Valid(Box<Claim>),
}

/// Read an owner whose word counts; `None` when the name is not there.
pub(super) fn owner_file(dir: &Dir, name: &str) -> Result<Option<OwnerFile>, Error> {
    let here = || format!("lease owner at {}", dir.path().join(name).display());
    let read = record::read(dir, name, owner::READ_LIMIT)
        .map_err(|error| Error::At { what: format!("{} cannot be read", here()), source: error })?;
    let (bytes, stat) = match read {
        Read::Missing => return Ok(None),
        Read::Bytes { bytes, stat } if !bytes.is_empty() => (bytes, stat),
        Read::Bytes { .. } | Read::NotAFile(_) | Read::TooLarge(_) => {
            return Err(Error::Corrupt(format!("{} bytes are invalid", here())))
        }
    };
    match Owner::read(&bytes) {
        Ok(owner) => Ok(Some(OwnerFile { owner, bytes, stat })),
        Err(Flaw::Corrupt) => Err(Error::Corrupt(format!("{} is corrupt", here()))),
        Err(Flaw::Schema) => Err(Error::Corrupt(format!("{} has an unsupported schema", here()))),
    }
}

/// Read the owner file of some contender; `None` for what is gone or no owner's text.
///
/// # Errors
/// What cannot be read may be anybody's.
pub(super) fn contender(dir: &Dir, name: &str) -> Result<Option<OwnerFile>, Error> {
    match owner_file(dir, name) {
        Err(Error::Corrupt(_)) => Ok(None),
        read => read,
    }
}

/// Read the claim in a claim's directory.
pub(super) fn claim_file(dir: &Dir) -> Result<ClaimFile, PathError> {
    Ok(match record::read(dir, CLAIM, claim::LIMIT)? {
        Read::Missing => ClaimFile::Missing,
        Read::NotAFile(_) | Read::TooLarge(_) => ClaimFile::Invalid,
        Read::Bytes { bytes, .. } => match Claim::read(&bytes) {
            Some(claim) => ClaimFile::Valid(Box::new(claim)),
            None => ClaimFile::Invalid,
        },
    })
}

/// Whether a name stands for exactly this file with exactly these bytes.
pub(super) fn is_exactly(dir: &Dir, name: &str, identity: Identity, bytes: &[u8]) -> Result<bool, PathError> {
    Ok(match record::read(dir, name, owner::READ_LIMIT)? {
        Read::Bytes { bytes: found, stat } => stat.identity == identity && found == bytes,
        Read::Missing | Read::NotAFile(_) | Read::TooLarge(_) => false,
    })
}

/// Whether a name in `dir` still stands for the directory that `inner` holds open.
pub(super) fn still_names(dir: &Dir, name: &str, inner: &Dir) -> Result<bool, PathError> {
    let identity = inner.identity()?;
    Ok(dir.look(name)?.is_some_and(|stat| stat.identity == identity))
}
