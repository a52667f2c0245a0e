//! A contender that follows the TypeScript's own steps, with its faults.
//!
//! Written from the list of its steps in the findings and from the seed, not from the production code: one system call
//! for each that Node makes, by path as Node makes them. Only the two rules of judging an owner are its own words too.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use super::starts::{format_time, owner_text};
use super::STALE_AFTER_MS;
use nix::errno::Errno;

use crate::files::{Access, Files, Handle, Identity};
use crate::host::Host;
use crate::javascript::json::{parse, sha256_hex, Value};
use crate::javascript::timestamp;
use crate::process::{Pid, Presence};
use crate::sim::explore::{Ending, Program, Stage};

/// Acquires the lease once and lets it go, as the TypeScript does.
#[derive(Debug, Clone, Copy, Default)]
pub struct TypeScript;

/// How a call fails.
#[derive(Debug)]
enum Fails {
    /// With one of the protocol's own texts.
    Says(&'static str),
    /// With the system's error as it is.
    Raw(&'static str, io::Error),
}

type Result<T> = std::result::Result<T, Fails>;

struct Call<'a> {
    host: &'a Host,
    root: Handle,
    id: String,
    own: String,
    text: String,
}

/// An owner file as it was read.
struct Seen {
    owner: Owner,
    bytes: Vec<u8>,
    identity: Identity,
}

#[derive(Clone)]
struct Owner {
    id: String,
    file: String,
    pid: i64,
    created_ms: i64,
    expires_ms: i64,
}

impl Program for TypeScript {
    fn run(&self, stage: &Stage<'_>) -> Ending {
        let host = stage.host;
        let id = host.processes.fresh_id();
        let text = owner_text(&id, host.processes.me().get().into(), host.clock.now_ms());
        let root = match host.files.open_dir(Path::new("/")) {
            Ok(root) => root,
            Err(error) => return Ending::new(format!("failed: {error}")),
        };
        let call = Call { host, root, own: format!("lease/owner-{id}.json"), id, text };
        let mut claimed = false;
        if let Err(fails) = call.acquire(&mut claimed) {
            let when = if claimed { "after its claim" } else { "before its claim" };
            if !claimed {
                // Best effort, as it is there.
                let _ = host.files.unlink(root, call.own.as_ref());
            }
            host.files.close(root);
            return Ending::new(format!("{} {when}", fails.tell()));
        }
        stage.holds();
        stage.lets_go();
        let released = call.release();
        host.files.close(root);
        match released {
            Ok(()) => Ending::new("released"),
            Err(fails) => Ending::fault("release failed", format!("release failed: {}", fails.tell())),
        }
    }
}

const CURRENT: &str = "lease/current";
const RECOVERY: &str = "lease/recovery";
const CLAIM: &str = "lease/recovery/claim.json";
const PIN: &str = "lease/recovery/stale-pin";

impl Call<'_> {
    fn acquire(&self, claimed: &mut bool) -> Result<()> {
        match self.files().make_dir_at(self.root, "lease".as_ref(), 0o700) {
            Err(error) if error.raw_os_error() != Some(Errno::EEXIST as i32) => {
                return Err(Fails::Raw("mkdir", error))
            }
            _ => {}
        }
        self.write(&self.own, &self.text)?;
        self.sync("lease")?;
        if self.exists(RECOVERY) {
            self.reclaim()?;
        }
        let Some(observed) = self.contend()? else { return Ok(()) };
        if self.is_live(&observed.owner) {
            return Err(Fails::Says("held"));
        }
        self.claim(&observed)?;
        *claimed = true;
        let pinned = self.link(CURRENT, PIN).and_then(|()| self.assert_same(CURRENT, PIN, &observed.bytes));
        if pinned.is_err() {
            self.abort()?;
            *claimed = false;
            return Err(Fails::Says("recovery raced"));
        }
        self.sync(RECOVERY)?;

        self.assert_same(CURRENT, PIN, &observed.bytes)?;
        self.unlink(CURRENT)?;
        self.sync("lease")?;

        self.link(&self.own, CURRENT)?;
        self.assert_exact()?;
        self.sync("lease")?;

        self.remove_pinned(PIN, &observed.owner)?;
        self.retire()
    }

    /// The holder that stands in the way; `None`: the lease is ours.
    fn contend(&self) -> Result<Option<Seen>> {
        for _ in 0..8 {
            match self.files().link(self.root, self.own.as_ref(), self.root, CURRENT.as_ref()) {
                Ok(()) => {
                    self.sync("lease")?;
                    self.assert_exact()?;
                    if !self.exists(RECOVERY) {
                        return Ok(None);
                    }
                    let (own, current) = (self.stat(&self.own)?, self.stat(CURRENT)?);
                    if own == current {
                        self.unlink(CURRENT)?;
                    }
                    return Err(Fails::Says("recovery in progress"));
                }
                Err(error) if error.raw_os_error() == Some(Errno::EEXIST as i32) => {
                    match self.read_owner(CURRENT) {
                        Ok(seen) => return Ok(Some(seen)),
                        Err(Fails::Raw(_, error)) if error.raw_os_error() == Some(Errno::ENOENT as i32) => {}
                        Err(fails) => return Err(fails),
                    }
                }
                Err(error) => return Err(Fails::Raw("link", error)),
            }
        }
        Err(Fails::Says("changed repeatedly"))
    }

