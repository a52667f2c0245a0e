//! The processes of a machine during one operation: what does not change meanwhile is asked once, and each number is
//! looked at once.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::witness::{both_known, compare, recorded_boot};
use super::{Glance, Judgement, Pid, Presence, Processes, Witness};

/// Looks at processes on behalf of one operation, which is as long as what it has seen is taken to be true.
#[derive(Debug)]
pub struct Observer<'a> {
    processes: &'a dyn Processes,
    host_name: OnceCell<String>,
    boot: OnceCell<Option<String>>,
    pid_namespace: OnceCell<Option<String>>,
    seen: RefCell<BTreeMap<Pid, Rc<Seen>>>,
}

/// What has been asked about one number so far.
#[derive(Debug)]
struct Seen {
    glance: Glance,
    witness: OnceCell<Option<Witness>>,
    start_token: OnceCell<Option<String>>,
}

impl<'a> Observer<'a> {
    pub fn new(processes: &'a dyn Processes) -> Self {
        Observer {
            processes,
            host_name: OnceCell::new(),
            boot: OnceCell::new(),
            pid_namespace: OnceCell::new(),
            seen: RefCell::default(),
        }
    }

    pub fn host_name(&self) -> &str {
        self.host_name.get_or_init(|| self.processes.host_name())
    }

    pub fn presence(&self, pid: Pid) -> Presence {
        self.seen(pid).glance.presence
    }

    pub fn start_token(&self, pid: Pid) -> Option<String> {
        self.seen(pid).start_token.get_or_init(|| self.processes.start_token(pid)).clone()
    }

    /// Judge the process that has the number by what was recorded. Costs one [`Processes::glance`] where that is
    /// enough.
    pub fn judge(&self, pid: Pid, recorded: &Witness) -> Judgement {
        if both_known(recorded_boot(recorded), self.boot()) == Some(false) {
            return Judgement::Gone;
        }
        if both_known(recorded.pid_namespace.as_deref(), self.pid_namespace()) == Some(false) {
            return Judgement::Elsewhere;
        }
        let seen = self.seen(pid);
        if seen.glance.presence == Presence::Absent {
            return Judgement::Gone;
        }
        // The inode of its pidfd alone tells it from every other process of this boot.
        match both_known(recorded.pidfd_inode.as_deref(), seen.glance.pidfd_inode.as_deref()) {
            Some(true) => return Judgement::Same,
            Some(false) => return Judgement::Different,
            None => {}
        }
        match seen.witness.get_or_init(|| self.processes.witness(pid)) {
            Some(current) => compare(recorded, current),
            None => Judgement::Unknown,
        }
    }

    fn boot(&self) -> Option<&str> {
        self.boot.get_or_init(|| self.processes.boot()).as_deref()
    }

    fn pid_namespace(&self) -> Option<&str> {
        self.pid_namespace.get_or_init(|| self.processes.namespaces().0).as_deref()
    }

    fn seen(&self, pid: Pid) -> Rc<Seen> {
        let mut seen = self.seen.borrow_mut();
        let look = || Seen {
            glance: self.processes.glance(pid),
            witness: OnceCell::new(),
            start_token: OnceCell::new(),
        };
        Rc::clone(seen.entry(pid).or_insert_with(|| Rc::new(look())))
    }
}
