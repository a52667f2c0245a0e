//! Signals reach the generation that was verified, or nobody.
//!
//! The states that they need are staged with Linux's namespaces and `/proc`.

#![cfg(target_os = "linux")]

mod real;

use std::cell::RefCell;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::rc::Rc;

use harnery_native::process::handle::kernel::{Kernel, Scope, SystemKernel};
use harnery_native::process::machine::Machine;
use harnery_native::process::signal::{
    hold, send_if_same, signal_group_if_same, signal_if_same, Error, Signalled,
};
use harnery_native::process::{
    witness, Asked, Dependencies, Generation, Judgement, NoDependencies, Pid, Presence, Processes, Sent,
    Signal,
};
use nix::errno::Errno;
use nix::libc;
use real::*;

fn machine() -> Machine {
    Machine::new(|| None)
}

fn lead() {
    rustix::process::setsid().unwrap();
}

/// A kernel in which some calls fail.
#[derive(Debug, Default)]
struct Lacking {
    open: Option<Errno>,
    group_flag: Option<Errno>,
    /// Every number that `kill` was asked to signal.
    killed: Rc<RefCell<Vec<i32>>>,
}

impl Kernel for Lacking {
    fn open(&self, pid: Pid) -> io::Result<OwnedFd> {
        self.open.map_or_else(|| SystemKernel.open(pid), |errno| Err(errno.into()))
    }

    fn signal(&self, hold: BorrowedFd<'_>, signal: Option<Signal>, scope: Scope) -> io::Result<()> {
        match (scope, self.group_flag) {
            (Scope::Group, Some(errno)) => Err(errno.into()),
            _ => SystemKernel.signal(hold, signal, scope),
        }
    }

    fn kill(&self, pid: i32, signal: Option<Signal>) -> io::Result<()> {
        if signal.is_some() {
            self.killed.borrow_mut().push(pid);
        }
        SystemKernel.kill(pid, signal)
    }
}

impl Lacking {
    fn pidfds(errno: Errno) -> Lacking {
        Lacking { open: Some(errno), ..Lacking::default() }
    }

    fn machine(self) -> (Machine, Rc<RefCell<Vec<i32>>>) {
        let killed = Rc::clone(&self.killed);
        (Machine::with_kernel(Box::new(self), || None), killed)
    }
}

/// Reads tokens from a list, the last one for good, and notes what `kill` is asked for.
#[derive(Debug, Default)]
struct Scripted {
    tokens: RefCell<Vec<Asked<Option<String>>>>,
    kill: Option<Asked<()>>,
    killed: RefCell<Vec<(i32, Signal)>>,
}

impl Scripted {
    fn tokens(tokens: &[&str]) -> Scripted {
        let tokens = tokens.iter().rev().map(|token| Asked::Answered(Some((*token).to_owned()))).collect();
        Scripted { tokens: RefCell::new(tokens), ..Scripted::default() }
    }
}

impl Dependencies for Scripted {
    fn read_token(&self, _pid: Pid) -> Asked<Option<String>> {
        let mut tokens = self.tokens.borrow_mut();
        if tokens.len() > 1 {
            tokens.pop().unwrap()
        } else {
            tokens.last().cloned().unwrap_or(Asked::NotSupplied)
        }
    }

    fn kill(&self, pid: i32, signal: Signal) -> Asked<()> {
        self.killed.borrow_mut().push((pid, signal));
        self.kill.clone().unwrap()
    }

    fn replaces_kill(&self) -> bool {
        self.kill.is_some()
    }
}

#[test]
fn the_same_generation_gets_the_signal() {
    let child = Real::spawn("sleep", &["60"]);
    let token = machine().start_token(child.pid());
    let told =
        signal_if_same(&machine(), child.pid(), token.as_deref(), Signal::SIGTERM, &NoDependencies).unwrap();
    assert!(told.sent());
    assert_eq!(told.verdict, Generation::Same);
    await_end(child.pid());
}

