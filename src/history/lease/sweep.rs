//! Clearing away what dead processes left beside a lease.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::owner::{self, Occupant, OWNER_FILE};
use crate::files::{Dir, Kind, Stat};
use crate::history::home::Home;
use crate::host::Host;
use crate::process::{Pid, Presence};

/// A home may hold a great many other files, and leftovers are in nobody's way: one look a minute is enough.
const EVERY: Duration = Duration::from_secs(60);
const AT_MOST: usize = 64;
/// A leftover without an owner's text says nothing but a number: it must also have been left alone this long.
const LEFT_ALONE_MS: i64 = 30_000;

/// Remove the claims, retired leases and unfinished rewrites of dead processes. For a holder only, and best effort: what cannot be removed
/// is for the next one.
pub(super) fn sweep(host: &Host, home: &Home, lease: &OsStr) {
    let now = host.clock.monotonic();
    if !host.memory.may_sweep_again(home.identity, now, EVERY) {
        return;
    }
    host.memory.swept(home.identity, now);
    let Ok(names) = home.dir.list() else { return };
    let mut leftovers: Vec<(OsString, Leftover)> =
        names.into_iter().filter_map(|name| Leftover::of(lease, &name).map(|what| (name, what))).collect();
    leftovers.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (name, leftover) in leftovers.into_iter().take(AT_MOST) {
        match leftover {
            // Another thread of this process may be at work on it.
            Leftover::Lease(pid) | Leftover::Rewrite(pid) if pid == host.processes.me() => {}
            Leftover::Lease(pid) => {
                let Ok(dir) = home.dir.open_dir(&name) else { continue };
                if is_abandoned(host, &dir, pid) {
                    let _ = dir.unlink(OWNER_FILE);
                    let _ = home.dir.remove_dir(&name);
                }
            }
            // A holder alone rewrites, and that is us: were its process there after all, it would find out.
            Leftover::Rewrite(pid) => {
                let Ok(Some(stat)) = home.dir.look(&name) else { continue };
                if stat.kind == Kind::File && is_absent_and_left_alone(host, pid, &stat) {
                    let _ = home.dir.unlink(&name);
                }
            }
        }
    }
}

/// What a name says it is, and whose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leftover {
    /// A directory: `<lease>.claim-<pid>-<id>` or `<lease>.retired-<pid>-<id>`.
    Lease(Pid),
    /// A file: `<file>.rewrite-<pid>-<id>`, where the lease is `<file>.lease`.
    Rewrite(Pid),
}

impl Leftover {
    fn of(lease: &OsStr, name: &OsStr) -> Option<Leftover> {
        let (lease, name) = (lease.as_bytes(), name.as_bytes());
        let whose = |before: &[u8], what: &str| {
            let end = std::str::from_utf8(name.strip_prefix(before)?.strip_prefix(what.as_bytes())?).ok()?;
            let (pid, id) = end.split_once('-')?;
            (!id.is_empty()).then(|| pid.parse().ok().and_then(Pid::new)).flatten()
        };
        let directory = whose(lease, ".claim-").or_else(|| whose(lease, ".retired-")).map(Leftover::Lease);
        directory.or_else(|| whose(lease.strip_suffix(b".lease")?, ".rewrite-").map(Leftover::Rewrite))
    }
}

fn is_abandoned(host: &Host, dir: &Dir, pid: Pid) -> bool {
    match owner::read(dir) {
        Ok(Occupant::Owner(owner)) => owner.is_dead(host),
        Ok(Occupant::Nobody | Occupant::Torn) => {
            dir.stat().is_ok_and(|stat| is_absent_and_left_alone(host, pid, &stat))
        }
        Err(_) => false,
    }
}

fn is_absent_and_left_alone(host: &Host, pid: Pid, stat: &Stat) -> bool {
    host.processes.presence(pid) == Presence::Absent
        && host.clock.now_ms().saturating_sub(stat.changed_ms) >= LEFT_ALONE_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Option<Leftover> {
        Leftover::of(OsStr::new("a.lease"), OsStr::new(name))
    }

    #[test]
    fn only_this_lease_s_claims_retired_directories_and_rewrites_are_leftovers() {
        let pid = |number| Pid::new(number).unwrap();
        assert_eq!(of("a.lease.claim-12-x-y"), Some(Leftover::Lease(pid(12))));
        assert_eq!(of("a.lease.retired-12-x"), Some(Leftover::Lease(pid(12))));
        assert_eq!(of("a.rewrite-12-x-y"), Some(Leftover::Rewrite(pid(12))));
        for other in [
            "a",
            "a.lease",
            "a.lease.claim-12",
            "a.lease.claim-0-x",
            "a.lease.claim--1-x",
            "b.lease.claim-1-x",
            "a.rewrite-12",
            "a.lease.rewrite-12-x",
            "b.rewrite-12-x",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