    fn claim(&self, observed: &Seen) -> Result<()> {
        let (claimant, other) =
            (self.text.trim_end(), String::from_utf8_lossy(&observed.bytes).trim_end().to_owned());
        let (sha256, created) = (sha256_hex(&observed.bytes), format_time(self.own_created()));
        let text = format!(
            "{{\"schema_version\":1,\"claimant\":{claimant},\"observed_owner\":{other},\
             \"observed_sha256\":\"{sha256}\",\"created_at\":\"{created}\"}}\n"
        );
        let preparation = format!("lease/recovery-claim-{}", self.id);
        self.raw("mkdir", self.files().make_dir_at(self.root, preparation.as_ref(), 0o700))?;
        let file = format!("{preparation}/claim.json");
        self.write(&file, &text)?;
        self.sync(&preparation)?;
        if self.files().rename(self.root, preparation.as_ref(), self.root, RECOVERY.as_ref()).is_err() {
            self.unlink(&file)?;
            self.raw("rmdir", self.files().remove_dir(self.root, preparation.as_ref()))?;
            return Err(Fails::Says("recovery in progress"));
        }
        self.sync("lease")
    }

    fn abort(&self) -> Result<()> {
        let (claimant, _, _) = self.read_claim()?;
        if claimant.id != self.id {
            return Err(Fails::Says("recovery ownership changed"));
        }
        self.retire()
    }

    fn retire(&self) -> Result<()> {
        let retired = format!("lease/recovery-retired-{}", self.id);
        self.raw(
            "rename to retired",
            self.files().rename(self.root, RECOVERY.as_ref(), self.root, retired.as_ref()),
        )?;
        self.sync("lease")?;
        let _ = self.files().unlink(self.root, format!("{retired}/stale-pin").as_ref());
        self.unlink(&format!("{retired}/claim.json"))?;
        self.raw("rmdir", self.files().remove_dir(self.root, retired.as_ref()))?;
        self.sync("lease")
    }

    fn reclaim(&self) -> Result<()> {
        let (claimant, observed, sha256) = self.read_claim()?;
        if self.is_live(&claimant) {
            return Err(Fails::Says("recovery in progress"));
        }
        if self.exists(PIN) {
            let pin = self.read_owner(PIN)?;
            if pin.owner.id != observed.id || sha256_hex(&pin.bytes) != sha256 {
                return Err(Fails::Says("recovery pin is corrupt"));
            }
        }
        let quarantine = format!("lease/quarantine-{}", self.host.processes.fresh_id());
        self.raw(
            "rename to quarantine",
            self.files().rename(self.root, RECOVERY.as_ref(), self.root, quarantine.as_ref()),
        )?;
        self.sync("lease")?;
        let pin = format!("{quarantine}/stale-pin");
        if self.exists(&pin) {
            let seen = self.read_owner(&pin)?;
            if seen.owner.id != observed.id {
                return Err(Fails::Says("recovery pin is corrupt"));
            }
            self.remove_pinned(&pin, &observed)?;
            self.unlink(&pin)?;
        }
        let file = format!("lease/{}", claimant.file);
        if self.exists(&file) {
            let is_current = self.exists(CURRENT) && self.stat(CURRENT)? == self.stat(&file)?;
            if !is_current {
                self.stat_owner_file(&file)?;
                self.unlink(&file)?;
            }
        }
        self.unlink(&format!("{quarantine}/claim.json"))?;
        self.raw("rmdir", self.files().remove_dir(self.root, quarantine.as_ref()))?;
        self.sync("lease")
    }

    fn release(&self) -> Result<()> {
        self.assert_exact()?;
        self.unlink(CURRENT)?;
        self.unlink(&self.own)?;
        self.sync("lease")
    }

    fn remove_pinned(&self, pin: &str, owner: &Owner) -> Result<()> {
        let file = format!("lease/{}", owner.file);
        if self.exists(&file) {
            if self.stat(pin)? != self.stat_owner_file(&file)? {
                return Err(Fails::Says("owner inode changed"));
            }
            self.unlink(&file)?;
        }
        Ok(())
    }

    fn assert_exact(&self) -> Result<()> {
        let seen = self.read_owner(CURRENT)?;
        if seen.bytes != self.text.as_bytes() || seen.identity != self.stat(&self.own)? {
            return Err(Fails::Says("ownership changed"));
        }
        Ok(())
    }