#[test]
fn p1_a_wrong_or_missing_token_sends_nothing() {
    let child = Real::spawn("sleep", &["60"]);
    for (token, verdict) in
        [(Some("l0.0"), Generation::Different), (Some(""), Generation::Unknown), (None, Generation::Unknown)]
    {
        let told = signal_if_same(&machine(), child.pid(), token, Signal::SIGKILL, &NoDependencies).unwrap();
        assert_eq!((told.sent(), told.verdict), (false, verdict));
        let told =
            signal_group_if_same(&machine(), child.pid(), token, Signal::SIGKILL, &NoDependencies).unwrap();
        assert_eq!((told.sent(), told.verdict), (false, verdict));
    }
    assert_eq!(machine().presence(child.pid()), Presence::Present);
}

#[test]
fn a_threads_number_is_never_signalled() {
    let (tell, told) = std::sync::mpsc::channel();
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        tell.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
        let _ = gone.recv();
    });
    let number = Pid::new(i64::from(told.recv().unwrap())).unwrap();
    for open in [None, Some(Errno::ENOSYS)] {
        let (machine, killed) = Lacking { open, ..Lacking::default() }.machine();
        let token = machine.start_token(number);
        let told =
            signal_if_same(&machine, number, token.as_deref(), Signal::SIGKILL, &NoDependencies).unwrap();
        assert!(!told.sent());
        assert_eq!(*killed.borrow(), []);
    }
    drop(go);
    thread.join().unwrap();
}

#[test]
fn p6_without_pidfds_the_number_is_signalled_after_verifying_twice() {
    for errno in [Errno::ENOSYS, Errno::EPERM, Errno::EACCES] {
        let child = Real::spawn("sleep", &["60"]);
        let (machine, killed) = Lacking::pidfds(errno).machine();
        assert_eq!(machine.presence(child.pid()), Presence::Present);
        assert!(!machine.open(child.pid()).unwrap().unwrap().is_pinned());

        let recycled = Scripted::tokens(&["la.1", "la.2"]);
        let told = signal_if_same(&machine, child.pid(), Some("la.1"), Signal::SIGTERM, &recycled).unwrap();
        assert_eq!(
            (told.sent(), told.verdict),
            (false, Generation::Different),
            "recycled between the two looks"
        );
        assert_eq!(*killed.borrow(), []);

        let token = machine.start_token(child.pid());
        let told = signal_if_same(&machine, child.pid(), token.as_deref(), Signal::SIGTERM, &NoDependencies)
            .unwrap();
        assert!(told.sent());
        assert_eq!(*killed.borrow(), [child.pid().get()]);
        await_end(child.pid());
        assert_eq!(machine.presence(child.pid()), Presence::Absent, "it is not collected yet");
    }
}

#[test]
fn p6_running_out_of_descriptors_is_an_error_and_sends_nothing() {
    for errno in [Errno::EMFILE, Errno::ENFILE] {
        let child = Real::spawn("sleep", &["60"]);
        let (machine, killed) = Lacking::pidfds(errno).machine();
        let token = machine.start_token(child.pid());
        let error = signal_if_same(&machine, child.pid(), token.as_deref(), Signal::SIGKILL, &NoDependencies)
            .unwrap_err();
        assert_eq!(error.source.raw_os_error(), Some(errno as i32));
        assert!(signal_group_if_same(
            &machine,
            child.pid(),
            token.as_deref(),
            Signal::SIGKILL,
            &NoDependencies
        )
        .is_err());
        assert_eq!(*killed.borrow(), []);
        assert_eq!(machine.presence(child.pid()), Presence::Unknown, "nobody can tell whether it has ended");
        assert_eq!(self::machine().presence(child.pid()), Presence::Present);
    }
}

#[test]
fn p6_without_the_group_flag_the_group_is_signalled_by_its_number_after_verifying_twice() {
    let (child, _) = Real::shell("sleep 60 & echo $!; wait");
    let (machine, killed) = Lacking { group_flag: Some(Errno::EINVAL), ..Lacking::default() }.machine();
    let recycled = Scripted::tokens(&["la.1", "la.2"]);
    let told = signal_group_if_same(&machine, child.pid(), Some("la.1"), Signal::SIGTERM, &recycled).unwrap();
    assert_eq!((told.sent(), told.verdict), (false, Generation::Different));
    assert_eq!(*killed.borrow(), []);

    let target = machine.open(child.pid()).unwrap().unwrap();
    assert!(target.is_pinned() && !target.pins_group());
    let token = machine.start_token(child.pid());
    let told =
        signal_group_if_same(&machine, child.pid(), token.as_deref(), Signal::SIGTERM, &NoDependencies)
            .unwrap();
    assert!(told.sent());
    assert_eq!(*killed.borrow(), [-child.pid().get()]);
    await_target(&*target);
    eventually("the group ends", || target.group_has_ended());
}

