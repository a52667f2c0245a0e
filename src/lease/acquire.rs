//! Acquiring: an own owner file, then its link to `current`, or the replacement of a holder that is dead.

use nix::errno::Errno;

use super::contender::{not_opened, Contender, Plan};
use super::entry::Entry;
use super::liveness::{explain, Liveness};
use super::look::{self, OwnerFile};
use super::quiet::Quiet;
use super::recover::{self, Recovered};
use super::release::Lease;
use super::sweep::{self, FirstLook};
use super::{clear, Durability, Error, Hooks, Input, Progress, CURRENT, RECOVERY};
use crate::files::{make_dirs, Dir, PathError};
use crate::host::Host;

/// How often a lease may change hands under our eyes before the answer is that nobody knows.
const ATTEMPTS: usize = 8;

/// Take the lease, or say why not. Blocks only for the bounded wait of a recovery (250 ms).
///
/// # Errors
/// [`Error`]; nothing of this call is left on disk then, unless a throw from
/// [`Hooks::on_recovery_step`] simulated a crash.
pub fn acquire(host: &Host, input: &Input, hooks: &dyn Hooks) -> Result<Lease, Error> {
    let mut acquisition = Acquisition::begin(host, input, hooks)?;
    loop {
        match acquisition.advance(host, hooks)? {
            Progress::Done(lease) => return Ok(lease),
            Progress::Wait(pause) => host.clock.pause(&pause),
        }
    }
}

/// One try to take a lease. It may have to wait, for a bounded time.
///
/// Dropping it while it waits leaves what a kill would leave; [`Acquisition::abort`] clears that away.
#[derive(Debug)]
#[must_use = "an acquisition does nothing until it is advanced"]
pub struct Acquisition {
    plan: Plan,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing is on disk.
    Ready,
    /// Our claim is published; whoever can still act on an earlier one is given time to leave.
    Quiet(Box<Quiet>),
    Over,
}

/// What contending came to.
enum Contest {
    /// Our file is `current`.
    Won(FirstLook),
    /// The holder is dead and may be replaced.
    Stale(Box<OwnerFile>),
}

impl Acquisition {
    /// Check the request. Nothing is written.
    ///
    /// # Errors
    /// [`Error::Input`] for what no reader would take; what `now` threw.
    pub fn begin(host: &Host, input: &Input, hooks: &dyn Hooks) -> Result<Acquisition, Error> {
        Ok(Acquisition { plan: Plan::new(host, input, hooks)?, state: State::Ready })
    }

    /// Go on to the end or to the next pause.
    ///
    /// # Errors
    /// As [`acquire`]; the acquisition is over then.
    pub fn advance(&mut self, host: &Host, hooks: &dyn Hooks) -> Result<Progress<Lease>, Error> {
        let contender = Contender { host, hooks, plan: &self.plan };
        let quiet = match std::mem::replace(&mut self.state, State::Over) {
            State::Ready => match start(contender)? {
                Started::Held(lease) => return Ok(Progress::Done(*lease)),
                Started::Claimed(quiet) => *quiet,
            },
            State::Quiet(quiet) => *quiet,
            State::Over => return Err(Error::Lost(format!("lease {} acquisition is over", self.plan.scope))),
        };
        match recover::proceed(contender, quiet)? {
            Recovered::Wait(pause, quiet) => {
                self.state = State::Quiet(quiet);
                Ok(Progress::Wait(pause))
            }
            Recovered::Held(recovery) => {
                let (entry, recovered) = (recovery.entry, recovery.observed.owner);
                // The lease is ours whatever a look at leftovers says.
                let first = sweep::first_look(contender, &entry).unwrap_or_default();
                let put_off = sweep::sweep(contender, &entry, first);
                Ok(Progress::Done(Lease::new(contender.plan, entry, Some(recovered), put_off)))
            }
        }
    }

    /// Give up an acquisition that waits: its claim is retired, its owner file removed.
    pub fn abort(&mut self) {
        if let State::Quiet(quiet) = std::mem::replace(&mut self.state, State::Over) {
            quiet.give_up();
        }
    }
}

/// How far a call comes without waiting.
enum Started {
    Held(Box<Lease>),
    Claimed(Box<Quiet>),
}

fn start(contender: Contender<'_>) -> Result<Started, Error> {
    let plan = contender.plan;
    let dir = open_directory(contender)?;
    let entry = Entry::create(dir, &plan.owner.file_name, &plan.owner.text);
    let entry = entry.map_err(|error| lost_if_missing(contender, error))?;
    match contend(contender, &entry) {
        Ok(Contest::Won(first)) => {
            let put_off = sweep::sweep(contender, &entry, first);
            Ok(Started::Held(Box::new(Lease::new(plan, entry, None, put_off))))
        }
        Ok(Contest::Stale(observed)) => {
            recover::claim(contender, entry, *observed).map(|quiet| Started::Claimed(Box::new(quiet)))
        }
        Err(error) => {
            entry.give_up();
            Err(error)
        }
    }
}

/// Open the lease directory, created with its parents where it is missing. From here on everything goes through its
/// handle: whatever its path names later, nothing of ours lands there.
fn open_directory(contender: Contender<'_>) -> Result<Dir, Error> {
    let Contender { host, hooks, plan } = contender;
    let existing = open(contender)?;
    if let (None, Some(parent)) = (&existing, plan.path.parent()) {
        make_dirs(&host.files, parent, 0o700)?;
    }
    let may_have_moved = hooks.on_lease_directory_create().map_err(Error::Thrown)?;
    let existing = if may_have_moved { open(contender)? } else { existing };
    if let Some(dir) = existing {
        return Ok(dir);
    }
    let created = match host.files.make_dir(&plan.path, 0o700) {
        Ok(()) => true,
        // Someone else created it meanwhile: as good as our own.
        Err(error) if error.raw_os_error() == Some(Errno::EEXIST as i32) => false,
        Err(error) => return Err(PathError::new("mkdir", &plan.path, error).into()),
    };
    let dir = open(contender)?.ok_or_else(|| Error::ownership_changed(contender.scope()))?;
    if created && plan.durability == Durability::Power {
        dir.open_dir("..")?.sync()?;
    }
    Ok(dir)
}

