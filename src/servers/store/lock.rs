//! The registry's lock: native processes change the directory one after the other.

use std::time::Duration;

use nix::errno::Errno;

use super::Store;
use crate::clock::Pause;
use crate::files::{Access, File, Kind, PathError};
use crate::host::users::owner_to_keep;
use crate::servers::{Error, Sharing};

pub(super) const NAME: &str = ".registry.lock";

/// Nobody holds the lock for longer than a look and a rename; whoever does is stopped or stuck.
pub(super) const WAIT: Duration = Duration::from_secs(2);

/// The lock, held until dropped; without a file where the file system has no such locks.
#[derive(Debug)]
#[must_use = "the lock is let go when this is dropped"]
pub(super) struct Locked {
    _file: Option<File>,
}

/// Take the lock, or `None` when it could not be had within [`WAIT`].
pub(super) fn take(store: &Store, sharing: Sharing) -> Result<Option<Locked>, Error> {
    let clock = &store.host.clock;
    let end = clock.monotonic() + WAIT;
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(locked) = try_take(store, sharing)? {
            return Ok(Some(locked));
        }
        if clock.monotonic() >= end {
            return Ok(None);
        }
        clock.pause(&Pause { at_most: pause, wake: Vec::new() });
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Take the lock, or `None` while another has it.
pub(super) fn try_take(store: &Store, sharing: Sharing) -> Result<Option<Locked>, Error> {
    let file = open(store, sharing)?;
    match file.try_lock() {
        // The name may have been given to another file since it was opened: then others hold another lock.
        Ok(true) if is_current(store, &file)? => Ok(Some(Locked { _file: Some(file) })),
        Ok(_) => Ok(None),
        Err(error) if has_no_locks(&error) => Ok(Some(Locked { _file: None })),
        Err(error) => Err(error.into()),
    }
}

fn open(store: &Store, sharing: Sharing) -> Result<File, Error> {
    let mode = sharing.file_mode();
    let not_a_file = || {
        let path = store.dir.path().join(NAME);
        let path = path.display();
        Error::Retained(format!("{path} is no plain file; nothing was changed, remove it by hand"))
    };
    let file = match store.dir.open_file(NAME, Access::CreateIfMissing { mode }) {
        // A link, which is not followed; a directory; a socket.
        Err(error)
            if [Errno::ELOOP, Errno::EISDIR, Errno::ENXIO].into_iter().any(|errno| error.is(errno)) =>
        {
            return Err(not_a_file())
        }
        opened => opened?,
    };
    let stat = file.stat()?;
    if stat.kind != Kind::File {
        return Err(not_a_file());
    }
    // What root makes in a user's registry is the user's: they could not open root's.
    if let Ok(Some((uid, gid))) = owner_to_keep(&store.host, &store.dir.stat()?) {
        if stat.uid != uid {
            file.set_owner(uid, gid)?;
        }
    }
    // The umask may have cut the mode that others of the group need.
    if stat.mode & 0o777 != mode && stat.uid == store.host.processes.effective_uid() {
        file.set_mode(mode)?;
    }
    Ok(file)
}

fn is_current(store: &Store, file: &File) -> Result<bool, PathError> {
    Ok(store.dir.look(NAME)?.map(|stat| stat.identity) == Some(file.stat()?.identity))
}

/// `flock` is not there at all: some network and user-space file systems.
fn has_no_locks(error: &PathError) -> bool {
    [Errno::ENOSYS, Errno::EOPNOTSUPP, Errno::ENOLCK, Errno::EINVAL].into_iter().any(|errno| error.is(errno))
}
