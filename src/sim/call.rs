//! What a program asks of its machine and what it is answered, as values: one call is one step of a run.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;
use std::time::Duration;

use nix::errno::Errno;

use crate::files::{Access, Handle, Stat};
use crate::process::{Pid, Presence, Witness};

/// One component of a path, or a whole path; cheap to copy.
pub type Name = Rc<OsStr>;

/// A path as a system call takes it: relative to an open directory, or absolute.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// `None`: the path is absolute.
    pub dir: Option<Handle>,
    pub path: Name,
}

/// One thing asked of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Call {
    OpenDir(Place),
    Open(Place, Access),
    MakeDir(Place, u32),
    /// `lstat`.
    Stat(Place),
    StatFollowed(Place),
    StatHandle(Handle),
    ReadAt(Handle, u64, usize),
    WriteAt(Handle, u64, Rc<[u8]>),
    SetSize(Handle, u64),
    SetMode(Handle, u32),
    SetOwner(Handle, u32, u32),
    Sync(Handle),
    Link(Place, Place),
    Rename(Place, Place),
    RenameNew(Place, Place),
    Unlink(Place),
    RemoveDir(Place),
    List(Handle),
    TryLock(Handle),
    Close(Handle),
    /// The system clock.
    Now,
    /// Wait, at most so long.
    Pause(Duration),
    Presence(Pid),
    StartToken(Pid),
    StartedAt(Pid),
    Witness(Pid),
    /// Nothing is asked: the program says how far it is.
    Mark(Mark),
}

/// How far a program is, for the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// It may do what the lease protects, from now on.
    Holds,
    /// It will not do it any more.
    LetsGo,
}

/// What was answered.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Answer {
    Done,
    Handle(Handle),
    Stat(Stat),
    Bytes(Rc<[u8]>),
    Count(usize),
    /// Sorted.
    Names(Rc<[Name]>),
    Flag(bool),
    Millis(Option<i64>),
    Elapsed(Duration),
    Presence(Presence),
    Token(Option<String>),
    Witness(Option<Witness>),
    /// With this error number.
    Failed(i32),
}

impl From<Errno> for Answer {
    fn from(errno: Errno) -> Self {
        Answer::Failed(errno as i32)
    }
}

impl Call {
    /// Whether a machine may refuse such a call: the file system's may all fail, but for closing.
    pub fn can_fail(&self) -> bool {
        !matches!(
            self,
            Call::Now
                | Call::Pause(_)
                | Call::Presence(_)
                | Call::StartToken(_)
                | Call::StartedAt(_)
                | Call::Witness(_)
                | Call::Mark(_)
                | Call::Close(_)
        )
    }
}

impl Place {
    pub fn absolute(path: &OsStr) -> Self {
        Place { dir: None, path: path.into() }
    }

    pub fn at(dir: Handle, path: &OsStr) -> Self {
        Place { dir: Some(dir), path: path.into() }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dir {
            Some(dir) => write!(f, "{}:{}", dir.0, self.path.to_string_lossy()),
            None => write!(f, "{}", self.path.to_string_lossy()),
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Done => write!(f, "ok"),
            Answer::Handle(handle) => write!(f, "handle {}", handle.0),
            Answer::Stat(stat) => {
                let identity = stat.identity;
                write!(f, "{:?} inode {} links {} size {}", stat.kind, identity.inode, stat.links, stat.size)
            }
            Answer::Bytes(bytes) => write!(f, "{} bytes {:?}", bytes.len(), start_of(bytes)),
            Answer::Count(count) => write!(f, "{count} bytes"),
            Answer::Names(names) => {
                f.debug_set().entries(names.iter().map(|name| name.to_string_lossy())).finish()
            }
            Answer::Flag(flag) => write!(f, "{flag}"),
            Answer::Millis(millis) => write!(f, "{millis:?}"),
            Answer::Elapsed(elapsed) => write!(f, "after {elapsed:?}"),
            Answer::Presence(presence) => write!(f, "{presence:?}"),
            Answer::Token(token) => write!(f, "{token:?}"),
            Answer::Witness(witness) => write!(f, "{:?}", witness.as_ref().map(|w| &w.start_token)),
            Answer::Failed(errno) => write!(f, "{:?}", Errno::from_raw(*errno)),
        }
    }
}

fn start_of(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(60)];
    OsStr::from_bytes(shown).to_string_lossy().into_owned()
}