    fn assert_same(&self, one: &str, other: &str, bytes: &[u8]) -> Result<()> {
        if self.stat(one)? != self.stat(other)? || self.read(one)?.0 != bytes {
            return Err(Fails::Says("owner inode or bytes changed"));
        }
        Ok(())
    }

    fn is_live(&self, owner: &Owner) -> bool {
        let now = self.host.clock.now_ms();
        let expired = owner.expires_ms == owner.created_ms + STALE_AFTER_MS
            && now >= owner.created_ms
            && now >= owner.expires_ms;
        let absent = |pid| self.host.processes.presence(pid) == Presence::Absent;
        !expired || !Pid::new(owner.pid).is_some_and(absent)
    }

    fn own_created(&self) -> i64 {
        Owner::from(&parse(self.text.as_bytes()).expect("our own text")).map_or(0, |owner| owner.created_ms)
    }

    fn read_claim(&self) -> Result<(Owner, Owner, String)> {
        self.stat(CLAIM)?;
        let (bytes, _) = self.read(CLAIM)?;
        let corrupt = || Fails::Says("recovery claim is corrupt");
        let value = parse(&bytes).map_err(|_| corrupt())?;
        let object = value.as_object().ok_or_else(corrupt)?;
        let owner = |key| object.get(key).and_then(Owner::from).ok_or_else(corrupt);
        let sha256 = object.get("observed_sha256").and_then(Value::as_str).ok_or_else(corrupt)?;
        Ok((owner("claimant")?, owner("observed_owner")?, sha256.to_owned()))
    }

    fn read_owner(&self, path: &str) -> Result<Seen> {
        self.stat(path)?;
        let (bytes, identity) = self.read(path)?;
        let owner =
            parse(&bytes).ok().as_ref().and_then(Owner::from).ok_or(Fails::Says("owner is corrupt"))?;
        Ok(Seen { owner, bytes, identity })
    }

    fn read(&self, path: &str) -> Result<(Vec<u8>, Identity)> {
        let file = self.raw("open", self.files().open_at(self.root, path.as_ref(), Access::Read))?;
        let mut bytes = vec![0; 16 * 1024];
        let stat = self.raw("fstat", self.files().stat_handle(file))?;
        let count = self.raw("read", self.files().read_at(file, 0, &mut bytes))?;
        self.files().close(file);
        bytes.truncate(count);
        Ok((bytes, stat.identity))
    }

    fn write(&self, path: &str, text: &str) -> Result<()> {
        let access = Access::CreateNew { mode: 0o600 };
        let file = self.raw("open", self.files().open_at(self.root, path.as_ref(), access))?;
        self.raw("write", self.files().write_at(file, 0, text.as_bytes()))?;
        self.raw("fsync", self.files().sync(file))?;
        self.files().close(file);
        Ok(())
    }

    fn sync(&self, path: &str) -> Result<()> {
        let dir = self.raw("open to sync", self.files().open_dir_at(self.root, path.as_ref()))?;
        self.raw("fsync", self.files().sync(dir))?;
        self.files().close(dir);
        Ok(())
    }

    fn exists(&self, path: &str) -> bool {
        self.files().stat_at(self.root, path.as_ref()).is_ok()
    }

    fn stat(&self, path: &str) -> Result<Identity> {
        self.raw("stat", self.files().stat_at(self.root, path.as_ref())).map(|stat| stat.identity)
    }

    /// An owner file that was there a moment ago.
    fn stat_owner_file(&self, path: &str) -> Result<Identity> {
        self.raw("stat of an owner file", self.files().stat_at(self.root, path.as_ref()))
            .map(|stat| stat.identity)
    }

    fn link(&self, path: &str, new: &str) -> Result<()> {
        self.raw("link", self.files().link(self.root, path.as_ref(), self.root, new.as_ref()))
    }

    fn unlink(&self, path: &str) -> Result<()> {
        self.raw("unlink", self.files().unlink(self.root, OsStr::new(path)))
    }

    fn raw<T>(&self, what: &'static str, result: io::Result<T>) -> Result<T> {
        result.map_err(|error| Fails::Raw(what, error))
    }

    fn files(&self) -> &dyn Files {
        &*self.host.files
    }
}

impl Fails {
    fn tell(&self) -> String {
        match self {
            Fails::Says(text) => (*text).to_owned(),
            Fails::Raw(what, error) => {
                let errno = nix::errno::Errno::from_raw(error.raw_os_error().unwrap_or(0));
                format!("{errno:?} at {what}")
            }
        }
    }
}

impl Owner {
    fn from(value: &Value) -> Option<Owner> {
        let object = value.as_object()?;
        let text = |key| object.get(key).and_then(Value::as_str);
        let time = |key| text(key).and_then(timestamp::parse);
        Some(Owner {
            id: text("owner_id")?.to_owned(),
            file: text("owner_file")?.to_owned(),
            pid: object.get("pid").and_then(Value::as_safe_integer)?,
            created_ms: time("created_at")?,
            expires_ms: time("expires_at")?,
        })
    }
}
