//! The audit of recoveries: what is about to be done is on disk before it is done, and stays there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use super::{Error, Result, RunId};
use crate::files::record::{self, Read};
use crate::files::{Dir, PathError, Sharing};
use crate::host::Host;
use crate::javascript::json::{self, Object, Value};
use crate::javascript::text::{is_white_space, Text};
use crate::javascript::timestamp;

const RECOVERY: &str = "recovery";
const INTENT: &str = "intent.json";
const COMPLETION: &str = "completion.json";
const RECORD_LIMIT_BYTES: usize = 512 * 1024;

/// What is to be done to what, by whom and why.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    pub action: &'a str,
    pub target_sha256: &'a str,
    pub target: Value,
    pub actor: &'a str,
    pub reason: &'a str,
}

/// A recovery that was begun. It holds nothing open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// The operation's directory.
    pub path: PathBuf,
    /// The intent as it was written.
    pub text: String,
    pub sharing: Sharing,
}

/// A recovery as it is on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    pub intent: Value,
    /// `None`: it was begun, and nothing says that it was carried out.
    pub completion: Option<Value>,
}

/// Write an immutable intent.
///
/// # Errors
/// [`Error::Input`] for an actor or a reason that is missing or too long, before anything is written.
pub fn begin(
    host: &Host,
    coord_root: &Path,
    run_id: &RunId,
    request: &Request<'_>,
    sharing: Sharing,
) -> Result<Audit> {
    let actor = bounded(request.actor, "actor", 200)?;
    let reason = bounded(request.reason, "reason", 2_000)?;
    if request.action.is_empty() || !is_sha256(request.target_sha256) {
        return Err(Error::Input(
            "workflow recovery needs an action and the SHA-256 of its target in lower-case hexadecimal"
                .to_owned(),
        ));
    }
    let operation_id = host.processes.fresh_id();
    let intent = Object::new()
        .with("schema_version", Some(1))
        .with("operation_id", Some(operation_id.as_str()))
        .with("run_id", Some(run_id.as_str()))
        .with("action", Some(request.action))
        .with("target_sha256", Some(request.target_sha256))
        .with("target", Some(request.target.clone()))
        .with("actor", Some(actor))
        .with("reason", Some(reason))
        .with("created_at", timestamp::format(host.clock.now_ms()))
        .with("pid", Some(i64::from(host.processes.me().get())))
        .with("host", Some(host.processes.host_name()));
    let intent = Value::Object(intent);
    let text = text_of(&intent)?;
    let run = run_id.create(host, coord_root, sharing)?;
    let recoveries = match sharing.make_dir_in(&run, RECOVERY) {
        Ok(made) => made,
        Err(error) if error.is_taken() => run.open_dir(RECOVERY)?,
        Err(error) => return Err(error.into()),
    };
    // Whoever made it may have been killed before its name was safe, and with it every intent in it.
    run.sync()?;
    let operation = sharing.make_dir_in(&recoveries, &operation_id)?;
    recoveries.sync()?;
    write_immutable(host, &operation, INTENT, text.as_bytes(), sharing)?;
    Ok(Audit { path: operation.path().to_owned(), text, sharing })
}

/// All recoveries of a run, oldest first; also those that were begun and not completed. What is no directory and has no
/// operation's name (a file manager's, say) is none of them.
///
/// # Errors
/// [`Error::Corrupt`] for a record that cannot be read or is none: evidence is not left out in silence.
pub fn list(host: &Host, coord_root: &Path, run_id: &RunId) -> Result<Vec<Recorded>> {
    let Some(run) = run_id.open(host, coord_root)? else { return Ok(Vec::new()) };
    let recoveries = match run.open_dir(RECOVERY) {
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        opened => opened?,
    };
    let mut found = Vec::new();
    for name in recoveries.list()? {
        let operation = match recoveries.open_dir(&name) {
            Err(error) if error.is(Errno::ENOTDIR) || error.is(Errno::ELOOP) => {
                if is_operation_id(&name) {
                    return Err(corrupt(&recoveries.path().join(name)));
                }
                continue;
            }
            opened => opened?,
        };
        // A directory without an intent is what a kill left before there was one.
        let Some(intent) = read_record(&operation, INTENT, is_intent)? else { continue };
        let completion = read_record(&operation, COMPLETION, is_completion)?;
        found.push(Recorded { intent, completion });
    }
    found.sort_by_key(|recorded| (recorded.member("created_at"), recorded.member("operation_id")));
    Ok(found)
}