#[test]
fn without_the_group_flag_a_group_whose_leader_is_gone_is_not_signalled_by_its_number() {
    let (mut child, _) = Real::shell("trap '' TERM; sleep 60 & echo $!; wait");
    let (machine, killed) = Lacking { group_flag: Some(Errno::EINVAL), ..Lacking::default() }.machine();
    let target = machine.open(child.pid()).unwrap().unwrap();
    child.end();
    assert_eq!(target.signal_group(Signal::SIGCONT).unwrap(), Sent::Sent, "its number is still its own");
    child.collect();
    assert_eq!(target.signal_group(Signal::SIGCONT).unwrap(), Sent::NoGroup);
    assert!(!target.group_has_ended());
    assert_eq!(*killed.borrow(), [-child.pid().get()]);
    assert_eq!(self::machine().presence(child.pid()), Presence::Absent);
}

#[test]
fn a_group_is_reached_through_the_hold_after_its_leader_is_gone() {
    let (mut child, member) = Real::shell("sleep 60 & echo $!; wait");
    let member = Pid::new(member.parse().unwrap()).unwrap();
    let machine = machine();
    let target = machine.open(child.pid()).unwrap().unwrap();
    if !target.pins_group() {
        return left_out("this kernel does not signal groups through pidfds");
    }
    child.end();
    child.collect();
    assert!(target.has_ended() && !target.group_has_ended());
    let wake = target.group_wake().expect("somebody lives in it");
    assert_eq!(target.signal_group(Signal::SIGTERM).unwrap(), Sent::Sent);
    let mut ready = [rustix::event::PollFd::new(&*wake, rustix::event::PollFlags::IN)];
    let limit = rustix::event::Timespec { tv_sec: 20, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut ready, Some(&limit)).unwrap(), 1);
    eventually("the group ends", || target.group_has_ended());
    assert_eq!(machine.presence(member), Presence::Absent);
    assert_eq!(target.signal(Signal::SIGTERM).unwrap(), Sent::Gone);
}

#[test]
fn a_group_of_zombies_has_ended() {
    // The shell becomes a program that never collects its child.
    let (mut child, member) = Real::shell("sleep 60 & echo $!; exec sleep 60");
    let member = Pid::new(member.parse().unwrap()).unwrap();
    for group_flag in [None, Some(Errno::EINVAL)] {
        let (machine, _) = Lacking { group_flag, ..Lacking::default() }.machine();
        let target = machine.open(child.pid()).unwrap().unwrap();
        assert!(!target.group_has_ended());
    }
    let machine = machine();
    let target = machine.open(child.pid()).unwrap().unwrap();
    send(member, libc::SIGKILL);
    eventually("the member ends", || machine.presence(member) == Presence::Absent);
    assert!(!target.group_has_ended(), "its leader lives");
    child.end();
    eventually("only zombies are left", || target.group_has_ended());
}

#[test]
fn a_process_that_leads_no_group_is_not_group_signalled() {
    let child = Real::spawn("sleep", &["60"]);
    let machine = machine();
    let token = machine.start_token(child.pid());
    let told =
        signal_group_if_same(&machine, child.pid(), token.as_deref(), Signal::SIGKILL, &NoDependencies)
            .unwrap();
    assert_eq!((told.verdict, told.outcome), (Generation::Same, Some(Sent::NoGroup)));
    assert_eq!(machine.presence(child.pid()), Presence::Present);
}