/// `None` when it is not there. A symbolic link in its place is refused, as everything that is no directory is.
fn open(contender: Contender<'_>) -> Result<Option<Dir>, Error> {
    let path = &contender.plan.path;
    match Dir::open(&contender.host.files, path) {
        Ok(dir) => Ok(Some(dir)),
        Err(error) if error.is_missing() => Ok(None),
        Err(source) => Err(not_opened(contender.host, path, source)),
    }
}

/// Link our owner file to `current`, if nobody has it and nobody is replacing anybody.
///
/// Look before linking (rule 4), in this order:
///
/// 1. `current` is seen absent;
/// 2. `recovery` is seen absent;
/// 3. our file is linked.
///
/// A claimant publishes its claim, unlinks the stale `current`, links its own and only then retires the claim. So
/// when 1 sees its gap, 2 sees its claim, unless it has linked by then, and then 3 is refused. The other way round it
/// could publish and unlink between the two looks, and our link would land in its gap.
fn contend(contender: Contender<'_>, entry: &Entry) -> Result<Contest, Error> {
    for _ in 0..ATTEMPTS {
        let current = entry.dir.look(CURRENT)?;
        if entry.dir.look(RECOVERY)?.is_some() {
            clear::abandoned(contender, entry)?;
            continue;
        }
        if current.is_none() && link(contender, entry)? {
            return confirm(contender, entry).map(Contest::Won);
        }
        contender.hooks.on_contention().map_err(Error::Thrown)?;
        if let Some(holder) = look::owner_file(&entry.dir, CURRENT)? {
            return judge(contender, holder).map(|holder| Contest::Stale(Box::new(holder)));
        }
    }
    Err(Error::Recovering(format!("lease {} changed repeatedly during contention", contender.scope())))
}

/// Whether our link is `current` now; `false`: somebody else's is.
pub(super) fn link(contender: Contender<'_>, entry: &Entry) -> Result<bool, Error> {
    // What a file system without hard links answers, and one that has them across its limits (EXDEV, EMLINK). There
    // is no weaker way to take a lease.
    const NO_LINKS: [Errno; 6] =
        [Errno::EPERM, Errno::EOPNOTSUPP, Errno::EACCES, Errno::ENOSYS, Errno::EXDEV, Errno::EMLINK];
    match entry.link_current() {
        Ok(()) => Ok(true),
        Err(error) if error.is_taken() => Ok(false),
        Err(error) if NO_LINKS.iter().any(|errno| error.is(*errno)) => Err(Error::Unsupported(format!(
            "lease {} needs hard links, which the file system of {} refuses: {error}",
            contender.scope(),
            contender.plan.path.display(),
        ))),
        Err(error) => Err(lost_if_missing(contender, error)),
    }
}

/// The link is made: make it last, and look again at what is held.
fn confirm(contender: Contender<'_>, entry: &Entry) -> Result<FirstLook, Error> {
    if contender.plan.durability == Durability::Power {
        entry.dir.sync()?;
    }
    assert_held(contender, entry)?;
    let first = sweep::first_look(contender, entry)?;
    if first.recovery {
        // A claim from between our two looks and our link. It stands, our link goes.
        return Err(Error::in_progress(contender.scope(), "it began while the lease was taken"));
    }
    Ok(first)
}

/// Check that `current` is exactly our owner, and that it is the lease's path that leads to it.
///
/// One look by path answers for the directory too: our file was made in the directory that we opened and has names
/// only there, so a path whose `current` is our file (device, inode) leads to that directory. A directory that was
/// put in its place has another `current` or none.
pub(super) fn assert_held(contender: Contender<'_>, entry: &Entry) -> Result<(), Error> {
    let path = contender.plan.path.join(CURRENT);
    let named = match contender.host.files.stat(&path) {
        Ok(stat) => stat,
        Err(source) => return Err(lost_if_missing(contender, PathError::new("lstat", path, source))),
    };
    if named.identity == entry.identity && entry.is_unchanged(named.size)? {
        return Ok(());
    }
    Err(Error::ownership_changed(contender.scope()))
}

/// The holder, if it is dead and may be replaced.
fn judge(contender: Contender<'_>, holder: OwnerFile) -> Result<OwnerFile, Error> {
    let scope = contender.scope();
    let (judge, now) = (contender.judge(), contender.now()?);
    if let Liveness::Live(reason) = judge.verdict(&holder.owner, now) {
        let why = explain(reason, &holder.owner, &judge, now);
        let message =
            format!("lease {scope} is held by a live or unexpired owner, or its liveness is unknown: {why}");
        return Err(Error::Held { message, holder: Box::new(holder.owner), reason });
    }
    if !contender.may_replace(&holder.owner)? {
        return Err(Error::Authority(format!("stale lease {scope} has mismatched authority")));
    }
    Ok(holder)
}

/// That our file, its link or its directory is gone is a loss, whatever call found it out.
fn lost_if_missing(contender: Contender<'_>, error: PathError) -> Error {
    if error.is_missing() {
        return Error::Lost(format!("lease {} ownership changed: {error}", contender.scope()));
    }
    Error::Path(error)
}
