//! Why a history operation did not do what was asked.

use std::borrow::Cow;
use std::path::PathBuf;

use crate::files::PathError;
use crate::javascript::Thrown;

/// Nothing that was acknowledged is lost when one of these comes back.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What the caller gave is no limit or no record.
    #[error("{0}")]
    Input(String),
    #[error("durable history rejects symlink: {}", .0.display())]
    Symlink(PathBuf),
    #[error("durable history path is not a directory: {}", .0.display())]
    NotADirectory(PathBuf),
    #[error("durable history path is not a regular file: {}", .0.display())]
    NotAFile(PathBuf),
    /// A name stands for something else than a moment ago.
    #[error("durable history path identity changed: {}", .0.display())]
    IdentityChanged(PathBuf),
    #[error("durable history directory identity changed: {}", .0.display())]
    DirectoryChanged(PathBuf),
    /// The last line has no line feed: a writer was killed in the middle of it.
    #[error("durable history has a partial record: {file}")]
    Partial { file: String },
    #[error("durable history record exceeds {0} bytes")]
    RecordTooLarge(u64),
    #[error("durable history exceeds {0} records")]
    TooManyRecords(u64),
    #[error("invalid durable history JSON in {file} record {record}: {why}")]
    InvalidRecord { file: String, record: u64, why: String },
    #[error("durable history has no segment number left: {}", .0.display())]
    NoSegmentLeft(PathBuf),
    /// Another writer has the lease, or what its owner left cannot be judged.
    #[error("durable history lease busy: {}; {}", .0.path.display(), .0.why)]
    Busy(Busy),
    /// As [`Error::Busy`], and only a person can know whether the owner is gone for good.
    #[error(
        "durable history lease busy: {}; its owner is in another pid namespace, of which nothing can be told from here: \
         when it is gone for good, repairDurableHistory moves the lease aside with confirm \"elsewhere\"",
        .0.display()
    )]
    Elsewhere(PathBuf),
    /// The lease was taken from its holder, who noticed before writing.
    #[error("durable history lease lost: {}; nothing was written", .0.display())]
    Lost(PathBuf),
    #[error("durable history write made no forward progress")]
    NoProgress,
    /// A lease is moved aside only for the digest that its state has now, with an actor and a reason.
    #[error("{0}")]
    Repair(String),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("a caller's function threw")]
    Thrown(Thrown),
}

/// A lease that cannot be had now.
#[derive(Debug)]
pub struct Busy {
    pub path: PathBuf,
    /// Who has it since when, or what else keeps it, and what to do about it.
    pub why: String,
}

impl From<Thrown> for Error {
    fn from(thrown: Thrown) -> Self {
        Error::Thrown(thrown)
    }
}

impl Error {
    /// The stable code by which callers tell errors apart: of this list, or the failed system call's. `None` for what a
    /// caller's function threw.
    pub fn code(&self) -> Option<Cow<'static, str>> {
        let code = match self {
            Error::Input(_) => "HISTORY_INPUT",
            Error::Symlink(_) => "HISTORY_SYMLINK",
            Error::NotADirectory(_) => "HISTORY_NOT_A_DIRECTORY",
            Error::NotAFile(_) => "HISTORY_NOT_A_FILE",
            Error::IdentityChanged(_) | Error::DirectoryChanged(_) => "HISTORY_CHANGED",
            Error::Partial { .. } => "HISTORY_PARTIAL",
            Error::RecordTooLarge(_) => "HISTORY_RECORD_TOO_LARGE",
            Error::TooManyRecords(_) => "HISTORY_TOO_MANY_RECORDS",
            Error::InvalidRecord { .. } => "HISTORY_INVALID",
            Error::NoSegmentLeft(_) => "HISTORY_NO_SEGMENT_LEFT",
            Error::Busy(_) | Error::Elsewhere(_) => "HISTORY_BUSY",
            Error::Lost(_) => "HISTORY_LOST",
            Error::NoProgress => "HISTORY_NO_PROGRESS",
            Error::Repair(_) => "HISTORY_REPAIR",
            Error::Path(error) => return error.code().map(Cow::Owned),
            Error::Thrown(_) => return None,
        };
        Some(Cow::Borrowed(code))
    }
}