#[test]
fn p9_the_callers_own_group_is_never_signalled() {
    let seen = in_a_fork(|| {
        rustix::process::setsid().unwrap();
        let machine = machine();
        let (me, token) = (machine.me(), machine.start_token(machine.me()));
        let told =
            signal_group_if_same(&machine, me, token.as_deref(), Signal::SIGKILL, &NoDependencies).unwrap();
        let mine = Scripted { kill: Some(Asked::Answered(())), ..Scripted::default() };
        let by_kill = signal_group_if_same(&machine, me, token.as_deref(), Signal::SIGKILL, &mine).unwrap();
        format!("{:?} {:?} {:?}", told.outcome, by_kill.outcome, mine.killed.borrow())
    });
    assert_eq!(seen.as_deref(), Ok("Some(NoGroup) Some(NoGroup) []"));
}

#[test]
fn group_1_is_never_signalled_not_even_by_the_callers_kill() {
    let seen = in_a_pid_namespace(true, || {
        // Process 1 leads group 1, and is looked at by a process of another group.
        rustix::process::setsid().unwrap();
        let (machine, one) = (machine(), Pid::new(1).unwrap());
        in_a_fork(|| {
            rustix::process::setsid().unwrap();
            let token = machine.start_token(one);
            let told =
                signal_group_if_same(&machine, one, token.as_deref(), Signal::SIGKILL, &NoDependencies)
                    .unwrap();
            let mine = Scripted { kill: Some(Asked::Answered(())), ..Scripted::default() };
            let by_kill =
                signal_group_if_same(&machine, one, token.as_deref(), Signal::SIGKILL, &mine).unwrap();
            format!("{:?} {:?} {:?} {:?}", told.verdict, told.outcome, by_kill.outcome, mine.killed.borrow())
        })
        .unwrap()
    });
    assert_seen(seen, "Same Some(NoGroup) Some(NoGroup) []");
}

#[test]
fn p4_a_refusal_by_the_kernel_is_not_sent_and_no_reason_to_fall_back() {
    if !is_root() {
        return left_out("only root can become another user");
    }
    let child = Real::spawn_leader("sleep", &["60"]);
    let pid = child.pid();
    let seen = in_a_fork(|| {
        become_nobody();
        let (machine, killed) = Lacking::default().machine();
        let token = machine.start_token(pid);
        let alone =
            signal_if_same(&machine, pid, token.as_deref(), Signal::SIGKILL, &NoDependencies).unwrap();
        let group =
            signal_group_if_same(&machine, pid, token.as_deref(), Signal::SIGKILL, &NoDependencies).unwrap();
        format!("{:?} {:?} {:?} {:?}", alone.verdict, alone.outcome, group.outcome, killed.borrow())
    });
    assert_eq!(seen.as_deref(), Ok("Same Some(Forbidden) Some(Forbidden) []"));
    assert_eq!(machine().presence(pid), Presence::Present);
}

#[test]
fn the_callers_kill_replaces_the_whole_path() {
    let child = Real::spawn("sleep", &["60"]);
    let (machine, killed) = Lacking::default().machine();
    let (pid, token) = (child.pid(), machine.start_token(child.pid()));
    let mine = Scripted { kill: Some(Asked::Answered(())), ..Scripted::default() };
    assert!(signal_if_same(&machine, pid, token.as_deref(), Signal::SIGTERM, &mine).unwrap().sent());
    assert!(signal_group_if_same(&machine, pid, token.as_deref(), Signal::SIGHUP, &mine).unwrap().sent());
    assert!(!signal_if_same(&machine, pid, Some("l0.0"), Signal::SIGTERM, &mine).unwrap().sent());
    let expected = [(pid.get(), Signal::SIGTERM), (-pid.get(), Signal::SIGHUP)];
    assert_eq!(*mine.killed.borrow(), expected);
    assert_eq!(*killed.borrow(), []);

    let throwing = Scripted { kill: Some(Asked::Threw), ..Scripted::default() };
    let told = signal_if_same(&machine, pid, token.as_deref(), Signal::SIGTERM, &throwing).unwrap();
    assert_eq!((told.sent(), told.verdict), (false, Generation::Same));
}

