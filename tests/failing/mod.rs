mod history;
mod lease;
mod lease_looking;
mod registry;
mod staged;
mod workflow;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{catch_unwind, AssertUnwindSafe};

use harnery_native::host::Host;
use harnery_native::sim::{Call, Machine, Seat, World};
use nix::errno::Errno;

use super::proof;

/// What a system may answer instead of doing what it is asked.
const ERRNOS: [Errno; 13] = [
    Errno::EINTR,
    Errno::EIO,
    Errno::ENOSPC,
    Errno::EDQUOT,
    Errno::EMFILE,
    Errno::EACCES,
    Errno::EPERM,
    Errno::EROFS,
    Errno::ESTALE,
    Errno::ENOENT,
    Errno::EEXIST,
    Errno::EXDEV,
    Errno::ELOOP,
];

/// Those that stay once they have begun: a broken disk, a full one, one that has become read-only, a process that has no
/// descriptors left or whose rights were taken away.
const LASTING: [Errno; 5] = [Errno::EIO, Errno::ENOSPC, Errno::EMFILE, Errno::EACCES, Errno::EROFS];

/// How an operation is made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// One call.
    Once,
    /// That call and all after it.
    FromThere,
}

/// One run in which a call failed.
struct Failure<'a> {
    machine: &'a Machine,
    /// The failing process's. Its calls succeed by the time that the run is looked at.
    host: &'a Host,
    call: &'a Call,
    errno: Errno,
    extent: Extent,
    from: &'a str,
    operation: &'a str,
    found: &'a RefCell<Vec<(String, Errno)>>,
}

impl Failure<'_> {
    /// Note what must not have come of it.
    fn blame(&self, what: impl std::fmt::Display) {
        let Failure { call, errno, extent, from, .. } = self;
        let calls = if *extent == Extent::Once { "" } else { " and all after it" };
        let call: String = format!("{call:?}").chars().take(80).collect();
        let what = format!("{call}{calls} fails, from {from}: {what}");
        self.found.borrow_mut().push((what, *errno));
    }

    /// A system call's error says which it was and on what; it is the one that failed. Every other has a code of the
    /// contract. Whoever is told wrongly that a name is taken finds by a later call that it is not there.
    fn must_be_documented(&self, code: Option<&str>, text: &str) {
        let own = format!("{:?}", self.errno);
        let is_own = |code: &str| code == own || (self.errno == Errno::EEXIST && code == "ENOENT");
        match code {
            Some(code) if code.contains('_') && !text.is_empty() => {}
            Some(code) if is_own(code) && text.contains(code) && text.contains('/') => {}
            _ => self.blame(format!("reported as {code:?}: {text}")),
        }
    }

    /// Whether it was told, of a name that is there, that it is not. It can but believe it: what has gone already is
    /// given back by nobody.
    fn hid(&self, name: &str) -> bool {
        self.errno == Errno::ENOENT
            && match self.call {
                Call::Stat(place) | Call::Unlink(place) | Call::Open(place, _) | Call::OpenDir(place) => {
                    *place.path == *name
                }
                _ => false,
            }
    }

    /// Whether it is one of a project that is shared with the group.
    fn is_shared(&self) -> bool {
        self.operation.starts_with("shared ")
    }

    /// The machine as somebody else finds it after an hour, while the failing process lives on.
    fn an_hour_later(&self) -> Machine {
        let machine = Machine::with(World::clone(&self.machine.world()));
        machine.pass(std::time::Duration::from_secs(3600));
        machine
    }
}

/// All runs of one operation.
struct Proof {
    operation: String,
    runs: usize,
    found: RefCell<Vec<(String, Errno)>>,
}

impl Proof {
    fn of(operation: &str) -> Self {
        Proof { operation: operation.to_owned(), runs: 0, found: RefCell::default() }
    }

    /// Run the operation without a failure to count its calls, then for each call and each error. What
    /// came of it is looked at while its process lives, and once more when the process has ended.
    fn each_failure<T>(
        &mut self,
        from: &str,
        world: &World,
        operation: impl Fn(&Host) -> T,
        while_it_lives: impl Fn(&Failure<'_>, T),
        after_its_end: impl Fn(&Failure<'_>),
    ) {
        let (_, seat) = start(world);
        drop(operation(&seat.host()));
        let calls = seat.calls();
        for (at, (call, _)) in calls.iter().enumerate().filter(|(_, (call, _))| call.can_fail()) {
            let once = ERRNOS.into_iter().map(|errno| (errno, Extent::Once));
            for (errno, extent) in once.chain(LASTING.into_iter().map(|errno| (errno, Extent::FromThere))) {
                let (machine, seat) = start(world);
                match extent {
                    Extent::Once => seat.fail(at, errno),
                    Extent::FromThere => seat.fail_from(at, errno),
                }
                let host = &seat.host();
                let failure = Failure {
                    machine: &machine,
                    host,
                    call,
                    errno,
                    extent,
                    from,
                    operation: &self.operation,
                    found: &self.found,
                };
                self.runs += 1;
                let unharmed = catch_unwind(AssertUnwindSafe(|| {
                    let outcome = operation(host);
                    seat.mend();
                    while_it_lives(&failure, outcome);
                    let open = machine.world().disk.open_count(seat.caller());
                    if open > 0 {
                        failure.blame(format!("{open} descriptors stay open"));
                    }
                    seat.kill();
                    after_its_end(&failure);
                }));
                if unharmed.is_err() {
                    failure.blame("panicked");
                }
            }
        }
    }

    fn tell(self) {
        let found = self.found.into_inner();
        let explored = format!("{} runs with a failing call", self.runs);
        proof::row(&format!("{}: every call fails with every error", self.operation), explored, found.len());
        let mut kinds: BTreeMap<String, Vec<Errno>> = BTreeMap::new();
        for (what, errno) in found {
            kinds.entry(what).or_default().push(errno);
        }
        let told: Vec<_> = kinds.iter().map(|(what, errnos)| format!("{what} {errnos:?}")).collect();
        let first = told[..told.len().min(40)].join("\n");
        assert!(told.is_empty(), "{} kinds of violations:\n{first}", told.len());
    }
}

fn start(world: &World) -> (Machine, Seat) {
    let machine = Machine::with(world.clone());
    let seat = machine.start(1);
    (machine, seat)
}
