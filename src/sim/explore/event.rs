//! What can happen next.

use nix::errno::Errno;

/// One step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Event {
    /// A contender's next call is done.
    Step { who: u8, choice: Choice },
    /// A contender is killed before its next call. Its process is gone.
    Kill { who: u8 },
    /// The number of a killed contender's process is given to a process that has nothing to do with leases.
    Reuse { who: u8 },
}

/// Where a call can be answered in more than one way: how it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Choice {
    /// As the machine answers it; of the clock: no time has passed since the start.
    Plain,
    /// The clock: every time that a rule waits for is over.
    Late,
    /// A pause ends as soon as something has changed.
    Woken,
    /// The call fails, and has no effect.
    Fails(i32),
}

impl Event {
    pub fn who(self) -> u8 {
        match self {
            Event::Step { who, .. } | Event::Kill { who } | Event::Reuse { who } => who,
        }
    }

    pub(super) fn describe(self) -> Option<String> {
        match self {
            Event::Step { choice: Choice::Plain, .. } => None,
            Event::Step { choice: Choice::Late, .. } => Some("time has passed".to_owned()),
            Event::Step { choice: Choice::Woken, .. } => Some("woken early".to_owned()),
            Event::Step { choice: Choice::Fails(errno), .. } => {
                Some(format!("made to fail: {:?}", Errno::from_raw(errno)))
            }
            Event::Kill { .. } => Some("is killed".to_owned()),
            Event::Reuse { .. } => Some("its process number is used again".to_owned()),
        }
    }
}
