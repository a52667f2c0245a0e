//! The lease in the simulated machine: contenders, the states that they may find, what must always be true.

mod check;
mod group;
mod native;
mod power;
mod starts;
mod typescript;

use crate::process::Pid;
use crate::sim::explore::{Contender, Program};
use crate::sim::Viewer;

pub use check::LeaseCheck;
pub use group::Group;
pub use native::Native;
pub use power::PowerCheck;
pub use starts::{start_states, StartState};
pub use typescript::TypeScript;

/// Where the lease is.
pub const PATH: &str = "/lease";
const SCOPE: &str = "scope";
const STALE_AFTER_MS: i64 = 1000;

fn authority() -> String {
    "a".repeat(64)
}

/// The `n`-th process on the machine, by its contender's name.
pub fn contender(name: &'static str, n: u8, program: impl Program + 'static) -> Contender {
    Contender { name, program: std::rc::Rc::new(program), viewer: viewer(n) }
}

fn viewer(n: u8) -> Viewer {
    let pid = Pid::new(i64::from(n) + 101).expect("the number of a process");
    Viewer { pid, uid: 0, host_name: "host".to_owned(), pid_namespace: "1".to_owned() }
}
