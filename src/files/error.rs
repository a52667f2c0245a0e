//! A failed system call on a path, told as Node tells it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

/// What failed, on which path, and why.
#[derive(Debug)]
pub struct PathError {
    /// The system call as Node names it, such as `open` or `link`.
    pub syscall: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

impl PathError {
    pub fn new(syscall: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        PathError { syscall, path: path.into(), source }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The positive error number; `None` when the failure was no system call's.
    pub fn errno(&self) -> Option<i32> {
        self.source.raw_os_error()
    }

    /// The error number's name, such as `ENOENT`; `None` when the failure was no system call's.
    pub fn code(&self) -> Option<String> {
        self.errno().map(code_name)
    }

    pub fn is(&self, errno: Errno) -> bool {
        self.errno() == Some(errno as i32)
    }

    /// `ENOENT`: the name is not there.
    pub fn is_missing(&self) -> bool {
        self.is(Errno::ENOENT)
    }

    /// `EEXIST`: the name is taken.
    pub fn is_taken(&self) -> bool {
        self.is(Errno::EEXIST)
    }
}

/// The name of an error number, such as `ENOENT`.
fn code_name(errno: i32) -> String {
    format!("{:?}", Errno::from_raw(errno))
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.errno() {
            Some(errno) => {
                let text = Errno::from_raw(errno).desc().to_lowercase();
                write!(f, "{}: {text}, {} '{path}'", code_name(errno), self.syscall)
            }
            None => write!(f, "{}, {} '{path}'", self.source, self.syscall),
        }
    }
}

impl std::error::Error for PathError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
