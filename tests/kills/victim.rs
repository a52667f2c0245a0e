//! The process that is killed: this test program again, told what to do and before which of its calls to end.

use std::cell::Cell;
use std::os::unix::process::ExitStatusExt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

use harnery_native::host::Host;
use harnery_native::process::Pid;

use crate::mortal::{fated, real, Fate};
use crate::places::{stride, Tally};

const VICTIM: &str = "HARNERY_KILLS_VICTIM";
/// The file by which a victim leaves word.
const RETURNED: &str = "returned";

/// A process that has come to its end and is still to be collected.
#[derive(Debug)]
pub struct Victim {
    child: Child,
    was_killed: bool,
}

impl Victim {
    /// Let a process do something in a directory until it comes to its call `step`, counted from 0.
    pub fn of(task: &str, at: &Path, step: usize) -> Victim {
        let child = Command::new(std::env::current_exe().expect("a test has a program"))
            .args(["--exact", "victim::a_process_that_is_killed", "--nocapture", "--test-threads=1"])
            .env(VICTIM, format!("{step}:{task}:{}", at.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("a process starts");
        let pid = rustix::process::Pid::from_child(&child);
        let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        let ended = rustix::process::waitid(rustix::process::WaitId::Pid(pid), options);
        let status = ended.expect("it can be waited for").expect("it has ended");
        let was_killed = status.terminating_signal() == Some(rustix::process::Signal::KILL.as_raw());
        assert!(was_killed || status.exit_status() == Some(0), "{task}, step {step}: it failed");
        Victim { child, was_killed }
    }

    pub fn was_killed(&self) -> bool {
        self.was_killed
    }

    pub fn pid(&self) -> Pid {
        Pid::new(i64::from(self.child.id())).expect("a process has a number")
    }

    pub fn collect(&mut self) {
        let status = self.child.wait().expect("it has ended");
        assert_eq!(status.signal().is_some(), self.was_killed);
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.wait();
    }
}

/// Kill a process before each of its calls (see [`stride`]), until one comes to its end unharmed, each in a directory of its own that
/// was `prepare`d; then `look` at what is left. Every other victim has not been collected by then: a process that
/// nobody reaps is as dead as one that is gone.
pub fn before_every_call<P>(
    place: &Path,
    task: &str,
    prepare: impl Fn(&Path) -> P,
    look: impl Fn(&Path, &Victim, P),
) -> Tally {
    let stride = stride(place);
    let mut tally = Tally { skipped: stride > 1, ..Tally::default() };
    for step in (0..).step_by(stride) {
        let dir = tempfile::tempdir_in(place).expect("a directory");
        let prepared = prepare(dir.path());
        let mut victim = Victim::of(task, dir.path(), step);
        assert!(victim.was_killed() || has_returned(dir.path()), "{task}: it did nothing here");
        if step % 2 == 0 {
            victim.collect();
        }
        let seen = catch_unwind(AssertUnwindSafe(|| look(dir.path(), &victim, prepared)));
        if seen.is_err() {
            eprintln!("{task}, killed before call {step}: not as claimed");
            tally.violations += 1;
        }
        if !victim.was_killed() {
            return tally;
        }
        tally.kills += 1;
    }
    unreachable!("a process comes to its end")
}

/// What the victim does with: a machine whose calls are counted, and a directory.
pub struct Doomed {
    pub host: Host,
    pub at: PathBuf,
    fuse: Rc<Fuse>,
}

impl Doomed {
    /// The calls are counted from here on.
    pub fn light(&self) {
        self.fuse.is_lit.set(true);
    }
}

/// Whether what a victim did had returned.
pub fn has_returned(at: &Path) -> bool {
    at.join(RETURNED).exists()
}

/// As if nothing had been done here yet.
pub fn forget(at: &Path) {
    let _ = std::fs::remove_file(at.join(RETURNED));
}

/// Ends its process right before a call. A write is done in two halves, so that it can end between them.
struct Fuse {
    is_lit: Cell<bool>,
    left: Cell<usize>,
}

impl Fate for Fuse {
    fn before(&self, _call: &'static str) {
        if !self.is_lit.get() {
            return;
        }
        if self.left.get() == 0 {
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::KILL).expect("one may kill oneself");
            unreachable!("SIGKILL is not survived");
        }
        self.left.set(self.left.get() - 1);
    }

    fn of_a_write(&self, bytes: usize) -> usize {
        bytes.div_ceil(2)
    }
}

#[test]
fn a_process_that_is_killed() {
    let Ok(told) = std::env::var(VICTIM) else { return };
    let mut words = told.splitn(3, ':');
    let mut word = || words.next().expect("three words");
    let step = word().parse().expect("a number");
    let (task, at) = (word(), PathBuf::from(word()));
    let fuse = Rc::new(Fuse { is_lit: Cell::new(false), left: Cell::new(step) });
    let doomed = Doomed { host: fated(&real(), Rc::clone(&fuse) as Rc<dyn Fate>), at, fuse };
    let does = [crate::lease::TASKS, crate::history::TASKS, crate::registry::TASKS, crate::resume::TASKS];
    let (_, does) = does.into_iter().flatten().find(|(name, _)| *name == task).expect("a task");
    does(&doomed);
    std::fs::write(doomed.at.join(RETURNED), "").expect("a file");
}

/// What a victim can be told to do.
pub type Task = (&'static str, fn(&Doomed));
