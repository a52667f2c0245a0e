//! Processes, and what becomes of them in the middle of an operation.

use std::rc::Rc;

use harnery_native::host::Host;
use harnery_native::lease::Lease;
use harnery_native::sim::{Machine, Seat};
use nix::errno::Errno;

use super::tap::{Before, Tap};

const ERRNOS: [Errno; 8] = [
    Errno::EIO,
    Errno::ENOSPC,
    Errno::EMFILE,
    Errno::EACCES,
    Errno::ENOENT,
    Errno::EEXIST,
    Errno::EINTR,
    Errno::ESTALE,
];

/// The bytes that say what happens.
pub struct Script<'a>(std::slice::Iter<'a, u8>);

impl<'a> Script<'a> {
    pub fn new(bytes: &'a [u8]) -> Script<'a> {
        Script(bytes.iter())
    }

    pub fn next(&mut self) -> Option<u8> {
        self.0.next().copied()
    }

    /// A number below `limit`; 0 when the script is at its end.
    pub fn below(&mut self, limit: u8) -> u8 {
        self.next().unwrap_or(0) % limit
    }

    pub fn fate(&mut self) -> Fate {
        match self.below(4) {
            0 | 1 => Fate::Lives,
            2 => Fate::Killed { before: usize::from(self.below(64)) },
            _ => {
                let before = usize::from(self.below(64));
                Fate::Fails { before, errno: ERRNOS[usize::from(self.below(ERRNOS.len() as u8))] }
            }
        }
    }
}

/// What happens before one of the file calls of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Lives,
    Killed { before: usize },
    Fails { before: usize, errno: Errno },
}

/// A process.
pub struct Actor {
    pub host: Host,
    pub lease: Option<Lease>,
    /// Its lease is held by all that it knows.
    pub is_holder: bool,
    seat: Seat,
    tap: Rc<Tap>,
    dead: bool,
}

impl Actor {
    pub fn start(machine: &Machine, number: u8) -> Actor {
        let seat = machine.start(number);
        let host = seat.host();
        let tap = Tap::new(host.files.clone());
        let host = Host { files: tap.clone(), ..host };
        Actor { host, lease: None, is_holder: false, seat, tap, dead: false }
    }

    /// Do something; `None` when the process was killed meanwhile.
    pub fn run<T>(
        &mut self,
        fate: Fate,
        operation: impl FnOnce(&Host, &mut Option<Lease>) -> T,
    ) -> Option<T> {
        self.tap.before(move |at, _| match fate {
            Fate::Killed { before } if at == before => Before::Kill,
            Fate::Fails { before, errno } if at == before => Before::Fail(errno),
            _ => Before::Go,
        });
        let (host, lease) = (&self.host, &mut self.lease);
        let done = self.tap.run(|| operation(host, lease));
        self.dead = done.is_none();
        if !self.dead {
            self.tap.before(|_, _| Before::Go);
        }
        done
    }

    pub fn is_dead(&self) -> bool {
        self.dead
    }

    pub fn end(&mut self) {
        self.seat.kill();
        self.lease = None;
        self.is_holder = false;
    }
}