#[test]
fn a_reader_that_throws_is_unknown_and_one_that_answers_replaces_the_probe() {
    let child = Real::spawn("sleep", &["60"]);
    let throws = Scripted { tokens: RefCell::new(vec![Asked::Threw]), ..Scripted::default() };
    let token = machine().start_token(child.pid());
    let told = signal_if_same(&machine(), child.pid(), token.as_deref(), Signal::SIGKILL, &throws).unwrap();
    assert_eq!((told.sent(), told.verdict), (false, Generation::Unknown));
    let other = Scripted::tokens(&["la.1"]);
    let told = signal_if_same(&machine(), child.pid(), token.as_deref(), Signal::SIGKILL, &other).unwrap();
    assert_eq!((told.sent(), told.verdict), (false, Generation::Different));
    assert_eq!(machine().presence(child.pid()), Presence::Present);
}

#[test]
fn p6_without_pidfds_a_process_whose_main_thread_has_left_is_present() {
    let child = forked_without_main_thread();
    let (machine, _) = Lacking::pidfds(Errno::ENOSYS).machine();
    assert_eq!(machine.presence(child.pid()), Presence::Present);
}

/// Ends a process and hands its number to another while the token is being read, and answers as if nothing happened.
struct Recycling {
    first: RefCell<Option<Forked>>,
    second: RefCell<Option<Forked>>,
    token: String,
}

impl Dependencies for Recycling {
    fn read_token(&self, pid: Pid) -> Asked<Option<String>> {
        if let Some(first) = self.first.borrow_mut().take() {
            first.end_and_collect();
            next_number_is(pid).unwrap();
            *self.second.borrow_mut() = Some(forked(lead));
        }
        Asked::Answered(Some(self.token.clone()))
    }
}

#[test]
fn p7_a_number_that_is_handed_out_again_while_it_is_verified_is_never_hit() {
    type Verb = fn(&dyn Processes, Pid, Option<&str>, Signal, &dyn Dependencies) -> Result<Signalled, Error>;
    let verbs: [Verb; 2] = [signal_if_same, signal_group_if_same];
    for verb in verbs {
        let seen = in_a_pid_namespace(true, || {
            let machine = machine();
            let first = forked(lead);
            let (pid, token) = (first.pid(), machine.start_token(first.pid()).unwrap());
            if let Err(error) = next_number_is(pid) {
                return format!("left out: ns_last_pid: {error}");
            }
            let (first, second) = (RefCell::new(Some(first)), RefCell::default());
            let recycling = Recycling { first, second, token: token.clone() };
            let told = verb(&machine, pid, Some(&token), Signal::SIGKILL, &recycling).unwrap();
            assert!(!told.sent(), "{told:?}");
            assert_eq!(recycling.second.borrow().as_ref().map(Forked::pid), Some(pid));
            format!("{:?}", machine.presence(pid))
        });
        assert_seen(seen, "Present");
    }
}

#[test]
fn p7_a_number_that_is_handed_out_again_after_the_hold_is_never_hit() {
    let seen = in_a_pid_namespace(true, || {
        let machine = machine();
        let first = forked(|| ());
        let (pid, token) = (first.pid(), machine.start_token(first.pid()));
        let seen_before = machine.witness(pid).unwrap();
        let held = hold(&machine, pid).unwrap().unwrap();
        first.end_and_collect();
        if let Err(error) = next_number_is(pid) {
            return format!("left out: ns_last_pid: {error}");
        }
        let second = forked(|| ());
        assert_eq!(second.pid(), pid, "the number is in use again");

        // Even if both had started within one tick, the hold is on the first alone.
        let now = machine.start_token(pid);
        let told = send_if_same(&*held, Signal::SIGKILL, || Generation::Same).unwrap();
        assert_eq!(told.outcome, Some(Sent::Gone));
        assert!(held.has_ended());
        assert_eq!(held.signal_group(Signal::SIGKILL).unwrap(), Sent::NoGroup);
        assert_eq!(machine.presence(pid), Presence::Present, "the newcomer lives");
        let judged = witness::judge(&machine, pid, &seen_before);
        let same_tick = token == now;
        let told = signal_if_same(&machine, pid, token.as_deref(), Signal::SIGKILL, &NoDependencies).unwrap();
        assert!(same_tick || !told.sent());
        let by_inode = if seen_before.pidfd_inode.is_some() { judged } else { Judgement::Different };
        format!("{by_inode:?}")
    });
    assert_seen(seen, "Different");
}