impl Recorded {
    fn member(&self, name: &str) -> String {
        let member = self.intent.as_object().and_then(|intent| intent.get(name)).and_then(Value::as_text);
        member.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

impl Audit {
    pub fn operation_id(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Fail when the intent is not, byte for byte, what was written.
    ///
    /// # Errors
    /// [`Error::Corrupt`], naming the file.
    pub fn assert_current(&self, host: &Host) -> Result<()> {
        self.open_current(host).map(drop)
    }

    /// Record that what was intended is done. Completing twice is an error: a completion never changes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when the intent has changed meanwhile.
    pub fn complete(&self, host: &Host) -> Result<()> {
        let operation = self.open_current(host)?;
        let completion = Object::new()
            .with("schema_version", Some(1))
            .with("operation_id", Some(self.operation_id()))
            .with("intent_sha256", Some(json::sha256_hex(self.text.as_bytes())))
            .with("completed_at", timestamp::format(host.clock.now_ms()));
        let text = text_of(&Value::Object(completion))?;
        write_immutable(host, &operation, COMPLETION, text.as_bytes(), self.sharing)
    }

    fn open_current(&self, host: &Host) -> Result<Dir> {
        let changed = || {
            let path = self.path.join(INTENT);
            Error::Corrupt(format!("workflow recovery intent changed: {}", path.display()))
        };
        let operation = match Dir::open(&host.files, &self.path) {
            Err(error) if error.is_missing() => return Err(changed()),
            opened => opened?,
        };
        match record::read(&operation, INTENT, RECORD_LIMIT_BYTES)? {
            Read::Bytes { bytes, .. } if bytes == self.text.as_bytes() => Ok(operation),
            _ => Err(changed()),
        }
    }
}

/// Create a file whole or not at all, and never change it: a synced temporary, linked to its name.
fn write_immutable(host: &Host, dir: &Dir, name: &str, bytes: &[u8], sharing: Sharing) -> Result<()> {
    let temporary = format!("{name}.tmp-{}-{}", host.processes.me(), host.processes.fresh_id());
    let file = sharing.create_file(dir, &temporary)?;
    let linked =
        file.write_all_at(0, bytes).and_then(|()| file.sync()).and_then(|()| dir.link(&temporary, dir, name));
    // Best effort: a temporary that stays is in nobody's way.
    let _ = dir.unlink(&temporary);
    match linked {
        Ok(()) => Ok(dir.sync()?),
        Err(error) if error.is_taken() && has_bytes(dir, name, bytes)? => Ok(()),
        Err(error) if error.is_taken() => {
            let path = dir.path().join(name);
            Err(Error::Corrupt(format!("immutable record already exists at {}", path.display())))
        }
        Err(error) => Err(error.into()),
    }
}

fn has_bytes(dir: &Dir, name: &str, expected: &[u8]) -> std::result::Result<bool, PathError> {
    let found = record::read(dir, name, RECORD_LIMIT_BYTES)?;
    Ok(matches!(found, Read::Bytes { bytes, .. } if bytes == expected))
}

fn read_record(dir: &Dir, name: &str, is_one: fn(&Object, &Dir) -> bool) -> Result<Option<Value>> {
    let is_one = |value: &Value| value.as_object().is_some_and(|members| is_one(members, dir));
    let value = match record::read(dir, name, RECORD_LIMIT_BYTES)? {
        Read::Missing => return Ok(None),
        Read::Bytes { bytes, .. } => json::parse(&bytes).ok().filter(is_one),
        Read::NotAFile(_) | Read::TooLarge(_) => None,
    };
    value.map(Some).ok_or_else(|| corrupt(&dir.path().join(name)))
}

fn corrupt(path: &Path) -> Error {
    Error::Corrupt(format!("workflow recovery record is corrupt: {}", path.display()))
}

fn is_intent(intent: &Object, operation: &Dir) -> bool {
    let has_text = |name| intent.get(name).is_some_and(|value| value.as_text().is_some());
    is_of(intent, operation)
        && ["run_id", "action", "target_sha256", "actor", "reason", "created_at", "host"]
            .into_iter()
            .all(has_text)
        && intent.get("target").is_some()
        && intent.get("pid").is_some_and(|pid| pid.as_safe_integer().is_some())
}

fn is_completion(completion: &Object, operation: &Dir) -> bool {
    let has_text = |name| completion.get(name).is_some_and(|value| value.as_text().is_some());
    is_of(completion, operation) && ["intent_sha256", "completed_at"].into_iter().all(has_text)
}

/// Whether it is a record of the operation whose directory it is in.
fn is_of(record: &Object, operation: &Dir) -> bool {
    record.get("schema_version").and_then(Value::as_safe_integer) == Some(1)
        && record.get("operation_id").and_then(Value::as_str).map(OsStr::new) == operation.path().file_name()
}

/// Whether it is a UUID, as every operation's name is.
fn is_operation_id(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    bytes.len() == 36 && bytes.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
}

fn text_of(value: &Value) -> Result<String> {
    let text = json::pretty(value) + "\n";
    if text.len() > RECORD_LIMIT_BYTES {
        return Err(Error::Input(format!("workflow recovery record exceeds {RECORD_LIMIT_BYTES} bytes")));
    }
    Ok(text)
}

/// The text without blanks around it, if it is neither empty then nor too long.
fn bounded(text: &str, what: &str, limit: usize) -> Result<String> {
    let trimmed = text.trim_matches(is_white_space);
    if trimmed.is_empty() || Text::from(trimmed).length() > limit {
        return Err(Error::Input(format!("workflow recovery {what} must have 1 to {limit} characters")));
    }
    Ok(trimmed.to_owned())
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
