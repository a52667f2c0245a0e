//! Clearing away what dead processes left beside a lease.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::owner::{self, Occupant, OWNER_FILE};
use crate::files::Dir;
use crate::history::home::Home;
use crate::host::Host;
use crate::process::{Pid, Presence};

/// A home may hold a great many other files, and leftovers are in nobody's way: one look a minute is enough.
const EVERY: Duration = Duration::from_secs(60);
const AT_MOST: usize = 64;
/// A leftover without an owner's file says nothing but a number: it must also have been left alone this long.
const LEFT_ALONE_MS: i64 = 30_000;

/// Remove the claims and retired leases of dead processes. For a holder only, and best effort: what cannot be removed
/// is for the next one.
pub(super) fn sweep(host: &Host, home: &Home, lease: &OsStr) {
    let now = host.clock.monotonic();
    if !host.memory.may_sweep_again(home.identity, now, EVERY) {
        return;
    }
    host.memory.swept(home.identity, now);
    let Ok(names) = home.dir.list() else { return };
    let mut leftovers: Vec<(OsString, Pid)> =
        names.into_iter().filter_map(|name| leftover_of(lease, &name).map(|pid| (name, pid))).collect();
    leftovers.sort();
    for (name, pid) in leftovers.into_iter().take(AT_MOST) {
        // Another thread of this process may be at work on it.
        if pid == host.processes.me() {
            continue;
        }
        let Ok(dir) = home.dir.open_dir(&name) else { continue };
        if is_abandoned(host, &dir, pid) {
            let _ = dir.unlink(OWNER_FILE);
            let _ = home.dir.remove_dir(&name);
        }
    }
}

/// Whose leftover of this lease the name says it is.
fn leftover_of(lease: &OsStr, name: &OsStr) -> Option<Pid> {
    let end = name.as_bytes().strip_prefix(lease.as_bytes())?;
    let end = std::str::from_utf8(end).ok()?;
    let (pid, id) = end.strip_prefix(".claim-").or_else(|| end.strip_prefix(".retired-"))?.split_once('-')?;
    (!id.is_empty()).then(|| pid.parse().ok().and_then(Pid::new)).flatten()
}

fn is_abandoned(host: &Host, dir: &Dir, pid: Pid) -> bool {
    match owner::read(dir) {
        Ok(Occupant::Owner(owner)) => owner.is_dead(host),
        Ok(Occupant::Nobody | Occupant::Torn) => {
            let left_alone = |changed| host.clock.now_ms().saturating_sub(changed) >= LEFT_ALONE_MS;
            host.processes.presence(pid) == Presence::Absent
                && dir.stat().is_ok_and(|stat| left_alone(stat.changed_ms))
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Option<i32> {
        leftover_of(OsStr::new("a.lease"), OsStr::new(name)).map(Pid::get)
    }

    #[test]
    fn only_this_lease_s_claims_and_retired_directories_are_leftovers() {
        assert_eq!(of("a.lease.claim-12-x-y"), Some(12));
        assert_eq!(of("a.lease.retired-12-x"), Some(12));
        for other in
            ["a.lease", "a.lease.claim-12", "a.lease.claim-0-x", "a.lease.claim--1-x", "b.lease.claim-1-x"]
        {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
