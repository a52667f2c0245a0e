//! Leases that nobody can judge: looking at one, and moving it aside on somebody's word.
//!
//! An owner of another pid namespace (a container) that is gone for good leaves a lease of which nothing can be told.
//! An older harness creates a lease's directory first and writes `owner.json` afterwards. Killed in between, it leaves
//! a lease that is busy for everyone, for good. It is moved aside only while it is exactly what its digest says, once
//! it has been left alone for as long as an owner must be old to be judged dead, and with a note of who, why and what.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::busy;
use super::owner::{self, Occupant, Verdict, STALE_MS};
use crate::files::record::write_new;
use crate::files::{Dir, PathError};
use crate::history::home::Home;
use crate::history::layout::with_end;
use crate::history::{Error, Layout, Result};
use crate::host::Host;
use crate::javascript::timestamp;
use crate::lease::inventory::{self, Item};
use crate::lease::repair::{below, make_aside, note, Request};

/// What a lease is, seen from here and now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// There is none, or an empty directory that will be one's for the taking.
    Free,
    Held,
    /// Its owner is dead: the next writer takes it over.
    Stale,
    /// Its owner is old and, if it lives, in another pid namespace.
    Elsewhere,
    /// Whatever it holds is no owner.
    Torn,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            State::Free => "free",
            State::Held => "held",
            State::Stale => "stale",
            State::Elsewhere => "elsewhere",
            State::Torn => "torn",
        }
    }
}

/// A lease as it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    pub path: PathBuf,
    pub state: State,
    /// By what a repair recognises it.
    pub digest: String,
}

/// Look at a history's lease. Changes nothing.
///
/// # Errors
/// [`Error::Symlink`], [`Error::NotADirectory`].
pub fn inspect(host: &Host, layout: &Layout) -> Result<Inspection> {
    let path = layout.home.join(&layout.lease);
    let lease = match Home::open(host, &layout.home)? {
        Some(home) => home.open_inside(&layout.lease)?,
        None => None,
    };
    let Some(lease) = lease else {
        return Ok(Inspection { path, state: State::Free, digest: inventory::digest(&[]) });
    };
    let items = inventory::read(&lease.dir)?;
    Ok(Inspection { path, state: state_of(host, &lease.dir, &items)?, digest: inventory::digest(&items) })
}

fn state_of(host: &Host, lease: &Dir, items: &[Item]) -> Result<State> {
    Ok(match owner::read(lease)? {
        Occupant::Owner(owner) => match owner.judge(host) {
            Verdict::Dead => State::Stale,
            Verdict::Elsewhere => State::Elsewhere,
            Verdict::Live => State::Held,
        },
        Occupant::Nobody if items.is_empty() => State::Free,
        Occupant::Nobody | Occupant::Torn => State::Torn,
    })
}

/// Move everything in a torn lease, or in one whose owner is elsewhere and known to be gone, into
/// `<lease>.torn-<time>/` and remove its directory: where that is, and how many bytes were moved.
///
/// # Errors
/// [`Error::Repair`] when it is neither, not what the digest was made of, or was changed within the last 30 s;
/// [`Error::Busy`] when another process repairs it.
pub(in crate::history) fn move_aside(
    host: &Host,
    home: &Home,
    name: &OsStr,
    request: &Request,
) -> Result<(PathBuf, u64)> {
    let path = home.dir.path().join(name);
    let refuse = |why: &str| Err(Error::Repair(format!("durable history lease {} {why}", path.display())));
    if request.actor.trim().is_empty() || request.reason.trim().is_empty() {
        return refuse("is not repaired: it takes an actor and a reason");
    }
    let nothing = "is not torn, nor its owner known to be gone";
    let Some(lease) = home.open_inside(name)? else { return refuse(nothing) };
    if !lease.dir.try_lock()? {
        return Err(busy(path, "another process repairs it"));
    }
    let items = inventory::read(&lease.dir)?;
    match state_of(host, &lease.dir, &items)? {
        State::Torn => {}
        State::Elsewhere if request.elsewhere_is_gone => {}
        State::Elsewhere => {
            return refuse(
                "is of another pid namespace: it takes confirm \"elsewhere\" to say that its owner is gone",
            )
        }
        State::Free | State::Held | State::Stale => return refuse(nothing),
    }
    if inventory::digest(&items) != request.digest {
        return refuse("is not what the digest was made of; look at it again");
    }
    // Whoever made it may be about to write its owner.
    if host.clock.now_ms().saturating_sub(last_change(&lease.dir)?) < STALE_MS {
        return refuse("was changed less than 30 s ago");
    }
    let moved_to = move_all(host, home, name, &lease, &items, request)?;
    Ok((moved_to, items.iter().filter(|item| item.sha256.is_some()).map(|item| item.size).sum()))
}

fn last_change(lease: &Dir) -> std::result::Result<i64, PathError> {
    let mut last = lease.stat()?.changed_ms;
    for name in lease.list()? {
        last = last.max(lease.look(name)?.map_or(last, |stat| stat.changed_ms));
    }
    Ok(last)
}

/// The note first, then the names, all through the handle by which they were judged; each is looked at again once it
/// is where nobody else looks.
fn move_all(
    host: &Host,
    home: &Home,
    name: &OsStr,
    lease: &Home,
    items: &[Item],
    request: &Request,
) -> Result<PathBuf> {
    let at = timestamp::format(host.clock.now_ms()).unwrap_or_default();
    let torn = with_end(name, &format!(".torn-{}", at.replace(':', "-")));
    let (aside_name, aside) = make_aside(&home.dir, &torn)?;
    let names: Vec<String> =
        items.iter().map(|item| item.name.clone()).filter(|name| !name.contains('/')).collect();
    write_new(&aside, "repair.json", note(items, &names, request, &at).as_bytes(), 0o600)?;
    aside.sync()?;
    home.sync()?;
    for moved in &names {
        lease.dir.move_new_into(moved, &aside, moved)?;
        if inventory::read_name(&aside, moved)? != below(items, moved) {
            aside.move_new_into(moved, &lease.dir, moved)?;
            let path = home.dir.path().join(name);
            return Err(Error::Repair(format!(
                "durable history lease {} was changed meanwhile and is left as it is",
                path.display()
            )));
        }
    }
    aside.sync()?;
    // An empty directory is nobody's: whoever has replaced it by now keeps theirs.
    if home.names(name, lease.identity)? {
        match home.dir.remove_dir(name) {
            Err(error) if !(error.is_taken() || error.is(nix::errno::Errno::ENOTEMPTY)) => {
                return Err(error.into())
            }
            _ => {}
        }
    }
    home.sync()?;
    Ok(home.dir.path().join(aside_name))
}
